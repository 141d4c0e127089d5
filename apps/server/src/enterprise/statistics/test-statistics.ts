/** Random steps of a tenant, and its statistics counted directly, as the contract defines them. */
import fc from 'fast-check'
import { markInstallation, type Database } from '../../db/index.ts'
import { noteAllUsers, noteUser } from '../../notices.ts'
import type { Owner, Tenant } from '../../owner.ts'
import {
  insertAssets,
  insertConnection,
  insertTenant,
  insertUser,
  putGrant,
  replaceHoldings,
  type TestHolding,
} from '../test-tenant.ts'

export const usersMax = 6
const scopes = ['providers:read', 'assets:read', 'transactions:read']
// Two of the assets share a symbol.
const assets: readonly [id: string, symbol: string][] = [
  ['crypto:a', 'AAA'],
  ['crypto:b', 'BBB'],
  ['crypto:c', 'AAA'],
]

export interface TestTenant extends Tenant {
  clientIds: string[]
  users: Owner[]
}

/** The clock can be moved, and two of the three assets have a price. */
export async function prepare(db: Database): Promise<void> {
  await markInstallation(db, 'sandbox')
  await insertAssets(db, assets)
  await db.execute(
    `insert into current_prices (asset_id, price_in_usd, source, method, fetched_at)
     values ('crypto:a', 64000.123456789, 'test', 'simple_price', $1), ('crypto:b', 0.00000001, 'test', 'simple_price', $1)`,
    [db.now()],
  )
}

export async function addTenant(db: Database, tenantId: string): Promise<TestTenant> {
  const clientIds = [`cli_0_${tenantId}`, `cli_1_${tenantId}`]
  const tenant = await insertTenant(db, tenantId, clientIds)
  const users: Owner[] = []
  for (let n = 0; n < usersMax; n += 1) users.push(await insertUser(db, tenant, `usr_${n}_${tenantId}`))
  return { ...tenant, clientIds, users }
}

type Balance = Omit<TestHolding, 'assetId'> & { asset: number }

/** One thing that happens to a tenant's users; each kind reads the members it needs. */
export interface Step {
  kind: 'grant' | 'revoke' | 'forget' | 'able' | 'clock' | 'connect' | 'settle' | 'status' | 'disconnect' | 'hold'
  user: number
  client: number
  scopes: string[]
  days: number
  disabled: boolean
  hours: number
  slot: number
  provider: string
  settled: boolean
  status: string
  balances: Balance[]
  /** Whether upkeep runs afterwards. */
  upkeep: boolean
}

