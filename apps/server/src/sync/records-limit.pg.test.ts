import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openEngine } from '../test-engine.ts'

describe('a user with more records than may be kept', async () => {
  const engine = await openEngine({ ASSAY_LIMIT_RECORDS: '20' })
  const { db } = engine

  it('has no more history read, and keeps what was read and the balances', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    const find = async () => engine.connections.find(ref, ref.connectionId)
    await engine.drain({ delayed: true, enough: async () => (await find())?.status_cause === 'data_hole' })
    const count = async (table: 'raw_records' | 'transactions'): Promise<number> =>
      (await db.rows(`select from ${table} where user_key = $1::bigint`, [ref.userKey])).length
    const [records, transactions] = [await count('raw_records'), await count('transactions')]
    // The limit is looked at when a job begins.
    assert.ok(records > 20 && transactions > 0)
    const findBalancesAt = async (): Promise<string> =>
      (await db.row<{ at: string }>('select balances_at as at from connections where id = $1', [ref.connectionId])).at
    const before = await findBalancesAt()

    await engine.control(`accounts/${ref.accountId}/entries`, {
      entries: [{ type: 'deposit', asset: 'XXBT', amount: '0.5' }],
    })
    await engine.moveClock(3_600_000)
    const { key_lane: lane } = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
      ref.connectionId,
    ])
    await engine.sync.beginReading(db, ref, lane)
    let jobs = 0
    await engine.drain({ delayed: true, enough: async () => jobs++ === 3 })
    assert.deepEqual([await count('raw_records'), await count('transactions')], [records, transactions])
    const row = await find()
    assert.equal(row?.status_cause, 'data_hole')
    assert.notEqual(await findBalancesAt(), before)
  })
})
