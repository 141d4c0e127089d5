/**
 * All SQL over circuits, except the check before a call (budget-store.ts). Times are by the database's clock, so that
 * the whole fleet agrees on when a probe is due.
 */
import type { Sql } from '../db/index.ts'
import { toProbeAt, type CircuitState } from './budget-store.ts'

export interface OutageRow {
  failures: number
  /** Keys of users. */
  failing_users: string[]
  opened_at: string | null
  probes: number
}

/** Undefined when the provider may be asked. */
export async function findOpenCircuit(sql: Sql, providerId: string): Promise<CircuitState | undefined> {
  return sql.maybeRow<CircuitState>(
    `select failing_since, true as open, probes,
       greatest(0, ceil(1000 * extract(epoch from ${toProbeAt('$2::timestamptz')} - $2::timestamptz)))::double precision as wait_ms
     from circuits where provider_id = $1 and opened_at is not null`,
    [providerId, sql.now()],
  )
}

/**
 * True for one caller when a probe has been due for `laterMs`; the others see the next one `leaseMs` away, in case this
 * one dies.
 */
export async function claimProbe(
  sql: Sql,
  providerId: string,
  { leaseMs, laterMs }: { leaseMs: number; laterMs: number },
): Promise<boolean> {
  const claimed = await sql.execute(
    `update circuits set probe_at = $3::timestamptz + make_interval(secs => $2::double precision / 1000)
     where provider_id = $1 and opened_at is not null
       and ${toProbeAt('$3::timestamptz')} <= $3::timestamptz - make_interval(secs => $4::double precision / 1000)`,
    [providerId, leaseMs, sql.now(), laterMs],
  )
  return claimed === 1
}

/**
 * The row, locked for this transaction; inserted at the first failure. One statement, because between an insert and a
 * select an answer may come and delete the row.
 */
export async function lockOutage(tx: Sql, providerId: string): Promise<OutageRow> {
  return tx.row<OutageRow>(
    `insert into circuits as c (provider_id, failures, failing_users, failing_since) values ($1, 0, '{}', $2::timestamptz)
     on conflict (provider_id) do update set failures = c.failures
     returning failures, failing_users::text[], opened_at, probes`,
    [providerId, tx.now()],
  )
}

export async function writeOutage(
  tx: Sql,
  providerId: string,
  next: { failures: number; failingUsers: readonly string[]; probes: number; probeInMs: number | null },
): Promise<void> {
  await tx.execute(
    `update circuits set failures = $2, failing_users = $3::bigint[], probes = $4,
       opened_at = case when $5::double precision is null then opened_at else coalesce(opened_at, $6::timestamptz) end,
       probe_at = coalesce($6::timestamptz + make_interval(secs => $5::double precision / 1000), probe_at)
     where provider_id = $1`,
    [providerId, next.failures, next.failingUsers, next.probes, next.probeInMs, tx.now()],
  )
}

/** True when there was an outage to end. */
export async function deleteOutage(sql: Sql, providerId: string): Promise<boolean> {
  return (await sql.execute('delete from circuits where provider_id = $1', [providerId])) === 1
}
