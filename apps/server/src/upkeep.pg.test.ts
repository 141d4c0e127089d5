import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pino } from 'pino'
import { createStatistics } from './enterprise/index.ts'
import { openEngine } from './test-engine.ts'
import { createUpkeep } from './upkeep.ts'

describe('upkeep', async () => {
  const engine = await openEngine()
  const { db } = engine

  it('goes on behind a step that fails, says which it was, and has its next round queued', async () => {
    const logged: { step: string }[] = []
    const log = pino(
      { level: 'error' },
      { write: (line: string) => void logged.push(JSON.parse(line) as { step: string }) },
    )
    const oauth = { sweep: async () => 0 }
    const upkeep = createUpkeep({ ...engine, oauth, statistics: createStatistics({ db }), log })
    await db.execute(
      `insert into removed_transactions (tenant_id, user_id, id, removed_at)
       values ('ten_a', 'usr_a', 'txn_a', assay_now() - interval '91 days')`,
    )
    await db.execute('alter table webhook_messages rename to elsewhere')
    await assert.rejects(upkeep({}, new AbortController().signal), { message: 'upkeep failed: webhooks' })
    assert.deepEqual(
      logged.map(({ step }) => step),
      ['webhooks'],
    )
    assert.deepEqual(await db.rows('select from removed_transactions'), [])
    const waiting = await db.rows(
      "select from graphile_worker.jobs where key = 'upkeep' and run_at > clock_timestamp()",
    )
    assert.equal(waiting.length, 1)
  })
})
