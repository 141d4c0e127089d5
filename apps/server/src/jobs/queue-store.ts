/**
 * All SQL over the queue: graphile-worker's tables, and the heartbeats of workers. The service reads and writes some of
 * graphile-worker's private tables, because its functions offer no way to free a lane, to cap the wait of a failed job
 * or to see which jobs wait. We read these internals in version 0.18.0; queue-store.pg.test.ts fails for any other
 * version and says what to compare.
 *
 * Jobs are added with a delay instead of a time: absolute times would need two clocks to agree, PostgreSQL's and the
 * sandbox's.
 */
import { createHash } from 'node:crypto'
import type { Database, Sql } from '../db/index.ts'
import type { Priority } from './declarations.ts'

/** graphile-worker's priority number: lower runs sooner. Among equals, the job that has been due longest runs first. */
const priorities: Readonly<Record<Priority | 'overdue', number>> = {
  interactive: -10,
  overdue: -6,
  crowded: -5,
  background: 0,
  yielding: 10,
}

/** Whether a person waits for the job. */
export function isInteractive({ priority }: { priority: number }): boolean {
  return priority === priorities.interactive || priority === priorities.crowded
}

/** As many as a worker runs at a time by default: jobs of one tenant that wait for no crowded job. */
const firstOfTenantMax = 4
/** Of the jobs that can also run in the background: how many of one tenant are crowded. */
const crowdedOfTenantMax = 20

/**
 * SQL: the priority of an interactive job. A tenant can have any number of users, and each of them may let some jobs
 * wait at once. The first of a tenant go before the further ones of all tenants, so that a user of another tenant waits
 * for few of them. A job without a tenant is always first.
 */
function toSharedPriority(payload: string, given: string, amongMany: QueuedJob['amongMany']): string {
  const { interactive, crowded, background } = priorities
  const hasFewer = (max: number, priority: number): string => `(
    select count(*) from (
      select from graphile_worker._private_jobs waiting
      where waiting.is_available and waiting.priority = ${priority} and waiting.run_at <= clock_timestamp()
        and waiting.payload -> 'ref' ->> 'tenant_id' = ${payload}::json -> 'ref' ->> 'tenant_id'
      limit ${max}) of_tenant) < ${max}`
  const further =
    amongMany === 'background'
      ? `when ${hasFewer(crowdedOfTenantMax, crowded)} then ${crowded} else ${background}`
      : `else ${crowded}`
  return `case when ${hasFewer(firstOfTenantMax, interactive)} then ${given}::integer ${further} end`
}

export interface QueuedJob {
  task: string
  /** JSON. */
  payload: string
  key: string
  lane?: string | undefined
  priority: Priority
  /** What a worker may refuse to take for now (shares.ts). */
  flags?: readonly string[] | undefined
  amongMany?: 'background' | undefined
}

/**
 * SQL that adds a job inside a larger statement, whose further parameters begin after `offset`. `delay` is an SQL
 * interval, which that statement may compute.
 */
export function toInsertJob(job: QueuedJob, offset: number, delay: string): { call: string; values: unknown[] } {
  const [task, payload = '', lane, key, given = '', flags] = [1, 2, 3, 4, 5, 6].map((place) => `$${offset + place}`)
  const priority = job.priority === 'interactive' ? toSharedPriority(payload, given, job.amongMany) : given
  return {
    call: `graphile_worker.add_job(${task}::text, ${payload}::json, queue_name => ${lane}::text,
      job_key => ${key}::text, priority => (${priority})::integer, flags => ${flags}::text[],
      run_at => clock_timestamp() + ${delay})`,
    values: [
      job.task,
      job.payload,
      job.lane === undefined ? null : toLane(job.lane),
      job.key,
      priorities[job.priority],
      job.flags ?? null,
    ],
  }
}

export async function insertJob(sql: Sql, job: QueuedJob, delayMs: number): Promise<void> {
  const { call, values } = toInsertJob(job, 0, 'make_interval(secs => $7::double precision / 1000)')
  await sql.execute(`select ${call}`, [...values, delayMs])
}

/** SQL: no job waits or runs whose key is this SQL expression. */
export const isKeyFree = (key: string): string =>
  `not exists (select from graphile_worker._private_jobs job where job.key = ${key})`

