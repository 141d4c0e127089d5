/**
 * The internals of graphile-worker that queue-store.ts relies on and its documentation does not promise. Another
 * version may change any of them silently, so this suite is pinned to the version that we read.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { openQueue } from './test-queue.ts'

const readVersion = '0.18.0'

const toCompare = `Compare before you change the number in this test:
  dist/sql/getJobs.js        a claim locks every free lane before it looks for a job (why there are 1,024 lanes)
  dist/sql/completeJobs.js   the end of a job deletes its row and opens its lane (freeOrphanedLanes)
  dist/worker.js             without a batch delay the end of a job is not awaited (toRunnerOptions in worker.ts)
  sql/0000*.sql              add_jobs takes the key from a running job and spends its attempts (deleteReplaced);
                             the wait after a failure is exp(attempts) (capRetries); columns of _private_jobs and
                             _private_job_queues; force_unlock_workers and reschedule_jobs`

it(`graphile-worker has the version whose private tables we read: ${readVersion}`, () => {
  const file = new URL('../../../../node_modules/graphile-worker/package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
  assert.equal(
    version,
    readVersion,
    `graphile-worker ${version} is installed, queue-store.ts was written for ${readVersion}. ${toCompare}`,
  )
})

describe('the tables of graphile-worker', async () => {
  const { db } = await openQueue()

  const listColumns = async (table: string): Promise<string[]> => {
    const rows = await db.rows<{ column: string }>(
      `select column_name || ' ' || data_type as column from information_schema.columns
       where table_schema = 'graphile_worker' and table_name = $1 order by column_name`,
      [table],
    )
    return rows.map(({ column }) => column)
  }

  it('have the columns that we read and write', async () => {
    const jobs = new Set(await listColumns('_private_jobs'))
    for (const column of [
      'id bigint',
      'job_queue_id integer',
      'key text',
      'priority smallint',
      'run_at timestamp with time zone',
      'attempts smallint',
      'max_attempts smallint',
      'locked_at timestamp with time zone',
      'locked_by text',
      'is_available boolean',
    ]) {
      assert.ok(jobs.has(column), `_private_jobs has no column "${column}". ${toCompare}`)
    }
    const lanes = new Set(await listColumns('_private_job_queues'))
    for (const column of ['id integer', 'queue_name text', 'locked_at timestamp with time zone', 'locked_by text']) {
      assert.ok(lanes.has(column), `_private_job_queues has no column "${column}". ${toCompare}`)
    }
  })

  it('keep a job whose key was added again while it ran, without a key and with its attempts spent', async () => {
    const add = "select graphile_worker.add_job('task', '{}'::json, job_key => 'one')"
    await db.execute(add, [])
    await db.execute("update graphile_worker._private_jobs set locked_by = 'killed', locked_at = now()", [])
    await db.execute(add, [])
    const jobs = await db.rows(
      'select key, attempts >= max_attempts as spent from graphile_worker._private_jobs order by id',
    )
    assert.deepEqual(jobs, [
      { key: null, spent: true },
      { key: 'one', spent: false },
    ])
  })
})
