/** The figures of the whole installation, in SQL, for telemetry. It reads other rooms' tables and writes none. */
import type { Sql } from '../db/index.ts'
import type { Figure, FleetFigures } from '../telemetry/index.ts'
import { listCircuits, listQueue, listWorkers } from './store.ts'

/** A larger count tells an operator nothing more, and a growing table must not make the scrape slow. */
const noticesCountedMax = 100_000

export async function readFleet(sql: Sql, { silentAfterMs }: { silentAfterMs: number }): Promise<FleetFigures> {
  const [workers, queue, oldest, connections, overdue, circuits, webhooks, sizes] = await Promise.all([
    listWorkers(sql),
    listQueue(sql),
    listOldestDue(sql),
    listConnections(sql),
    listOverdue(sql),
    listCircuits(sql),
    readWebhooks(sql),
    readSizes(sql),
  ])
  return {
    workersAlive: workers.filter(({ silent_seconds: silent }) => silent * 1_000 < silentAfterMs).length,
    queueJobs: queue.flatMap(({ task: kind, running, due, waiting }): Figure[] => [
      { labels: { kind, state: 'running' }, value: running },
      { labels: { kind, state: 'due' }, value: due },
      { labels: { kind, state: 'later' }, value: waiting - due },
    ]),
    queueOldest: oldest.map(({ priority, seconds }) => ({ labels: { priority }, value: seconds })),
    queueFailing: queue.map(({ task: kind, failing }) => ({ labels: { kind }, value: failing })),
    connections: sumBy(connections, ({ provider, status, cause }) => ({ provider, status, cause: cause ?? 'none' })),
    proofGrades: sumBy(
      connections.filter(({ status }) => status !== 'removed'),
      ({ provider, grade }) => ({ provider, grade: grade ?? 'none' }),
    ),
    connectionOverdue: overdue.map(({ provider, seconds }) => ({ labels: { provider }, value: seconds })),
    circuitsOpen: circuits.map(({ provider_id: provider, open }) => ({ labels: { provider }, value: open ? 1 : 0 })),
    webhookWaiting: webhooks.waiting,
    webhookOldestSeconds: webhooks.oldest_seconds,
    feedNotices: sizes.notices,
    databaseBytes: sizes.bytes,
  }
}

interface ConnectionGroup {
  provider: string
  status: string
  cause: string | null
  grade: string | null
  count: number
}

/** Rows of one scan, added up for the labels of one metric. */
function sumBy(rows: readonly ConnectionGroup[], toLabels: (row: ConnectionGroup) => Record<string, string>): Figure[] {
  const sums = new Map<string, { labels: Record<string, string>; value: number }>()
  for (const row of rows) {
    const labels = toLabels(row)
    const key = JSON.stringify(labels)
    sums.set(key, { labels, value: (sums.get(key)?.value ?? 0) + row.count })
  }
  return [...sums.values()]
}

async function listConnections(sql: Sql): Promise<ConnectionGroup[]> {
  return sql.rows<ConnectionGroup>(
    `select provider_id as provider, status, status_cause as cause, proof_grade as grade, count(*)::int as count
     from connections group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
  )
}

/** The condition is that of the index connections_due. */
async function listOverdue(sql: Sql): Promise<{ provider: string; seconds: number }[]> {
  return sql.rows(
    `select provider_id as provider, max(extract(epoch from $1::timestamptz - next_sync_at))::float8 as seconds
     from connections
     where session_id is null and status in ('syncing', 'active', 'degraded') and next_sync_at < $1::timestamptz
     group by 1 order by 1`,
    [sql.now()],
  )
}

/** Every priority is included, with 0 when nothing is due, because an alert without a series never fires. */
async function listOldestDue(sql: Sql): Promise<{ priority: string; seconds: number }[]> {
  return sql.rows(
    `select named.priority, coalesce(max(extract(epoch from clock_timestamp() - j.run_at)), 0)::float8 as seconds
     from (values ('interactive', -1), ('background', 0), ('yielding', 1)) named (priority, sign)
     left join graphile_worker.jobs j on sign(j.priority) = named.sign and j.locked_at is null
       and j.run_at <= clock_timestamp() and j.attempts < j.max_attempts
     group by 1 order by 1`,
  )
}

async function readWebhooks(sql: Sql): Promise<{ waiting: number; oldest_seconds: number }> {
  return sql.row(
    `select count(*)::int as waiting,
       coalesce(max(extract(epoch from $1::timestamptz - created_at)), 0)::float8 as oldest_seconds
     from webhook_messages where ended_at is null`,
    [sql.now()],
  )
}

async function readSizes(sql: Sql): Promise<{ notices: number; bytes: number }> {
  return sql.row(
    `select (select count(*) from (select from user_notices limit $1::int) n)::int as notices,
       pg_database_size(current_database())::float8 as bytes`,
    [noticesCountedMax],
  )
}