/** SQL: the job with this key waits for a worker, and its payload has this member. Both are SQL expressions. */
export const isKeyDue = (key: string, member: string): string =>
  `exists (
    select from graphile_worker._private_jobs job
    where job.key = ${key} and job.is_available and job.run_at <= clock_timestamp() and job.payload -> ${member} is not null)`

/**
 * The sandbox clock moved forward: makes the jobs that were due within that time due now. Each job has its own
 * statement, outside a transaction. A transaction that adds several jobs locks them in no particular order, so a
 * transaction here that held two of them could deadlock with it.
 */
export async function bringJobsForward(db: Database, byMs: number): Promise<void> {
  const waiting = await db.rows<{ id: string }>('select id from graphile_worker.jobs where locked_at is null')
  for (const { id } of waiting) {
    await db.execute(
      `select graphile_worker.reschedule_jobs(array[id],
         run_at => run_at - make_interval(secs => $2::double precision / 1000))
       from graphile_worker.jobs where id = $1::bigint and locked_at is null`,
      [id, byMs],
    )
  }
}

// ----------------------------------------------------------------------------------------------------------------
// lanes

/**
 * A fixed number of lanes. graphile-worker's claim locks every lane that is free, with a write to its row, before it
 * looks for a job (dist/sql/getJobs.js, strategy 2); meanwhile no other worker finds a job that has a lane. One lane
 * for each key made a claim take 140 ms with 100,000 keys; with 1,024 it takes 2 ms, however many keys there are.
 *
 * Jobs of one name still run one after another. The price is that two names may share a lane and wait for each other;
 * with a hundred jobs under way one in ten does, for the seconds that a job takes.
 */
const laneCount = 1_024

export function toLane(name: string): string {
  return `lane ${createHash('sha256').update(name).digest().readUInt32BE() % laneCount}`
}

/** Longer than a job in a lane takes. */
const orphanedAfterSeconds = 60

/**
 * A lane that is locked and has no running job. graphile-worker opens a lane together with the row of the job that ends
 * (dist/sql/completeJobs.js), and any worker may delete that row: a worker that was presumed dead and comes back ends
 * the job that another worker has taken over. Without this, the other worker's lane would stay closed for four hours.
 */
export async function freeOrphanedLanes(sql: Sql): Promise<void> {
  await sql.execute(
    `update graphile_worker._private_job_queues q set locked_by = null, locked_at = null
     where q.locked_at < clock_timestamp() - make_interval(secs => $1)
       and not exists (
         select from graphile_worker._private_jobs j where j.job_queue_id = q.id and j.locked_at is not null)`,
    [orphanedAfterSeconds],
  )
}

/** Earlier versions gave every key its own lane. Each claim would lock those rows too. */
export async function deleteOldLanes(sql: Sql): Promise<void> {
  await sql.execute(
    `delete from graphile_worker._private_job_queues q
     where q.queue_name not like 'lane %' and q.locked_at is null
       and not exists (select from graphile_worker._private_jobs j where j.job_queue_id = q.id)`,
    [],
  )
}

// ------------------------------------------------------------------------------------------------------- who goes
// first

const yieldsMaxSeconds = 60

/**
 * A job that yields would never run while reading is behind, which lasts for hours after an outage or on a day of many
 * new users. So it yields for a minute, and then queues like every other job.
 */
export async function endYielding(sql: Sql): Promise<void> {
  await sql.execute(
    `select graphile_worker.reschedule_jobs(array[id], priority => $1) from graphile_worker._private_jobs
     where priority > $1 and is_available and run_at < clock_timestamp() - make_interval(secs => $2)`,
    [priorities.background, yieldsMaxSeconds],
  )
}

export interface WaitingJob {
  laneId: number | null
  /** Another job of the lane is running, here or elsewhere. */
  blocked: boolean
  noted: string | null
}

const overdueAfterSeconds = 60

/**
 * Interactive jobs go before the background, and one tenant with many users can ask for more of them than the fleet
 * runs. So a few of the jobs that have been due longest go before the crowded ones, each time this is called.
 */
