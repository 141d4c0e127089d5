/** The figures of the whole installation, over a real database and a real queue. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { createLog } from '../http/log.ts'
import { addJob, installQueue } from '../jobs/index.ts'
import type { Figure } from '../telemetry/index.ts'
import { readFleet } from './index.ts'

interface GivenConnection {
  provider: string
  status: string
  cause?: string
  grade?: string
  dueAgoSeconds?: number
}

async function insertConnections(db: Database, rows: readonly GivenConnection[]): Promise<void> {
  for (const [index, { provider, status, cause, grade, dueAgoSeconds = 0 }] of rows.entries()) {
    const dueAt = new Date(db.clock.now() - dueAgoSeconds * 1_000).toISOString()
    await db.execute(
      `insert into connections (user_key, connection_key, tenant_key, tenant_id, user_id, id, provider_id,
         connection_type, status, status_cause, proof_grade, key_lane, created_at, next_sync_at)
       values (1, $1::int, 1, 'ten_1', 'usr_1', 'con_' || $1::int, $2, 'api_key', $3, $4, $5, 'lane', $6, $7)`,
      [index, provider, status, cause ?? null, grade ?? null, db.now(), dueAt],
    )
  }
}

/** Returns values such as { 'kraken active none': 2 }. */
function toRecord(figures: readonly Figure[]): Record<string, number> {
  return Object.fromEntries(figures.map(({ labels = {}, value }) => [Object.values(labels).join(' '), value]))
}

it('an empty installation has a figure for everything, and every priority of the queue', async (t) => {
  const { db, connection } = await testDatabase(t)
  await installQueue(connection, createLog({ level: 'silent' }))
  const { databaseBytes, queueOldest, ...others } = await readFleet(db, { silentAfterMs: 30_000 })
  assert.ok(databaseBytes > 1_000_000)
  assert.deepEqual(toRecord(queueOldest), { interactive: 0, background: 0, yielding: 0 })
  assert.deepEqual(others, {
    ...{ workersAlive: 0, webhookWaiting: 0, webhookOldestSeconds: 0, feedNotices: 0 },
    ...{ queueJobs: [], queueFailing: [], connections: [], connectionOverdue: [], proofGrades: [], circuitsOpen: [] },
  })
})

it('connections are counted by issue and by grade, and the latest one gives the delay', async (t) => {
  const { db, connection } = await testDatabase(t)
  await installQueue(connection, createLog({ level: 'silent' }))
  await insertConnections(db, [
    { provider: 'kraken', status: 'active', grade: 'proved', dueAgoSeconds: 90 },
    { provider: 'kraken', status: 'active', dueAgoSeconds: 4_000 },
    { provider: 'kraken', status: 'needs_reauth', cause: 'key_expired', dueAgoSeconds: 9_000 },
    { provider: 'binance', status: 'active', grade: 'open', dueAgoSeconds: -60 },
    { provider: 'binance', status: 'removed', grade: 'open' },
  ])
  const { connections, proofGrades, connectionOverdue } = await readFleet(db, { silentAfterMs: 30_000 })
  assert.deepEqual(toRecord(connections), {
    'binance active none': 1,
    'binance removed none': 1,
    'kraken active none': 2,
    'kraken needs_reauth key_expired': 1,
  })
  assert.deepEqual(toRecord(proofGrades), { 'binance open': 1, 'kraken none': 2, 'kraken proved': 1 })
  const [late, ...others] = connectionOverdue
  assert.deepEqual([late?.labels, others], [{ provider: 'kraken' }, []])
  assert.ok(
    (late?.value ?? 0) >= 4_000 && (late?.value ?? 0) < 9_000,
    'an account that waits for its owner is not late',
  )
})

it('the queue reports due jobs by priority, and workers count while they are not silent', async (t) => {
  const { db, connection } = await testDatabase(t)
  await installQueue(connection, createLog({ level: 'silent' }))
  await addJob(db, 'sign_in_mail', { sessionId: 'ses_1' })
  await addJob(db, 'upkeep', {}, { delayMs: 600_000 })
  await db.execute(
    "update graphile_worker._private_jobs set run_at = run_at - interval '100 seconds' where key like 'sign_in_mail%'",
    [],
  )
  await db.execute(
    `insert into worker_heartbeats (worker_id, beat_at)
     values ('alive', clock_timestamp()), ('silent', clock_timestamp() - $1::interval)`,
    ['1 minute'],
  )
  const { queueJobs, queueOldest, workersAlive } = await readFleet(db, { silentAfterMs: 30_000 })
  assert.equal(workersAlive, 1)
  assert.deepEqual(toRecord(queueJobs), {
    ...{ 'sign_in_mail running': 0, 'sign_in_mail due': 1, 'sign_in_mail later': 0 },
    ...{ 'upkeep running': 0, 'upkeep due': 0, 'upkeep later': 1 },
  })
  const { interactive = 0, ...rest } = toRecord(queueOldest)
  assert.ok(interactive >= 100)
  assert.deepEqual(rest, { background: 0, yielding: 0 })
})
