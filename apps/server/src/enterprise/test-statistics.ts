/** A tenant's story in random steps, and its statistics counted plainly, as the contract words them. */
import fc from 'fast-check'
import type { Database } from '../db/index.ts'

export const userIds = ['usr_0', 'usr_1', 'usr_2', 'usr_3', 'usr_4', 'usr_5']
const scopes = ['providers:read', 'assets:read', 'transactions:read']
const assets: readonly [id: string, symbol: string][] = [
  ['crypto:a', 'AAA'],
  // Two names of one asset, and one name of two.
  ['crypto:b', 'BBB'],
  ['crypto:b', 'bbb'],
  ['crypto:c', 'AAA'],
]

export const clientsOf = (tenantId: string): string[] => [`cli_0_${tenantId}`, `cli_1_${tenantId}`]

export async function addTenant(db: Database, tenantId: string): Promise<void> {
  await db.execute('insert into tenants (id, name) values ($1, $1)', [tenantId])
  await db.execute(
    `insert into clients (id, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only, require_code_verifier)
     select id, $1, id, '{}', '{}', '{}', false, false from unnest($2::text[]) id`,
    [tenantId, clientsOf(tenantId)],
  )
  await db.execute('insert into users (tenant_id, id, external_user_id) select $1, id, id from unnest($2::text[]) id', [
    tenantId,
    userIds,
  ])
}

interface Balance {
  asset: number
  liquid: string
  staked: string
  spam: boolean
}

/** One thing that happens to a tenant's users; each kind looks at the members it needs. */
export interface Step {
  kind: 'grant' | 'revoke' | 'forget' | 'able' | 'clock' | 'connect' | 'settle' | 'status' | 'disconnect' | 'hold'
  user: string
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
  /** Whether upkeep comes by afterwards. */
  upkeep: boolean
}

export const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom<Step['kind'][]>(
    ...(['grant', 'grant', 'revoke', 'forget', 'able', 'clock', 'connect', 'connect'] as const),
    ...(['settle', 'status', 'disconnect', 'hold', 'hold', 'hold'] as const),
  ),
  user: fc.constantFrom(...userIds),
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
  user: 'usr_0',
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

/** What is not said is ordinary. */
export async function applyStep(
  db: Database,
  tenantId: string,
  told: Pick<Step, 'kind'> & Partial<Step>,
): Promise<void> {
  const one = { ...plain, ...told }
  const owner = [tenantId, one.user]
  const granted = [...owner, clientsOf(tenantId)[one.client]]
  const ref = [...owner, `con_${one.slot}`]
  const ofGrant = 'tenant_id = $1 and user_id = $2 and client_id = $3'
  const ofConnection = 'tenant_id = $1 and user_id = $2 and id = $3'
  const statements: Record<Step['kind'], () => Promise<unknown>> = {
    grant: () =>
      db.execute(
        `insert into grants (tenant_id, user_id, client_id, id, scopes, consent, granted_at, expires_at)
         values ($1, $2, $3, $3, $4, '{}', assay_now(), assay_now() + make_interval(days => $5))
         on conflict (tenant_id, user_id, client_id) do update
           set scopes = excluded.scopes, expires_at = excluded.expires_at, revoked_at = null`,
        [...granted, one.scopes, one.days],
      ),
    revoke: () => db.execute(`update grants set revoked_at = assay_now() where ${ofGrant}`, granted),
    forget: () => db.execute('delete from grants where tenant_id = $1 and user_id = $2', owner),
    able: () =>
      db.execute('update clients set disabled_at = case when $2 then assay_now() end where id = $1', [
        clientsOf(tenantId)[one.client],
        one.disabled,
      ]),
    clock: () => db.execute('update sandbox_clock set offset_ms = offset_ms + $1::bigint * 3600000', [one.hours]),
    connect: () =>
      db.execute(
        `insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane, session_id)
         values ($1, $2, $3, $4, 'api_key', 'syncing', 'lane', case when not $5 then 'ses' end) on conflict do nothing`,
        [...ref, one.provider, one.settled],
      ),
    settle: () => db.execute(`update connections set session_id = null where ${ofConnection}`, ref),
    status: () => db.execute(`update connections set status = $4 where ${ofConnection}`, [...ref, one.status]),
    disconnect: () =>
      db.transaction(async (tx) => {
        await tx.execute('delete from holdings where tenant_id = $1 and user_id = $2 and connection_id = $3', ref)
        await tx.execute(`delete from connections where ${ofConnection}`, ref)
      }),
    hold: () => replaceHoldings(db, ref, one.balances),
  }
  await statements[one.kind]()
}

