/** All SQL over circuits. Times are the database's, so that the whole fleet agrees on when a probe is due. */
import type { Sql } from '../db/index.ts'

export interface OutageRow {
  failures: number
  failing_keys: string[]
  opened_at: string | null
  probes: number
}

interface OpenCircuit {
  failing_since: string
  /** Until somebody may ask again; zero when a probe is due. */
  wait_ms: number
}

/** Undefined when the provider may be asked as ever. */
export async function findOpenCircuit(sql: Sql, providerId: string): Promise<OpenCircuit | undefined> {
  return sql.maybeRow<OpenCircuit>(
    `select failing_since, greatest(0, ceil(1000 * extract(epoch from probe_at - assay_now())))::float8 as wait_ms
     from circuits where provider_id = $1 and opened_at is not null`,
    [providerId],
  )
}

/** True for one caller when a probe is due; the others see the next one `leaseMs` away, in case this one dies. */
export async function claimProbe(sql: Sql, providerId: string, leaseMs: number): Promise<boolean> {
  const claimed = await sql.execute(
    `update circuits set probe_at = assay_now() + make_interval(secs => $2::double precision / 1000)
     where provider_id = $1 and opened_at is not null and probe_at <= assay_now()`,
    [providerId, leaseMs],
  )
  return claimed === 1
}

/**
 * The row, locked for this transaction; made when this is the first failure. One statement: between an insert and a
 * select an answer may come and delete the row.
 */
export async function lockOutage(tx: Sql, providerId: string): Promise<OutageRow> {
  return tx.row<OutageRow>(
    `insert into circuits as c (provider_id, failures, failing_keys, failing_since) values ($1, 0, '{}', assay_now())
     on conflict (provider_id) do update set failures = c.failures
     returning failures, failing_keys, opened_at, probes`,
    [providerId],
  )
}

export async function writeOutage(
  tx: Sql,
  providerId: string,
  next: { failures: number; failingKeys: readonly string[]; probes: number; probeInMs: number | null },
): Promise<void> {
  await tx.execute(
    `update circuits set failures = $2, failing_keys = $3, probes = $4,
       opened_at = case when $5::double precision is null then opened_at else coalesce(opened_at, assay_now()) end,
       probe_at = coalesce(assay_now() + make_interval(secs => $5::double precision / 1000), probe_at)
     where provider_id = $1`,
    [providerId, next.failures, next.failingKeys, next.probes, next.probeInMs],
  )
}

/** True when there was an outage to end. */
export async function deleteOutage(sql: Sql, providerId: string): Promise<boolean> {
  return (await sql.execute('delete from circuits where provider_id = $1', [providerId])) === 1
}
