/** A tenant's users in random steps, and clients that keep a copy of its transactions by the feed. */
import fc from 'fast-check'
import type { Database, Sql } from '../../db/index.ts'
import { takeChangeNumbers } from '../../ledger/changes-store.ts'
import { noteAllUsers, noteUser } from '../../notices.ts'
import type { Owner } from '../../owner.ts'
import type { TenantFeedPoint } from './feed.ts'
import type { Enterprise } from '../index.ts'
import type { TestTenant } from '../statistics/test-statistics.ts'
import { insertConnection, putGrant, putTransaction } from '../test-tenant.ts'

export const usersMax = 3

/** One thing that happens to a user; each kind reads the members it needs. */
export interface FeedStep {
  kind:
    | 'grant'
    | 'revoke'
    | 'able'
    | 'clock'
    | 'delete'
    | 'connect'
    | 'settle'
    | 'remove'
    | 'destroy'
    | 'commit'
    | 'drop'
  user: number
  client: number
  /** Whether the grant covers transactions. */
  covers: boolean
  hours: number
  disabled: boolean
  slot: number
  settled: boolean
  /** Which transactions of the connection are written or dropped. */
  written: number[]
  /** What happens afterwards: a fold, a page of a client, or all pages of a client. */
  then: 'nothing' | 'fold' | 'page' | 'poll' | 'restart'
  reader: number
  limit: number
}

const kinds: FeedStep['kind'][] = [
  ...(['grant', 'grant', 'grant', 'revoke', 'revoke', 'revoke', 'able', 'clock', 'delete'] as const),
  ...(['connect', 'connect', 'settle', 'settle', 'remove', 'destroy', 'destroy'] as const),
  ...(['commit', 'commit', 'commit', 'commit', 'commit', 'commit', 'drop', 'drop'] as const),
]

export const feedStep: fc.Arbitrary<FeedStep> = fc.record({
  kind: fc.constantFrom(...kinds),
  user: fc.nat(usersMax - 1),
  client: fc.constantFrom(0, 0, 0, 1),
  covers: fc.constantFrom(true, true, true, false),
  hours: fc.constantFrom(1, 30),
  disabled: fc.boolean(),
  slot: fc.nat(1),
  settled: fc.boolean(),
  written: fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 6 }),
  then: fc.constantFrom('nothing', 'fold', 'page', 'page', 'page', 'page', 'poll', 'restart'),
  reader: fc.nat(1),
  limit: fc.constantFrom(1, 2, 3, 100),
})

const plain: Omit<FeedStep, 'kind'> = {
  user: 0,
  client: 0,
  covers: true,
  hours: 1,
  disabled: true,
  slot: 0,
  settled: true,
  written: [0, 1, 2],
  then: 'nothing',
  reader: 0,
  limit: 100,
}

/** Members that are not given have default values. */
export async function applyFeedStep(
  db: Database,
  tenant: TestTenant,
  given: Pick<FeedStep, 'kind'> & Partial<FeedStep>,
): Promise<void> {
  const one = { ...plain, ...given }
  const owner = tenant.users[one.user]
  const clientId = tenant.clientIds[one.client]
  if (owner === undefined || clientId === undefined) throw new RangeError('unknown user or client')
  if (one.kind === 'clock') return void (await db.clock.advance(one.hours * 3_600_000))
  await db.transaction(async (tx) => {
    if (one.kind === 'able') {
      const disabledAt = one.disabled ? tx.now() : null
      await tx.execute('update clients set disabled_at = $2 where id = $1', [clientId, disabledAt])
      return noteAllUsers(tx, tenant)
    }
    const exists = await tx.maybeRow('select from users where user_key = $1', [owner.userKey])
    if (exists === undefined) return
    const kind = one.kind as keyof typeof ofUser
    const changed = await ofUser[kind](tx, owner, one, clientId)
    if (changed !== false) await noteUser(tx, owner)
  })
}

type Change = (tx: Sql, owner: Owner, one: FeedStep, clientId: string) => Promise<unknown>

const keysOf = (owner: Owner, { slot }: FeedStep): [string, number] => [owner.userKey, slot + 1]
const idOf = (owner: Owner, { slot }: FeedStep, n: number): string =>
  `${owner.userKey.padStart(20, '0')}${slot}${String(n).padStart(11, '0')}`

