/** What reads cost a user with many wallets who came after the statistics of PostgreSQL were made. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { countScanned, recordStatements } from '../db/test-statements.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import { listDailyValues } from './history.ts'
import { finishPage, readTransactions } from './pages-store.ts'
import { readPositionsAt } from './positions-at-store.ts'
import { addConnection, addUser, type TestUser } from './test-portfolio.ts'

const day = '2026-03-02'
const at = (time: string): string => `${day}T${time}:00.000Z`

describe('a user whom the statistics do not know yet', async () => {
  const { db } = await testDatabase(ownedBySuite())
  await db.execute(
    `insert into assets (id, kind, symbol, name) select 'test:' || n, 'crypto', n, n from generate_series(1, 5) n`,
    [],
  )
  const [wallets, each] = [100, 40]
  for (let user = 0; user < 30; user += 1) await fill(`other${user}`, 6, 60)
  await db.execute('analyze')
  const ann = await fill('ann', wallets, each)

  /** Wallets with five assets, read twice on one day, and transactions of four kinds in the first asset in between. */
  async function fill(name: string, connections: number, transactions: number): Promise<TestUser> {
    const user = await addUser(db, name)
    for (let key = 1; key <= connections; key += 1) {
      await addConnection(db, user, { key, id: `con_${name}_${key}`, balancesAt: at('23:00') })
    }
    await db.execute(`update connections set balances_since = $2, history_from = '2025-01-01' where user_key = $1`, [
      user.userKey,
      at('22:00'),
    ])
    await db.execute(
      `insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type,
         category, pending, staked_legs, provider_id, group_key, document)
       select $1::bigint, md5($1::bigint::text || c || '-' || n)::uuid, $2::timestamptz + make_interval(mins => n, secs => c), n, $2, c,
         $3, k.type, k.category, false, 0, 'kraken', n, '"inputs":[],"outputs":[],"fees":{"items":[]}}'
       from generate_series(1, $4::integer) c, generate_series(1, $5::integer) n, (values
         (0, 'send'::transaction_type, 'withdrawal'::transaction_category), (1, 'receive', 'deposit'),
         (2, 'input_and_output', 'trade'), (3, 'input_only', 'airdrop')) k (number, type, category)
       where k.number = n % 4`,
      [user.userKey, at('10:00'), user.tenantKey, connections, transactions],
    )
    await db.execute(
      `insert into postings (user_key, occurred_at, transaction_id, asset_key, connection_key, ordinal, staked, side, spam, amount)
       select user_key, occurred_at, id, (select min(asset_key) from assets), connection_key, 1, false, 'i', false, 1
       from transactions where user_key = $1`,
      [user.userKey],
    )
    await db.execute(
      `insert into daily_changes (user_key, connection_key, asset_key, day, amount)
       select user_key, connection_key, asset_key, $2::date, sum(amount) from postings where user_key = $1 group by 1, 2, 3`,
      [user.userKey, day],
    )
    await db.execute(
      `with found as (
         insert into holdings (user_key, connection_key, asset_key, liquid, staked, changed_at)
         select $1, c, asset_key, 100, 0, $2 from generate_series(1, $3::integer) c, assets
         returning user_key, connection_key, asset_key)
       insert into observed_balances (user_key, connection_key, asset_key, observed_at, liquid, staked)
       select user_key, connection_key, asset_key, $2, 100, 0 from found`,
      [user.userKey, at('22:00'), connections],
    )
    return user
  }

  async function countOf(read: () => Promise<unknown>): Promise<number> {
    let rows = 0
    for (const sent of await recordStatements(read)) rows += await countScanned(db, sent)
    return rows
  }
  const all = wallets * each
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => work()

  it('reads the newest transactions of a kind, and joins those of the page alone', async () => {
    const scanned = await countOf(async () => {
      const request = { shape: 'v2', filters: { types: ['input_only'] }, limit: 30, after: undefined } as const
      const found = await readTransactions(db, ann.access, request)
      assert.ok(found !== undefined)
      const { items } = await finishPage(found.result, inTurn)
      assert.equal((JSON.parse(`[${items}]`) as unknown[]).length, 30)
    })
    assert.ok(scanned < 4 * all, `${scanned} rows`)
  })

  it('adds up the day of an asset without looking at its other days', async () => {
    const scanned = await countOf(() =>
      readPositionsAt(db, ann.access, { limit: 100, after: undefined, asOf: at('09:00') }),
    )
    // Twenty wallets of a statement, each with the day of one asset.
    assert.ok(scanned < 60 * all, `${scanned} rows`)
  })

  it('looks at no postings of a position that a reading covers', async () => {
    const scanned = await countOf(() =>
      readPositionsAt(db, ann.access, { limit: 100, after: undefined, asOf: at('22:30') }),
    )
    assert.ok(scanned < 20 * all, `${scanned} rows`)
  })

  it('reads the postings after the balances alone for values over time', async () => {
    const scanned = await countOf(() => listDailyValues(db, ann, { completeFromMs: 0, endTime: at('23:30') }))
    assert.ok(scanned < 30 * all, `${scanned} rows`)
  })
})
