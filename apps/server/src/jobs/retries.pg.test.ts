import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../test/until.ts'
import { addJob } from './index.ts'
import { bringUpkeepBack, capRetries } from './queue-store.ts'
import { openQueue, queueTask } from './test-queue.ts'

describe('a job that failed', async () => {
  const queue = await openQueue()
  const { db } = queue

  const add = (key: string, attempts: number, delayMs: number): Promise<number> =>
    queueTask(db, { task: 'read', payload: {}, key, delayMs }).then(() =>
      db.execute('update graphile_worker._private_jobs set attempts = $2 where key = $1', [key, attempts]),
    )
  const find = (key: string): Promise<{ attempts: number; wait: number }> =>
    db.row(
      `select attempts, extract(epoch from run_at - clock_timestamp())::float8 as wait
       from graphile_worker._private_jobs where key = $1`,
      [key],
    )

  it('waits about twenty seconds at most and is never given up, however often its worker was killed', async () => {
    await add('killed often', 24, 6 * 3_600_000)
    await capRetries(db)
    const { attempts, wait } = await find('killed often')
    assert.equal(attempts, 2)
    assert.ok(wait > 10 && wait <= 20, String(wait))
  })

  it('only a few times, or is only planned, is left alone', async () => {
    await add('planned', 0, 900_000)
    await add('failed twice', 2, 7_000)
    await capRetries(db)
    assert.ok((await find('planned')).wait > 890)
    assert.equal((await find('failed twice')).attempts, 2)
  })

  it('does not run again when another replaced it while it ran and its worker was killed', async () => {
    await add('replaced', 1, 0)
    const lock = "update graphile_worker._private_jobs set locked_by = 'killed', locked_at = now() where key = $1"
    await db.execute(lock, ['replaced'])
    await queueTask(db, { task: 'read', payload: { which: 'second' }, key: 'replaced' })
    await db.execute("select graphile_worker.force_unlock_workers(array['killed'])", [])
    const ran: unknown[] = []
    await queue.start({ read: async (payload) => void ran.push(payload) }, { silentAfterMs: 200 })
    await until('an empty queue', async () =>
      (await db.rows('select from graphile_worker._private_jobs')).length === 0 ? true : undefined,
    )
    assert.deepEqual(ran, [{ which: 'second' }])
  })

  it('is rescheduled by every worker', async () => {
    await add('waits for hours', 20, 6 * 3_600_000)
    await queue.start({ read: async () => undefined }, { silentAfterMs: 200 })
    await until('its turn', async () => ((await find('waits for hours')).wait <= 20 ? true : undefined))
  })
})

describe('upkeep', async () => {
  const queue = await openQueue()

  it('is due when it was planned by a clock that was set back since', async () => {
    let runs = 0
    await addJob(queue.db, 'upkeep', {}, { delayMs: 24 * 3_600_000 })
    await queue.start({ upkeep: async () => void (runs += 1) }, { silentAfterMs: 200 })
    await until('its turn', () => runs === 1 || undefined)
  })

  it('stays aside when workers died of it', async () => {
    await addJob(queue.db, 'upkeep', {}, { delayMs: 6 * 3_600_000 })
    await queue.db.execute("insert into deadly_jobs values ('upkeep', 7, clock_timestamp())")
    await bringUpkeepBack(queue.db)
    const due = 'select from graphile_worker._private_jobs where run_at < clock_timestamp() + interval $$5 hours$$'
    assert.deepEqual(await queue.db.rows(due), [])
  })
})
