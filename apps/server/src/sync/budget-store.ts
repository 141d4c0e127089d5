/**
 * All SQL over `budgets` and `key_nonces`: whether a provider may be called now, and by whom. Times are the caller's
 * present by the database's clock.
 */
import type { Sql } from '../db/index.ts'

export interface Tier {
  capacity: number
  refillPerSecond: number
}

export interface TokenRequest {
  bucket: string
  tiers: readonly Tier[]
  cost: number
  /** The part of the bucket that has to stay for others. */
  share: number
}

/**
 * The tokens of bucket `b` at this moment, by its tier; $2 and $3 are the tiers' capacities and refills, $6 is the
 * present. A clock that was set back takes none away.
 */
const tokensNow = `least(($2::double precision[])[b.tier + 1],
  b.tokens + ($3::double precision[])[b.tier + 1] *
    greatest(0, extract(epoch from $6::timestamptz - b.refilled_at))::double precision)`

/** What has to be there: the cost, and beside it the share of the bucket ($5) that is left to others. */
const tokensNeeded = `least(($2::double precision[])[b.tier + 1],
  $4::double precision + $5::double precision * ($2::double precision[])[b.tier + 1])`

/** Takes the tokens if they are there. One statement over one row, so the whole fleet shares the bucket without a lock. */
const takeIf = (condition: string): string => `
  insert into budgets as b (bucket, tokens, refilled_at)
  select $1::text, ($2::double precision[])[1] - $4::double precision, $6::timestamptz where ${condition}
  on conflict (bucket) do update
    set tokens = ${tokensNow} - $4::double precision, refilled_at = $6::timestamptz, blocked_until = null
    where ${tokensNow} >= ${tokensNeeded} and coalesce(b.blocked_until, $6::timestamptz) <= $6::timestamptz
  returning bucket`

/** How long until they are there. A bucket that another process makes at this moment is not seen: asked again at once. */
const waitMs = `coalesce((
  select ceil(1000 * greatest(
    (${tokensNeeded} - ${tokensNow}) / ($3::double precision[])[b.tier + 1],
    extract(epoch from coalesce(b.blocked_until, $6::timestamptz) - $6::timestamptz)::double precision, 0.001))
  from budgets b where b.bucket = $1::text), 1)::double precision`

const toValues = (sql: Sql, { bucket, tiers, cost, share }: TokenRequest): unknown[] => [
  bucket,
  tiers.map(({ capacity }) => capacity),
  tiers.map(({ refillPerSecond }) => refillPerSecond),
  cost,
  share,
  sql.now(),
]

/** Zero when the tokens were taken; otherwise nothing was, and it is how long until they are there. */
export async function takeTokens(sql: Sql, request: TokenRequest): Promise<{ waitMs: number }> {
  const row = await sql.row<{ taken: boolean; wait_ms: number }>(
    `with taken as (${takeIf('true')}) select exists (select from taken) as taken, ${waitMs} as wait_ms`,
    toValues(sql, request),
  )
  return { waitMs: row.taken ? 0 : row.wait_ms }
}

export interface CircuitState {
  failing_since: string
  open: boolean
  /** Until it may be asked again; zero when a probe is due. */
  wait_ms: number
}

export interface CallRequest extends TokenRequest {
  /** Null when the circuit was looked at before, by the same job. */
  providerId: string | null
  keyLane: string
  /** The last nonce that this job reserved, or what to reserve when it has none yet. */
  nonces: { last: bigint } | { atLeast: number; count: number }
}

export interface Admission {
  /** Zero when the call may be made. */
  waitMs: number
  /** False when another job has reserved nonces of this key since: then nothing was taken. */
  holdsKey: boolean
  /** The last nonce of those reserved now. */
  lastNonce: bigint | undefined
  /** Undefined while the provider answers. While it is open and no probe is due, nothing is taken. */
  circuit: CircuitState | undefined
}

/**
 * Whether a call may be made now: the budget, the fence around the key, and, for the first call of a job, the circuit.
 * One statement, because every call to a provider waits for it. The nonces are reserved with the first call, in one write
 * for the whole job, and two jobs never get the same: one updates the row after the other.
 */
export async function admitCall(sql: Sql, request: CallRequest): Promise<Admission> {
  const { nonces } = request
  const [last, atLeast, count] =
    'last' in nonces ? [nonces.last.toString(), 0, 0] : [null, nonces.atLeast, nonces.count]
  const row = await sql.row<{
    taken: boolean
    wait_ms: number
    holds_key: boolean
    last_nonce: string | null
    circuit: CircuitState | null
  }>(
    `with circuit as materialized (
       select failing_since, opened_at is not null as open,
         greatest(0, ceil(1000 * extract(epoch from coalesce(probe_at, $6::timestamptz) - $6::timestamptz)))::double precision
           as wait_ms
       from circuits where provider_id = $7::text
     ), fence as materialized (
       select $9::bigint is null
         or exists (select from key_nonces where key_lane = $8::text and high_water = $9::bigint) as held
     ), taken as (
       ${takeIf('(select held from fence) and not exists (select from circuit where open and wait_ms > 0)')}
     ), reserved as (
       insert into key_nonces as k (key_lane, high_water)
       select $8::text, $10::bigint + $11::bigint from taken where $9::bigint is null
       on conflict (key_lane) do update set high_water = greatest(k.high_water + 1, $10::bigint) + $11::bigint
       returning high_water
     )
     select exists (select from taken) as taken, ${waitMs} as wait_ms, (select held from fence) as holds_key,
       (select high_water from reserved) as last_nonce, (select row_to_json(circuit) from circuit) as circuit`,
    [...toValues(sql, request), request.providerId, request.keyLane, last, atLeast, count],
  )
  return {
    waitMs: row.taken ? 0 : row.wait_ms,
    holdsKey: row.holds_key,
    lastNonce: row.last_nonce === null ? undefined : BigInt(row.last_nonce),
    circuit: row.circuit ?? undefined,
  }
}

/** The provider said "too many": the bucket is empty, the tier was a wrong guess, and no job asks again before then. */
export async function lowerTier(sql: Sql, bucket: string, tiersCount: number, forMs: number): Promise<void> {
  await sql.execute(
    `insert into budgets as b (bucket, tokens, refilled_at, blocked_until)
     values ($1, 0, $4::timestamptz, $4::timestamptz + make_interval(secs => $2::double precision / 1000))
     on conflict (bucket) do update
       set tokens = 0, refilled_at = $4::timestamptz, tier = least(b.tier + 1, $3::int - 1),
           blocked_until = greatest(b.blocked_until, excluded.blocked_until)`,
    [bucket, forMs, tiersCount, sql.now()],
  )
}