/** Writes rows as their owning rooms do; false when there was nothing to do. */
const ofUser: Record<Exclude<FeedStep['kind'], 'clock' | 'able'>, Change> = {
  grant: (tx, owner, { covers, hours }, clientId) =>
    putGrant(tx, owner, {
      clientId,
      scopes: covers ? ['assets:read', 'transactions:read'] : ['assets:read'],
      lastsSeconds: hours * 7_200,
    }),
  revoke: (tx, { userKey }, _, clientId) =>
    tx.execute('update grants set revoked_at = $3 where user_key = $1 and client_id = $2', [
      userKey,
      clientId,
      tx.now(),
    ]),
  async delete(tx, { userKey }) {
    for (const table of ['grants', 'removed_transactions', 'transactions', 'connections', 'user_ledgers', 'users']) {
      await tx.execute(`delete from ${table} where user_key = $1`, [userKey])
    }
  },
  async connect(tx, owner, one) {
    const connectionId = `con_${one.slot}_${owner.userId}`
    await insertConnection(tx, owner, { connectionKey: one.slot + 1, connectionId, connectSessionId: 'ses' })
    if (one.settled) await ofUser.settle(tx, owner, one, '')
  },
  async settle(tx, owner, one) {
    const waiting = await lockConnection(tx, owner, one, 'session_id is not null')
    if (!waiting) return false
    const { first, updatedAt } = await takeChangeNumbers(tx, owner.userKey, 1)
    return tx.execute(
      `update connections set session_id = null, shown_at = $3, shown_seq = $4::bigint
       where user_key = $1 and connection_key = $2`,
      [...keysOf(owner, one), updatedAt, first],
    )
  },
  async remove(tx, owner, one) {
    const there = await lockConnection(tx, owner, one, `status <> 'removed'`)
    if (!there) return false
    const { first } = await takeChangeNumbers(tx, owner.userKey, 1)
    return tx.execute(
      `update connections set status = 'removed', session_id = null,
         hidden_seq = case when shown_seq is not null then $3::bigint end
       where user_key = $1 and connection_key = $2`,
      [...keysOf(owner, one), first],
    )
  },
  async destroy(tx, owner, one) {
    // Deletes some of the rows, or the connection's own row when none is left.
    const destroyed = await tx.execute(
      `with c as (select * from connections where user_key = $1 and connection_key = $2 and status = 'removed'),
         gone as (
           delete from transactions t using c where t.user_key = c.user_key and t.id in (
             select t.id from transactions t where t.user_key = $1 and t.connection_key = $2 order by t.id limit 2)
           returning t.id, t.change_seq, c.hidden_seq, c.tenant_key)
       insert into removed_transactions (user_key, id, tenant_key, connection_key, change_seq, former_seq, removed_at)
       select $1, id, tenant_key, $2, hidden_seq, change_seq, to_timestamp((hidden_seq >> 20) / 1000.0)
       from gone where hidden_seq is not null
       on conflict (user_key, id) do update set change_seq = excluded.change_seq, former_seq = excluded.former_seq`,
      keysOf(owner, one),
    )
    if (destroyed > 0) return false
    await tx.execute(
      `delete from connections c where user_key = $1 and connection_key = $2 and status = 'removed' and not exists (
         select from transactions t where t.user_key = c.user_key and t.connection_key = c.connection_key)`,
      keysOf(owner, one),
    )
    return false
  },
  async commit(tx, owner, one) {
    if (!(await lockConnection(tx, owner, one, `status <> 'removed'`))) return false
    const { first } = await takeChangeNumbers(tx, owner.userKey, one.written.length)
    for (const [index, n] of one.written.entries()) {
      const id = idOf(owner, one, n)
      const changeSeq = String(BigInt(first) + BigInt(index))
      await tx.execute('delete from removed_transactions where user_key = $1 and id = $2::uuid', [owner.userKey, id])
      await putTransaction(tx, owner, {
        id,
        connectionKey: one.slot + 1,
        occurredAt: `2026-01-${10 + n}T00:00:00.000Z`,
        changeSeq,
        document: `"written":"${changeSeq}"}`,
      })
    }
  },
  async drop(tx, owner, one) {
    if (!(await lockConnection(tx, owner, one, `status <> 'removed'`))) return false
    const ids = one.written.map((n) => idOf(owner, one, n))
    const { first, updatedAt } = await takeChangeNumbers(tx, owner.userKey, ids.length)
    return tx.execute(
      `with gone as (
         delete from transactions where user_key = $1 and id = any($2::uuid[]) returning id, tenant_key, connection_key)
       insert into removed_transactions (user_key, id, tenant_key, connection_key, change_seq, removed_at)
       select $1, g.id, g.tenant_key, g.connection_key, $3::bigint - 1 + row_number() over (order by g.id), $4
       from gone g join connections c on c.user_key = $1 and c.connection_key = g.connection_key
       where c.shown_seq is not null`,
      [owner.userKey, ids, first, updatedAt],
    )
  },
}

async function lockConnection(tx: Sql, owner: Owner, one: FeedStep, condition: string): Promise<boolean> {
  const found = await tx.maybeRow(
    `select from connections where user_key = $1 and connection_key = $2 and ${condition} for update`,
    keysOf(owner, one),
  )
  return found !== undefined
}

/** A client that keeps a copy. */
export function createReader(enterprise: Enterprise, tenantKey: number) {
  let copy = new Map<string, object>()
  let point: TenantFeedPoint | undefined

  /** Reads one page, and returns whether it was the last for now. */
  async function readPage(limit: number): Promise<boolean> {
    const page = await enterprise.listChanges(tenantKey, { point, limit })
    if (page.items.length > limit) throw new Error(`${page.items.length} items on a page of ${limit}`)
    for (const item of page.items) {
      if (item.op === 'upsert') {
        const { id, userId, connection_id, provider_id, updated_at, document } = item
        copy.set(id, { id, user_id: userId, connection_id, provider_id, updated_at, document })
      } else if (item.op === 'remove') {
        copy.delete(item.id)
      } else {
        copy = new Map([...copy].filter(([, row]) => (row as { user_id: string }).user_id !== item.userId))
      }
    }
    // A cursor carries the point as JSON.
    point = JSON.parse(JSON.stringify(page.point)) as TenantFeedPoint
    return page.last
  }

  return {
    readPage,
    async poll(limit: number): Promise<void> {
      while (!(await readPage(limit)));
    },
    restart(): void {
      copy = new Map()
      point = undefined
    },
    list: (): object[] => [...copy.values()].toSorted(byId),
  }
}

/** The list of transactions, as the same client would read it. */
export async function listPlainly(enterprise: Enterprise, tenantKey: number): Promise<object[]> {
  const rows = await enterprise.listTransactions(tenantKey, { limit: 1_000, after: undefined, filters: {} })
  return rows
    .map(({ id, user_id, connection_id, provider_id, updated_at, document }) => ({
      id,
      user_id,
      connection_id,
      provider_id,
      updated_at,
      document,
    }))
    .toSorted(byId)
}

const byId = (a: object, b: object): number => ((a as { id: string }).id < (b as { id: string }).id ? -1 : 1)
