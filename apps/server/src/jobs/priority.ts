/**
 * Who goes first, by graphile-worker's number: the lower, the sooner. Among equals, the one that has been due for longest.
 *
 * What yields would never run while reading is behind, which after an outage or on a day of many new users is for hours.
 * So it yields for a minute, and then stands in line like everything else.
 */
import type { Database } from '../db/index.ts'

/** People wait for these. */
export const interactivePriority = -10
export const backgroundPriority = 0
/** Can wait until reading has a place to spare. */
export const yieldingPriority = 10

const yieldsMaxSeconds = 60

export async function endYielding(db: Database): Promise<void> {
  await db.execute(
    `select graphile_worker.reschedule_jobs(array[id], priority => $1) from graphile_worker._private_jobs
     where priority > $1 and is_available and run_at < clock_timestamp() - make_interval(secs => $2)`,
    [backgroundPriority, yieldsMaxSeconds],
  )
}
