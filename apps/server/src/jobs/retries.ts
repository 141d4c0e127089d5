/**
 * How long a job that failed waits. graphile-worker waits exp(attempts) seconds, up to six hours, gives up after the
 * 25th attempt, and counts an attempt whose worker was killed like one that failed. What fails here is nearly always the
 * database, which is back in a moment: a run that was killed a few times would stand still for hours after that. So the
 * count is held low, and no job waits longer than some twenty seconds; one that fails for another reason says so each time.
 *
 * One is not to come back: a job whose key was added again while it ran. graphile-worker takes the key from it and sets its
 * count to the last (seen in 0.18.0, sql/000020.sql, add_jobs), and the job that took its place does its work. When its
 * worker was killed, it stays; it is deleted here.
 */
import type { Database } from '../db/index.ts'

/** exp(2 + 1) seconds: what the next failure costs. */
const attemptsMax = 2
const waitMaxSeconds = 20

export async function capRetries(db: Database): Promise<void> {
  await db.execute(
    `select graphile_worker.reschedule_jobs(array[id], attempts => $1::int,
       run_at => least(run_at, clock_timestamp() + make_interval(secs => $2)))
     from graphile_worker._private_jobs where attempts > $1 and locked_at is null and key is not null`,
    [attemptsMax, waitMaxSeconds],
  )
}

/** Every job of ours has a key until it is replaced. */
export async function deleteReplaced(db: Database): Promise<void> {
  await db.execute(
    `delete from graphile_worker._private_jobs
     where key is null and attempts >= max_attempts and locked_at is null`,
    [],
  )
}
