/** From when on nothing is missing, over all connections of a user. */
import { hourMs, minuteMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordStatements } from '../db/test-statements.ts'
import { createTestProvider, openReader, record } from './test-provider.ts'

describe('the completeness of many connections', async () => {
  const reader = await openReader()
  const { db } = reader
  const provider = reader.use(createTestProvider())
  const nowMs = reader.clock.now()
  provider.lists.set('ledger/', [record('A', nowMs - hourMs)])
  const ref = await reader.connectTest()
  await reader.drain({ delayed: true })
  const count = 120
  const [holed, poisoned] = [70, 90]
  const holeEndMs = nowMs - 20 * minuteMs
  const poisonedMs = nowMs - 10 * minuteMs
  const copy = (table: string, more: string): Promise<number> =>
    db.execute(
      `insert into ${table} select (jsonb_populate_record(t, jsonb_build_object('connection_key', n) || ${more})).*
       from ${table} t, generate_series(2, $2::integer) n where t.user_key = $1`,
      [ref.userKey, count],
    )
  const named = `('con_' || lpad(n::text, 26, '0'))`
  await copy('connections', `jsonb_build_object('id', ${named}, 'account_fingerprint', ${named})`)
  await copy('covered_windows', `'{}'`)
  await db.execute(
    `update covered_windows set window_start = $3 where user_key = $1 and connection_key = $2::integer`,
    [ref.userKey, holed, holeEndMs],
  )

  it('takes few statements', async () => {
    const sent = await recordStatements(() => reader.sync.findCompleteness(ref))
    assert.ok(sent.length < 10, `${sent.length} statements`)
  })

  it('names the hole of one of them, and a later one of another', async () => {
    const { fromMs, hole } = await reader.sync.findCompleteness(ref)
    const { id } = await db.row<{ id: string }>('select id from connections where connection_key = $1', [holed])
    assert.deepEqual([fromMs, hole?.connectionId, hole?.cause], [holeEndMs, id, 'sync_in_progress'])
    await db.execute(
      `insert into raw_records select (jsonb_populate_record(r, jsonb_build_object('connection_key', $2::integer,
         'group_key', 'bad', 'occurred_at', $3::text))).* from raw_records r where r.user_key = $1`,
      [ref.userKey, poisoned, new Date(poisonedMs).toISOString()],
    )
    await db.execute(
      `insert into poison_groups (user_key, connection_key, group_key, reason, seen_at) values ($1, $2, 'bad', 'x', $3)`,
      [ref.userKey, poisoned, db.now()],
    )
    const later = await reader.sync.findCompleteness(ref)
    const { id: other } = await db.row<{ id: string }>('select id from connections where connection_key = $1', [
      poisoned,
    ])
    assert.deepEqual([later.fromMs, later.hole?.connectionId, later.hole?.cause], [poisonedMs + 1, other, 'data_hole'])
  })
})