export const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom<Step['kind'][]>(
    ...(['grant', 'grant', 'revoke', 'forget', 'able', 'clock', 'connect', 'connect'] as const),
    ...(['settle', 'status', 'disconnect', 'hold', 'hold', 'hold'] as const),
  ),
  user: fc.nat(usersMax - 1),
  client: fc.nat(1),
  scopes: fc.subarray(scopes),
  days: fc.constantFrom(1, 2, 30),
  disabled: fc.boolean(),
  hours: fc.constantFrom(1, 24, 49),
  slot: fc.nat(2),
  provider: fc.constantFrom('kraken', 'bitcoin'),
  settled: fc.boolean(),
  status: fc.constantFrom('syncing', 'active', 'needs_reauth', 'pending'),
  balances: fc.array(
    fc.record({
      asset: fc.nat(assets.length - 1),
      liquid: fc.constantFrom('0', '0.000000000000000001', '123456789012.123456789012345678', '5'),
      staked: fc.constantFrom('0', '0.1'),
      spam: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  upkeep: fc.boolean(),
})

const plain: Omit<Step, 'kind'> = {
  user: 0,
  client: 0,
  scopes,
  days: 30,
  disabled: true,
  hours: 1,
  slot: 0,
  provider: 'kraken',
  settled: true,
  status: 'active',
  balances: [],
  upkeep: false,
}

/** Members that are not given have default values. */
export async function applyStep(
  db: Database,
  tenant: TestTenant,
  given: Pick<Step, 'kind'> & Partial<Step>,
): Promise<void> {
  const one = { ...plain, ...given }
  const owner = tenant.users[one.user]
  const clientId = tenant.clientIds[one.client]
  if (owner === undefined || clientId === undefined) throw new RangeError('unknown user or client')
  const connectionKey = one.slot + 1
  const ref = [owner.userKey, connectionKey]
  if (one.kind === 'clock') return void (await db.clock.advance(one.hours * 3_600_000))
  await db.transaction(async (tx) => {
    const statements: Record<Exclude<Step['kind'], 'clock'>, () => Promise<unknown>> = {
      grant: () => putGrant(tx, owner, { clientId, scopes: one.scopes, lastsSeconds: one.days * 86_400 }),
      revoke: () =>
        tx.execute('update grants set revoked_at = $3 where user_key = $1 and client_id = $2', [
          owner.userKey,
          clientId,
          tx.now(),
        ]),
      forget: () => tx.execute('delete from grants where user_key = $1', [owner.userKey]),
      able: () =>
        tx.execute('update clients set disabled_at = case when $2 then $3::timestamptz end where id = $1', [
          clientId,
          one.disabled,
          tx.now(),
        ]),
      connect: () =>
        insertConnection(tx, owner, {
          connectionKey,
          connectionId: `con_${one.slot}_${owner.userId}`,
          providerId: one.provider,
          ...(one.settled ? {} : { connectSessionId: 'ses' }),
        }),
      settle: () =>
        tx.execute('update connections set session_id = null where user_key = $1 and connection_key = $2', ref),
      status: () =>
        tx.execute('update connections set status = $3 where user_key = $1 and connection_key = $2', [
          ...ref,
          one.status,
        ]),
      async disconnect() {
        await replaceHoldings(tx, owner, connectionKey, [])
        await tx.execute('delete from connections where user_key = $1 and connection_key = $2', ref)
      },
      hold: () => replaceHoldings(tx, owner, connectionKey, one.balances.map(toHolding)),
    }
    await statements[one.kind as Exclude<Step['kind'], 'clock'>]()
    if (one.kind === 'able') await noteAllUsers(tx, tenant)
    else await noteUser(tx, owner)
  })
}

const toHolding = ({ asset, ...balance }: Balance): TestHolding => ({ assetId: assets[asset]?.[0] ?? '', ...balance })

const covers = (
  alias: string,
  scope: string,
): string => `exists (select from grants g join clients on clients.id = g.client_id
  where g.user_key = ${alias}.user_key and g.revoked_at is null and clients.disabled_at is null and g.expires_at > $2
    and '${scope}' = any(g.scopes))`

/** Reads all rows of all users: slow, and too simple to be wrong. */
export async function readPlainly(db: Database, { tenantKey }: Tenant): Promise<object> {
  const values = [tenantKey, db.now()]
  const live = `(select distinct g.user_key from grants g join clients on clients.id = g.client_id
    where g.tenant_key = $1 and g.revoked_at is null and clients.disabled_at is null and g.expires_at > $2)`
  const users = await db.row(
    `select count(*)::int as users, (count(*) filter (where ${covers('u', 'providers:read')} and exists (
       select from readable_connections c where c.user_key = u.user_key)))::int as users_with_accounts
     from ${live} u`,
    values,
  )
  const accounts = await db.rows(
    `select c.provider_id, count(*)::int as accounts, count(distinct c.user_key)::int as users
     from readable_connections c where c.tenant_key = $1 and ${covers('c', 'providers:read')}
     group by c.provider_id order by count(*) desc, c.provider_id`,
    values,
  )
  const positions = `holdings h join readable_connections c using (user_key, connection_key) join assets a using (asset_key)
    left join current_prices p on p.asset_id = a.id
    where c.tenant_key = $1 and not h.spam and ${covers('h', 'assets:read')}`
  const balances = await db.row(
    `select trim_scale(coalesce(sum(p.price_in_usd * (h.liquid + h.staked)), 0))::text as value_in_usd,
       count(distinct h.user_key)::int as users, count(*)::int as positions,
       (count(*) filter (where p.price_in_usd is null))::int as positions_without_price from ${positions}`,
    values,
  )
  const top = await db.rows(
    `select a.id as asset_id, a.symbol as asset_symbol, trim_scale(sum(h.liquid + h.staked))::text as total_holdings,
       trim_scale(p.price_in_usd)::text as price_in_usd,
       trim_scale(p.price_in_usd * sum(h.liquid + h.staked))::text as value_in_usd, count(distinct h.user_key)::int as users
     from ${positions} group by a.id, a.symbol, p.price_in_usd
     order by p.price_in_usd * sum(h.liquid + h.staked) desc nulls last, a.id`,
    values,
  )
  const listUsers = async (from: string): Promise<string[]> => {
    const rows = await db.rows<{ user_key: string }>(`select distinct user_key from ${from}`, values)
    return rows.map(({ user_key: userKey }) => userKey).toSorted()
  }
  const consenting = await listUsers(live)
  const connected = await listUsers(
    `readable_connections c where c.tenant_key = $1 and ${covers('c', 'providers:read')}`,
  )
  const holding = await listUsers(positions)
  return { users, accounts, balances, assets: top, userKeys: [consenting, connected, holding, holding] }
}
