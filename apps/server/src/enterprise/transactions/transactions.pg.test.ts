/** A tenant's list against the same rows filtered in memory: whichever index leads, the answer is the same. */
import { dayMs } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { ownedBySuite } from '../../oauth/test-oauth.ts'
import type { Owner } from '../../owner.ts'
import { createEnterprise } from '../index.ts'
import { insertAssets, insertConnection, insertTenant, insertUser, putGrant } from '../test-tenant.ts'
import type { TransactionRequest } from './transactions-store.ts'

type Filters = TransactionRequest['filters']

const symbols = ['AAA', 'BBB', 'CCC']
const providers = ['kraken', 'bitcoin']
const kinds = [
  ['receive', 'deposit'],
  ['send', 'withdrawal'],
  ['output_only', 'fee'],
] as const
const firstMs = Date.parse('2026-01-01T00:00:00.000Z')
const shownMs = Date.parse('2026-03-01T00:00:00.000Z')

interface Row {
  id: string
  userId: string
  connectionId: string
  providerId: string
  type: string
  category: string
  symbols: string[]
  occurredMs: number
  updatedMs: number
  isSeen: boolean
}

describe('a tenant’s transactions', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const enterprise = createEnterprise({ db, endGrants: async () => 0 })
  const tenant = await insertTenant(db, 'ten_a', ['cli_a'])
  await insertAssets(
    db,
    symbols.map((symbol) => [`crypto:${symbol}`, symbol]),
  )
  const rows: Row[] = []
  for (let n = 0; n < 4; n += 1) rows.push(...(await addUser(n)))

  /**
   * The last user has no grant. Each has a connection that is shown early, one shown late, and one that is not shown.
   */
  async function addUser(n: number): Promise<Row[]> {
    const owner = await insertUser(db, tenant, `usr_${n}`)
    if (n < 3) await putGrant(db, owner, { clientId: 'cli_a', scopes: ['transactions:read'] })
    const made: Row[] = []
    for (const key of [1, 2, 3]) {
      const connectionId = `con_${n}_${key}`
      const providerId = providers[(n + key) % 2] ?? ''
      const connectSessionId = key === 3 ? { connectSessionId: 'ses' } : {}
      await insertConnection(db, owner, { connectionKey: key, connectionId, providerId, ...connectSessionId })
      const shown = key === 2 ? shownMs : firstMs
      await db.execute(
        `update connections set shown_at = $3, shown_seq = $4::bigint
         where user_key = $1 and connection_key = $2 and session_id is null`,
        [owner.userKey, key, new Date(shown).toISOString(), String(BigInt(shown) << 20n)],
      )
      for (let place = 0; place < 30; place += 1) {
        made.push(await addRow(owner, { connectionId, providerId, key, place, shown, isSeen: n < 3 && key < 3 }))
      }
    }
    await db.execute('update user_ledgers set change_seq = $2::bigint where user_key = $1', [
      owner.userKey,
      String(BigInt(shownMs + 400 * dayMs) << 20n),
    ])
    return made
  }

  async function addRow(
    owner: Owner,
    of: { connectionId: string; providerId: string; key: number; place: number; shown: number; isSeen: boolean },
  ): Promise<Row> {
    const { connectionId, providerId, key, place, shown, isSeen } = of
    const [type, category] = kinds[place % 7 === 0 ? 2 : place % 2] ?? kinds[0]
    const touched = symbols.filter((_, index) => (place + key) % (index + 1 + (index === 2 ? 8 : 0)) === 0)
    const isPending = place % 5 === 0
    const id = `${owner.userKey}${key}${String(place).padStart(2, '0')}`.padStart(32, '0')
    // Several rows share one time, so that the id decides their order.
    const occurredMs = firstMs + Math.floor(place / 2) * dayMs
    const updatedMs = firstMs + (place + 30) * dayMs
    await db.execute(
      `insert into transactions (user_key, tenant_key, occurred_at, id, connection_key, provider_id, group_key, type,
         category, change_seq, updated_at, pending, staked_legs, document)
       values ($1, $2, $3, $4::uuid, $5, $6, $4, $7, $8, $9::bigint, $10, $11, 0, $12)`,
      [
        ...[owner.userKey, owner.tenantKey, new Date(occurredMs).toISOString(), id, key, providerId, type, category],
        ...[String((BigInt(updatedMs) << 20n) + BigInt(key)), new Date(updatedMs).toISOString(), isPending],
        `"inputs":[${touched.map((symbol) => `{"asset_symbol":"${symbol}"}`).join(',')}],"fees":{"items":[]}}`,
      ],
    )
    if (!isPending) {
      await db.execute(
        `insert into postings (user_key, asset_key, occurred_at, transaction_id, ordinal, connection_key, staked, side, spam, amount)
         select $1, a.asset_key, $2, $3::uuid, n, $4, false, 'i', false, 1
         from assets a, generate_series(0, 1) n where a.symbol = any($5::text[])`,
        [owner.userKey, new Date(occurredMs).toISOString(), id, key, touched],
      )
    }
    const ids = { id: `txn_${id}`, userId: owner.userId, connectionId, providerId }
    return { ...ids, type, category, symbols: touched, occurredMs, updatedMs: Math.max(updatedMs, shown), isSeen }
  }

  function filterPlainly({ userIds, connectionIds, ...filters }: Filters): string[] {
    const among = (wanted: readonly string[] | undefined, value: string): boolean => wanted?.includes(value) ?? true
    return rows
      .filter(
        (row) =>
          row.isSeen &&
          among(userIds, row.userId) &&
          among(connectionIds, row.connectionId) &&
          among(filters.providerIds, row.providerId) &&
          among(filters.types, row.type) &&
          among(filters.categories, row.category) &&
          (filters.assetSymbols === undefined || row.symbols.some((symbol) => among(filters.assetSymbols, symbol))) &&
          (filters.startTime === undefined || row.occurredMs >= Date.parse(filters.startTime)) &&
          (filters.endTime === undefined || row.occurredMs < Date.parse(filters.endTime)) &&
          (filters.updatedSince === undefined || row.updatedMs >= Date.parse(filters.updatedSince)),
      )
      .toSorted((a, b) => b.occurredMs - a.occurredMs || (a.id < b.id ? 1 : -1))
      .map(({ id }) => id)
  }

  const some = <T>(values: readonly T[]): fc.Arbitrary<T[] | undefined> =>
    fc.option(fc.subarray([...values], { minLength: 1 }), { nil: undefined, freq: 2 })
  const time = (dayMax: number): fc.Arbitrary<string | undefined> =>
    fc.option(
      fc.nat(dayMax).map((day) => new Date(firstMs + day * dayMs).toISOString()),
      { nil: undefined, freq: 3 },
    )
  const anyFilters: fc.Arbitrary<Filters> = fc.record({
    userIds: some(['usr_0', 'usr_1', 'usr_2', 'usr_3', 'usr_of_another']),
    connectionIds: some([...new Set(rows.map((row) => row.connectionId)), 'con_of_another']),
    providerIds: some(providers),
    types: some(kinds.map(([type]) => type)),
    categories: some(kinds.map(([, category]) => category)),
    assetSymbols: some([...symbols, 'XYZ']),
    startTime: time(15),
    endTime: time(15),
    updatedSince: time(70),
  })
  // A range without any time in it is refused before it gets here.
  const filters = anyFilters.filter(
    ({ startTime, endTime }) => startTime === undefined || endTime === undefined || startTime < endTime,
  )

  it('match the filters, once each and in order, for every page size', async () => {
    assert.ok(filterPlainly({}).length === 180)
    const property = fc.asyncProperty(filters, fc.constantFrom(1, 7, 40, 100), async (wanted, limit) => {
      const seen: string[] = []
      for (let after: TransactionRequest['after'] = undefined; ;) {
        const page = await enterprise.listTransactions(tenant.tenantKey, { filters: wanted, limit, after })
        seen.push(...page.map(({ id }) => id))
        const last = page.at(-1)
        if (page.length < limit || last === undefined) break
        after = { occurredAt: last.occurred_at, id: last.id }
      }
      assert.deepEqual(seen, filterPlainly(wanted))
    })
    await fc.assert(property, { numRuns: 150 })
  })
})