export async function raiseOverdue(sql: Sql, count: number): Promise<void> {
  await sql.execute(
    `select graphile_worker.reschedule_jobs(array[id], priority => $1::integer) from (
       select id from graphile_worker._private_jobs
       where is_available and priority = $2 and run_at < clock_timestamp() - make_interval(secs => $3)
         and exists (select from graphile_worker._private_jobs where is_available and priority = $4)
       order by run_at limit $5) longest_due`,
    [priorities.overdue, priorities.background, overdueAfterSeconds, priorities.crowded, count],
  )
}

/**
 * Due jobs for which a person waits, without those that carry one of the first flags. Those that carry one of the second
 * come last: however many a user has of them, jobs of other people are seen.
 */
export async function listInteractive(
  sql: Sql,
  limit: number,
  { without, noting }: { without: readonly string[]; noting: readonly string[] },
): Promise<WaitingJob[]> {
  return sql.rows<WaitingJob>(
    `select j.job_queue_id as "laneId", q.locked_at is not null as blocked,
       (select flag from unnest($5::text[]) flag where j.flags ? flag limit 1) as noted
     from graphile_worker._private_jobs j left join graphile_worker._private_job_queues q on q.id = j.job_queue_id
     where j.is_available and j.priority in ($1, $3) and j.run_at <= clock_timestamp()
       and (j.flags ?| $4::text[]) is not true
     order by (j.flags ?| $5::text[]) is true, j.priority, j.run_at limit $2`,
    [priorities.interactive, limit, priorities.crowded, [...without], [...noting]],
  )
}

/** A worker that takes one of them at this moment, or adds it again, is not waited for. */
export async function deleteWaiting(sql: Sql, keys: readonly string[]): Promise<void> {
  await sql.execute(
    `delete from graphile_worker._private_jobs where id in (
       select id from graphile_worker._private_jobs where key = any($1::text[]) and locked_at is null
       for update skip locked)`,
    [keys],
  )
}

// --------------------------------------------------------------------------------------------------------------
// retries

/** The next failure costs exp(2 + 1) seconds. */
const attemptsMax = 2
const waitMaxSeconds = 20

/**
 * graphile-worker waits exp(attempts) seconds, up to six hours, gives up after the 25th attempt, and counts an attempt
 * whose worker was killed as failed. Failures here nearly always come from the database, which is back in a moment, but
 * a run that was killed a few times would stand still for hours. So the count is kept low, and no job waits longer than
 * about twenty seconds; a job that fails for another reason is logged each time.
 */
export async function capRetries(sql: Sql): Promise<void> {
  await sql.execute(
    `select graphile_worker.reschedule_jobs(array[id], attempts => $1::int,
       run_at => least(run_at, clock_timestamp() + make_interval(secs => $2)))
     from graphile_worker._private_jobs where attempts > $1 and locked_at is null and key is not null`,
    [attemptsMax, waitMaxSeconds],
  )
}

/**
 * Upkeep is planned a minute ahead. One that is further away was planned before the clock was set back: until the clock
 * was there again, abandoned connections would stay and no audit entry would be chained. One that freeJobs put aside
 * stays there.
 */
export async function bringUpkeepBack(sql: Sql): Promise<void> {
  await sql.execute(
    `select graphile_worker.reschedule_jobs(array[id], run_at => clock_timestamp())
     from graphile_worker._private_jobs
     where key = 'upkeep' and locked_at is null and run_at > clock_timestamp() + interval '2 minutes'
       and not exists (select from deadly_jobs where job_key = 'upkeep' and deaths > $1)`,
    [deathsMax],
  )
}

/**
 * Every job of ours has a key until it is replaced: when a key is added again while its job runs, graphile-worker takes
 * the key from that job and sets its count to the last (sql/000020.sql, add_jobs). The job that took its place does its
 * work. When the worker was killed, the replaced job stays, and is deleted here.
 */
export async function deleteReplaced(sql: Sql): Promise<void> {
  await sql.execute(
    `delete from graphile_worker._private_jobs
     where key is null and attempts >= max_attempts and locked_at is null`,
    [],
  )
}

// -------------------------------------------------------------------------------------------------------- who is alive

export async function writeHeartbeats(sql: Sql, workerIds: readonly string[]): Promise<void> {
  await sql.execute(
    `insert into worker_heartbeats (worker_id, beat_at) select unnest($1::text[]), clock_timestamp()
     on conflict (worker_id) do update set beat_at = excluded.beat_at`,
    [workerIds],
  )
}

