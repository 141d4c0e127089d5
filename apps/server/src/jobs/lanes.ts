/**
 * Lanes, a fixed number of them. graphile-worker's claim locks every lane that is free, with a write to its row, before it
 * looks for a job (0.18.0, dist/sql/getJobs.js, strategy 2); meanwhile no other worker finds a job that has a lane. One lane
 * for each key made a claim take 140 ms with 100,000 keys; with 1,024 it takes 2 ms, however many keys there are.
 *
 * What is promised stays: jobs of one name run one after another. The price is that two names may share a lane and wait
 * for each other; with a hundred jobs under way that befalls one in ten, for the seconds that a job takes.
 */
import { createHash } from 'node:crypto'
import type { Database } from '../db/index.ts'

const laneCount = 1_024

export function toLane(name: string): string {
  return `lane ${createHash('sha256').update(name).digest().readUInt32BE() % laneCount}`
}

/** Longer than a job in a lane takes. */
const orphanedAfterSeconds = 60

/**
 * A lane that is locked and has no job under way. graphile-worker opens a lane together with the row of the job that ends
 * (0.18.0, dist/sql/completeJobs.js), and any worker may delete that row: one that was presumed dead and comes back
 * ends the job which another has taken over meanwhile. That one's lane would stay closed for four hours.
 */
export async function freeOrphanedLanes(db: Database): Promise<void> {
  await db.execute(
    `update graphile_worker._private_job_queues q set locked_by = null, locked_at = null
     where q.locked_at < clock_timestamp() - make_interval(secs => $1)
       and not exists (
         select from graphile_worker._private_jobs j where j.job_queue_id = q.id and j.locked_at is not null)`,
    [orphanedAfterSeconds],
  )
}

/** Of the time when every key had its own: their rows would be locked with the others for ever. */
export async function deleteOldLanes(db: Database): Promise<void> {
  await db.execute(
    `delete from graphile_worker._private_job_queues q
     where q.queue_name not like 'lane %' and q.locked_at is null
       and not exists (select from graphile_worker._private_jobs j where j.job_queue_id = q.id)`,
    [],
  )
}
