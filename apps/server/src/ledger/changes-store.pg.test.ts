import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changeNumberAt, takeChangeNumbers } from './changes-store.ts'
import { ledgerRow, makeAllDue, noonMs, openLedger, type TestLedger } from './test-ledger.ts'

const numbersPerMs = 2n ** 20n
const take = ({ db }: TestLedger, count: number): Promise<{ first: string; updatedAt: string }> =>
  db.transaction((tx) => takeChangeNumbers(tx, '1', count))

describe('change numbers', () => {
  it('grow, and carry the time at which they were taken', async (t) => {
    const opened = await openLedger(t)
    const before = opened.db.clock.now()
    const one = await take(opened, 3)
    const two = await take(opened, 1)
    const after = opened.db.clock.now()
    assert.ok(BigInt(two.first) >= BigInt(one.first) + 3n)
    for (const { first, updatedAt } of [one, two]) {
      const ms = Number(BigInt(first) / numbersPerMs)
      assert.ok(before <= ms && ms <= after)
      assert.equal(Date.parse(updatedAt), ms)
    }
    assert.equal(changeNumberAt('9007199254740993', 2), '9007199254740995')
  })

  it('grow even when the clock is behind the newest one', async (t) => {
    const opened = await openLedger(t)
    const ahead = BigInt(Date.now() + 60_000) * numbersPerMs
    await opened.db.execute('update user_ledgers set change_seq = $1', [String(ahead)])
    const { first, updatedAt } = await take(opened, 2)
    assert.equal(BigInt(first), ahead + 1n)
    assert.equal(BigInt(Date.parse(updatedAt)), ahead / numbersPerMs)
  })

  it('of one commit share a millisecond: if they would not, they start with the next one', async (t) => {
    const opened = await openLedger(t)
    const ms = BigInt(Date.now() + 60_000)
    await opened.db.execute('update user_ledgers set change_seq = $1', [String((ms + 1n) * numbersPerMs - 3n)])
    const { first, updatedAt } = await take(opened, 3)
    assert.equal(BigInt(first), (ms + 1n) * numbersPerMs + 1n)
    assert.equal(BigInt(Date.parse(updatedAt)), ms + 1n)
    await assert.rejects(take(opened, 0), RangeError)
    await assert.rejects(take(opened, 2 ** 20), RangeError)
  })

  it('are committed in their order: the next commit of a user waits for the one before', async (t) => {
    const opened = await openLedger(t)
    const { db } = opened
    const order: string[] = []
    const begun = Promise.withResolvers<undefined>()
    const released = Promise.withResolvers<undefined>()
    const first = db.transaction(async (tx) => {
      await takeChangeNumbers(tx, '1', 1)
      begun.resolve(undefined)
      await released.promise
      order.push('first')
    })
    await begun.promise
    const second = take(opened, 1).then(() => order.push('second'))
    // It is waiting once PostgreSQL says so.
    while ((await db.rows("select from pg_locks where not granted and locktype = 'transactionid'")).length === 0);
    released.resolve(undefined)
    await Promise.all([first, second])
    assert.deepEqual(order, ['first', 'second'])
  })
})

describe('what deriving changes', () => {
  const listNumbers = async ({ db }: TestLedger): Promise<Map<string, bigint>> => {
    const rows = await db.rows<{ key: string; change_seq: string; updated_at: string }>(
      `select group_key as key, change_seq, updated_at from transactions
       union all select 'removed', change_seq, removed_at from removed_transactions`,
    )
    for (const row of rows) assert.equal(BigInt(Date.parse(row.updated_at)), BigInt(row.change_seq) / numbersPerMs)
    assert.equal(new Set(rows.map((row) => row.change_seq)).size, rows.length)
    return new Map(rows.map((row) => [row.key, BigInt(row.change_seq)]))
  }

  it('gets one number each, which contains the time, and what deriving leaves unchanged keeps its number', async (t) => {
    const opened = await openLedger(t)
    const { keep, derive, announced, db } = opened
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'), ledgerRow('L3', 'R3'))
    await derive()
    const before = await listNumbers(opened)
    assert.equal(before.size, 3)
    assert.deepEqual(announced.get(1), { added: 3, changed: 0, removed: 0 })
    await keep(ledgerRow('L2', 'R2', { amount: '0.75' }), ledgerRow('L3', 'R1'))
    await derive()
    const after = await listNumbers(opened)
    assert.deepEqual([...after.keys()].toSorted(), ['R1', 'R2', 'removed'])
    const newest = [...before.values()].reduce((a, b) => (a > b ? a : b))
    for (const [key, number] of after) assert.ok(number > newest, key)
    assert.deepEqual(announced.get(1), { added: 3, changed: 2, removed: 1 })
    assert.equal((await db.rows('select from user_notices where user_key = 1 and tenant_key = 1')).length, 2)
    await makeAllDue(db)
    await derive()
    assert.deepEqual(await listNumbers(opened), after)
    assert.equal((await db.rows('select from user_notices')).length, 2)
  })

  it('is numbered and stored in page order, newest first', async (t) => {
    const opened = await openLedger(t)
    const { db, keep, derive } = opened
    const times = [5, 1, 4, 2, 3]
    await keep(...times.map((minute) => ledgerRow(`L${minute}`, `R${minute}`, {}, noonMs + minute * 60_000)))
    await derive()
    for (const order of ['ctid', 'change_seq']) {
      const rows = await db.rows<{ group_key: string }>(`select group_key from transactions order by ${order}`)
      assert.deepEqual(
        rows.map(({ group_key }) => group_key),
        ['R5', 'R4', 'R3', 'R2', 'R1'],
        order,
      )
    }
  })
})
