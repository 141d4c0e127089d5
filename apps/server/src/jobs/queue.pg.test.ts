import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../test/until.ts'
import { bringJobsForward, endYielding, insertJob, raiseOverdue } from './queue-store.ts'
import { openQueue, queueTask, type TestQueue } from './test-queue.ts'

/** Payloads in the order in which their jobs began and ended. */
interface Recorder {
  began: string[]
  ended: string[]
  release(this: void): void
  task(this: void, payload: unknown): Promise<void>
}

function recorder(): Recorder {
  const began: string[] = []
  const ended: string[] = []
  let release: () => void = () => undefined
  const gate = new Promise<void>((resolve) => (release = resolve))
  return {
    began,
    ended,
    release: () => release(),
    async task(payload) {
      const { name = '', waits } = payload as { name?: string; waits?: string }
      began.push(name)
      if (waits === 'yes') await gate
      ended.push(name)
    },
  }
}

async function listWaiting({ db }: TestQueue): Promise<string[]> {
  const rows = await db.rows<{ key: string }>(
    'select key from graphile_worker.jobs where locked_at is null order by key',
  )
  return rows.map(({ key }) => key)
}

describe('a job', async () => {
  const queue = await openQueue()

  it('is added in the caller’s transaction or not at all', async () => {
    const add = (key: string, fails: boolean): Promise<void> =>
      queue.db.transaction(async (tx) => {
        await queueTask(tx, { task: 'note', payload: {}, key })
        if (fails) throw new Error('no')
      })
    await add('kept', false)
    await assert.rejects(add('lost', true), /no/)
    assert.deepEqual(await listWaiting(queue), ['kept'])
  })

  it('exists once for each key: adding it again moves it and replaces its payload', async () => {
    await queueTask(queue.db, { task: 'note', payload: { name: 'first' }, key: 'one', delayMs: 3_600_000 })
    await queueTask(queue.db, { task: 'note', payload: { name: 'second' }, key: 'one' })
    const { began, task } = recorder()
    await queue.start({ note: task })
    await until('the job', () => (began.length > 0 ? true : undefined))
    assert.deepEqual(await listWaiting(queue), [])
    assert.deepEqual(began, ['second'])
  })

  it('that is running is not affected by another with the same key', async () => {
    const { began, ended, release, task } = recorder()
    await queue.start({ note: task })
    await queueTask(queue.db, { task: 'note', payload: { name: 'running', waits: 'yes' }, key: 'one', lane: 'a' })
    await until('the first', () => (began.length === 1 ? true : undefined))
    await queueTask(queue.db, { task: 'note', payload: { name: 'waiting' }, key: 'one', lane: 'a' })
    assert.deepEqual(await listWaiting(queue), ['one'])
    release()
    await until('both', () => (ended.length === 2 ? true : undefined))
    assert.deepEqual(ended, ['running', 'waiting'])
  })

  it('runs after every earlier job of its lane, while other lanes continue', async () => {
    const { began, ended, release, task } = recorder()
    await queue.start({ note: task })
    await queueTask(queue.db, { task: 'note', payload: { name: 'a1', waits: 'yes' }, key: 'a1', lane: 'a' })
    await until('a1', () => (began.includes('a1') ? true : undefined))
    for (const name of ['a2', 'a3'])
      await queueTask(queue.db, { task: 'note', payload: { name }, key: name, lane: 'a' })
    await queueTask(queue.db, { task: 'note', payload: { name: 'b1' }, key: 'b1', lane: 'b' })
    await until('b1', () => (ended.includes('b1') ? true : undefined))
    assert.deepEqual(began, ['a1', 'b1'])
    release()
    await until('lane a', () => (ended.length === 4 ? true : undefined))
    assert.deepEqual(ended, ['b1', 'a1', 'a2', 'a3'])
  })

  it('that a person waits for goes before background jobs', async () => {
    for (const priority of ['background', 'interactive'] as const) {
      await queueTask(queue.db, { task: 'note', payload: { name: priority }, key: priority, lane: 'a', priority })
    }
    const { ended, task } = recorder()
    await queue.start({ note: task })
    await until('both', () => (ended.length === 2 ? true : undefined))
    assert.deepEqual(ended, ['interactive', 'background'])
  })

  it('that the job before it queued in the same lane begins without waiting for the next poll', async () => {
    const endings: number[] = []
    const gaps: number[] = []
    await queue.start(
      {
        async chain(payload) {
          const { left } = payload as { left: number }
          const last = endings.at(-1)
          if (last !== undefined) gaps.push(performance.now() - last)
          if (left > 0) await queueTask(queue.db, { task: 'chain', payload: { left: left - 1 }, key: 'k', lane: 'a' })
          endings.push(performance.now())
        },
      },
      { concurrency: 1 },
    )
    await queueTask(queue.db, { task: 'chain', payload: { left: 5 }, key: 'k', lane: 'a' })
    await until('the last one', () => (gaps.length === 5 ? true : undefined))
    // A second passes between two polls.
    const median = gaps.toSorted((a, b) => a - b)[2] ?? Infinity
    assert.ok(median < 700, gaps.map(Math.round).join(', '))
  })

  it('of a tenant that lets hundreds wait goes after the first job of another tenant', async () => {
    const add = (name: string, tenant: string): Promise<void> =>
      queueTask(queue.db, {
        ...{ task: 'note', payload: { name, ref: { tenant_id: tenant } }, key: name, lane: 'a' },
        priority: 'interactive',
      })
    for (let index = 0; index < 300; index += 1) await add(`many ${index}`, 'ten_many')
    await add('one', 'ten_one')
    const { ended, task } = recorder()
    await queue.start({ note: task })
    await until('the other tenant', () => (ended.includes('one') ? true : undefined))
    assert.ok(ended.indexOf('one') < 5, `it was the ${ended.indexOf('one') + 1}th`)
  })

  it('that can wait goes to the background where dozens of its tenant wait already', async () => {
    for (let index = 0; index < 30; index += 1) {
      const payload = { ref: { tenant_id: 'ten_many' } }
      const job = { task: 'note', payload: JSON.stringify(payload), key: `many ${index}` }
      await insertJob(queue.db, { ...job, priority: 'interactive', amongMany: 'background' }, 0)
    }
    const counts = await queue.db.rows(
      'select priority, count(*)::int as jobs from graphile_worker.jobs group by priority order by priority',
    )
    assert.deepEqual(counts, [
      { priority: -10, jobs: 4 },
      { priority: -5, jobs: 20 },
      { priority: 0, jobs: 6 },
    ])
  })

  it('in the background that has been due for a minute goes before the many of one tenant', async () => {
    const many = Array.from({ length: 10 }, (_, index) => `many ${index}`)
    await queueTask(queue.db, { task: 'note', payload: { name: 'background' }, key: 'background', lane: 'a' })
    await queue.db.execute("update graphile_worker._private_jobs set run_at = run_at - interval '61 s'", [])
    for (const name of many) {
      const payload = { name, ref: { tenant_id: 'ten_many' } }
      await queueTask(queue.db, { task: 'note', payload, key: name, lane: 'a', priority: 'interactive' })
    }
    await raiseOverdue(queue.db, 1)
    const { ended, task } = recorder()
    await queue.start({ note: task })
    await until('all', () => (ended.length === 11 ? true : undefined))
    assert.deepEqual(ended, [...many.slice(0, 4), 'background', ...many.slice(4)])
  })

  it('that yields goes after background jobs, but only for a minute', async () => {
    const add = (name: string, yields: boolean): Promise<void> =>
      queueTask(queue.db, {
        ...{ task: 'note', payload: { name }, key: name, lane: 'a' },
        priority: yields ? 'yielding' : 'background',
      })
    await add('old and yields', true)
    await queue.db.execute("update graphile_worker._private_jobs set run_at = run_at - interval '61 s'", [])
    await add('yields', true)
    await add('background', false)
    await endYielding(queue.db)
    const { ended, task } = recorder()
    await queue.start({ note: task })
    await until('all', () => (ended.length === 3 ? true : undefined))
    assert.deepEqual(ended, ['old and yields', 'background', 'yields'])
  })

  it('is due only once the sandbox clock has passed its time', async () => {
    await queueTask(queue.db, { task: 'note', payload: { name: 'soon' }, key: 'soon', delayMs: 3_600_000 })
    await queueTask(queue.db, { task: 'note', payload: { name: 'later' }, key: 'later', delayMs: 3 * 3_600_000 })
    await bringJobsForward(queue.db, 2 * 3_600_000)
    const { ended, task } = recorder()
    await queue.start({ note: task })
    await until('the job that is due', () => (ended.length > 0 ? true : undefined))
    assert.deepEqual(ended, ['soon'])
    assert.deepEqual(await listWaiting(queue), ['later'])
    const { minutes } = await queue.db.row<{ minutes: number }>(
      `select round(extract(epoch from run_at - clock_timestamp()) / 60)::int as minutes
       from graphile_worker.jobs where key = 'later'`,
    )
    assert.equal(minutes, 60)
  })
})