export async function forgetWorkers(sql: Sql, workerIds: readonly string[]): Promise<void> {
  await sql.execute('delete from worker_heartbeats where worker_id = any($1::text[])', [workerIds])
}

/** SQL: the clock was set back since. */
const isAhead = (time: string): string => `${time} > clock_timestamp() + interval '1 minute'`

/** A worker that was killed would not count as silent until the clock was there again. One that lives writes the next. */
export async function bringHeartbeatsBack(sql: Sql): Promise<void> {
  await sql.execute(`update worker_heartbeats set beat_at = clock_timestamp() where ${isAhead('beat_at')}`, [])
}

/** Deletes workers that were killed without a running job. `assay status` shows them until then. */
export async function forgetLongSilent(sql: Sql): Promise<void> {
  await sql.execute("delete from worker_heartbeats where beat_at < clock_timestamp() - interval '1 hour'", [])
}

/**
 * Workers that hold a lock and have sent no heartbeat for this long. A lock without any heartbeat belongs to a worker
 * that was killed before its first heartbeat; it gets the same grace period, counted from the time of the lock.
 */
export async function listSilent(
  sql: Sql,
  silentAfterMs: number,
  { except }: { except: readonly string[] },
): Promise<string[]> {
  const rows = await sql.rows<{ worker_id: string }>(
    `with locks as (
       select locked_by as worker_id, locked_at from graphile_worker._private_jobs where locked_by is not null
       union all
       select locked_by, locked_at from graphile_worker._private_job_queues where locked_by is not null
     ), limits as (select clock_timestamp() - make_interval(secs => $1::double precision / 1000) as silent_since)
     select distinct worker_id from locks, limits
     where (locked_at <= silent_since or ${isAhead('locked_at')}) and worker_id <> all($2::text[])
       and not exists (select from worker_heartbeats h where h.worker_id = locks.worker_id and h.beat_at > silent_since)`,
    [silentAfterMs, except],
  )
  return rows.map((row) => row.worker_id)
}

/** Workers are also killed by hand, or replaced by a new version. Their jobs did not cause that. */
const deathsMax = 6
const asideMaxMinutes = 360

export interface DeadlyJob {
  key: string
  deaths: number
}

/**
 * Frees the jobs of workers that are dead. A job that was running at more than six deaths within a day probably causes
 * them: it waits for a minute, then for two, up to six hours, and the rest is done meanwhile. Returns those jobs.
 */
export async function freeJobs(tx: Sql, workerIds: readonly string[]): Promise<DeadlyJob[]> {
  // Another process may be freeing the same workers: each job is counted by the one that holds its row.
  const counted = await tx.rows<DeadlyJob>(
    `insert into deadly_jobs as d (job_key, deaths, died_at)
     select key, 1, clock_timestamp() from (
       select key from graphile_worker._private_jobs
       where locked_by = any($1::text[]) and key is not null for update skip locked) held
     on conflict (job_key) do update set died_at = excluded.died_at,
       deaths = case when d.died_at > excluded.died_at - interval '1 day' then d.deaths + 1 else 1 end
     returning job_key as key, deaths`,
    [workerIds],
  )
  await unlockWorkers(tx, workerIds)
  const deadly = counted.filter(({ deaths }) => deaths > deathsMax)
  await tx.execute(
    // Without attempts, because a job that had a few would be brought forward by capRetries.
    `select graphile_worker.reschedule_jobs(array[j.id], attempts => 0, run_at => greatest(j.run_at, clock_timestamp()
       + make_interval(mins => least($3::integer, power(2, least(d.deaths - $2::integer - 1, 16))::integer))))
     from graphile_worker._private_jobs j join deadly_jobs d on d.job_key = j.key
     where j.key = any($1::text[])`,
    [deadly.map(({ key }) => key), deathsMax, asideMaxMinutes],
  )
  return deadly
}

/** Frees their jobs and lanes without a look at who died. */
export async function unlockWorkers(sql: Sql, workerIds: readonly string[]): Promise<void> {
  await sql.execute('select graphile_worker.force_unlock_workers($1::text[])', [workerIds])
}

export async function forgetDeaths(sql: Sql): Promise<void> {
  await sql.execute("delete from deadly_jobs where died_at < clock_timestamp() - interval '1 day'", [])
}