async function replaceHoldings(db: Database, ref: readonly string[], balances: readonly Balance[]): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute('delete from holdings where tenant_id = $1 and user_id = $2 and connection_id = $3', ref)
    for (const { asset, liquid, staked, spam } of balances) {
      await tx.execute(
        `insert into holdings (tenant_id, user_id, connection_id, provider_id, asset_id, asset_symbol, asset_name,
           liquid, staked, spam, fetched_at)
         select c.tenant_id, c.user_id, c.id, c.provider_id, $4, $5, $5, $6, $7, $8, assay_now() from connections c
         where c.tenant_id = $1 and c.user_id = $2 and c.id = $3
         on conflict (tenant_id, user_id, connection_id, asset_id) do update
           set liquid = excluded.liquid, staked = excluded.staked, spam = excluded.spam`,
        [...ref, ...(assets[asset] ?? []), liquid, staked, spam],
      )
    }
  })
}

const covers = (alias: string, scope: string): string => `exists (select from live_grants g
  where g.tenant_id = ${alias}.tenant_id and g.user_id = ${alias}.user_id and '${scope}' = any(g.scopes))`

/** By one look at all rows of all users: slow, and nothing to go wrong. */
export async function readPlainly(db: Database, tenantId: string): Promise<object> {
  const users = await db.row(
    `select count(*)::int as users, (count(*) filter (where ${covers('u', 'providers:read')} and exists (
       select from readable_connections c where c.tenant_id = u.tenant_id and c.user_id = u.user_id)))::int as users_with_accounts
     from (select distinct tenant_id, user_id from live_grants where tenant_id = $1) u`,
    [tenantId],
  )
  const accounts = await db.rows(
    `select c.provider_id, count(*)::int as accounts, count(distinct c.user_id)::int as users
     from readable_connections c where c.tenant_id = $1 and ${covers('c', 'providers:read')}
     group by c.provider_id order by count(*) desc, c.provider_id`,
    [tenantId],
  )
  const positions = `settled_holdings h left join current_prices p on p.asset_id = h.asset_id
    where h.tenant_id = $1 and not h.spam and ${covers('h', 'assets:read')}`
  const balances = await db.row(
    `select trim_scale(coalesce(sum(p.price_in_usd * (h.liquid + h.staked)), 0))::text as value_in_usd,
       count(distinct h.user_id)::int as users, count(*)::int as positions,
       (count(*) filter (where p.price_in_usd is null))::int as positions_without_price from ${positions}`,
    [tenantId],
  )
  const top = await db.rows(
    `select h.asset_id, min(h.asset_symbol) as asset_symbol, trim_scale(sum(h.liquid + h.staked))::text as total_holdings,
       trim_scale(p.price_in_usd)::text as price_in_usd,
       trim_scale(p.price_in_usd * sum(h.liquid + h.staked))::text as value_in_usd, count(distinct h.user_id)::int as users
     from ${positions} group by h.asset_id, p.price_in_usd
     order by p.price_in_usd * sum(h.liquid + h.staked) desc nulls last, h.asset_id`,
    [tenantId],
  )
  return { users, accounts, balances, assets: top }
}
