/**
 * All SQL over `budgets` and `key_nonces`: whether a provider may be called now, and by which job. Times are the
 * caller's present by the database's clock.
 */
import type { Sql } from '../db/index.ts'

/** What a call takes from one bucket. */
export interface BucketRequest {
  key: string
  /** By tier. */
  capacities: readonly number[]
  refills: readonly number[]
  cost: number
  /** By tier: what has to be left for others. */
  reserves: readonly number[]
  /** The bucket limits a call only if it has a row, which its first limit error makes. */
  isLazy?: boolean
  /** False for a key that must not be the first to try after a long wait. */
  mayTry?: boolean
}

/**
 * After a long wait one call tries whether the provider answers again, and the others come a little later. All of them
 * have waited for the same moment, and a provider that still refuses would see a full bucket of calls.
 */
const longBlock = "interval '1 minute'"
const trialTime = "interval '5 seconds'"
/**
 * How much later a key tries that is being checked, or was refused itself within the last hour: what it hears may be
 * meant for it alone. It tries only where no other key does.
 */
const laterTrial = "interval '1 minute'"
const isLateTrial = `l.blocked_until - l.refilled_at >= ${longBlock} and g."isLazy" is not true and (
  g."mayTry" is false or exists (select from given own join locked o on o.bucket = own.key
    where own."isLazy" and o.blocked_until > $3::timestamptz - interval '1 hour'))`

/**
 * The clock was set back since the bucket was last used. Its times are then moved as a whole, so that they lie as far
 * apart as before and end at the present. Otherwise an empty bucket would not be refilled, nor a wait end, before the
 * clock is where it was, which may take days. The clocks of two processes differ by less.
 */
const isAhead = "b.refilled_at > $3::timestamptz + interval '1 minute'"

/**
 * CTEs that take the tokens of every bucket in $1, or of none. The rows are locked in the order of their keys, so that
 * the whole fleet shares a bucket and two calls never wait for each other. $2 are the keys, $3 is the present.
 *
 * A bucket has no row before its first call. Two first calls at one moment both insert it: the second one meets the row
 * of the first, which it has not locked, and takes from it only what is there.
 */
const takeIf = (condition: string): string => `given as materialized (
    select g.* from jsonb_to_recordset($1::jsonb) as g (key text, capacities double precision[],
      refills double precision[], cost double precision, reserves double precision[], "isLazy" boolean, "mayTry" boolean)
  ), locked as materialized (
    select b.bucket, b.tokens, ${tierNow('b')} as tier,
      case when ${isAhead} then $3::timestamptz else b.refilled_at end as refilled_at,
      case when ${isAhead} then $3::timestamptz + (b.blocked_until - b.refilled_at) else b.blocked_until end as blocked_until
    from budgets b where b.bucket = any($2::text[]) order by b.bucket for update
  ), filled as materialized (
    select g.key, g.cost, coalesce(l.tier, 0) as tier, coalesce(${tokensNow('l', 'g')}, g.capacities[1]) as tokens,
      ${tokensNeeded('coalesce(l.tier, 0)')} as needed, g.refills[coalesce(l.tier, 0) + 1] as refill,
      greatest(0, extract(epoch from l.blocked_until - $3::timestamptz
        + case when ${isLateTrial} then ${laterTrial} else interval '0' end))::double precision as blocked_seconds,
      case when l.blocked_until - l.refilled_at >= ${longBlock} then $3::timestamptz + ${trialTime} end as others_at
    from given g left join locked l on l.bucket = g.key
    where l.bucket is not null or g."isLazy" is not true
  ), taken as (
    insert into budgets as b (bucket, tokens, tier, refilled_at, blocked_until)
    select f.key, f.tokens - f.cost, f.tier, coalesce(f.others_at, $3::timestamptz), f.others_at from filled f
    where ${condition} and not exists (select from filled s where s.tokens < s.needed or s.blocked_seconds > 0)
    order by f.key
    on conflict (bucket) do update
      set tokens = case when b.bucket in (select bucket from locked) then excluded.tokens
          else b.tokens - (select g.cost from given g where g.key = b.bucket) end,
        refilled_at = excluded.refilled_at,
        blocked_until = coalesce(excluded.blocked_until, (select l.blocked_until from locked l where l.bucket = b.bucket)),
        tier = case when excluded.blocked_until is null then b.tier else excluded.tier end
      where b.bucket in (select bucket from locked) or exists (
        select from given g where g.key = b.bucket and b.blocked_until is null and b.tokens >= ${tokensNeeded('b.tier')})
    returning b.bucket, b.tokens
  ), moved as (
    update budgets b set refilled_at = l.refilled_at, blocked_until = l.blocked_until from locked l
    where b.bucket = l.bucket and ${isAhead} and not exists (select from taken)
  )`

/**
 * Each hour without a limit error raises the tier by one. Providers count by the second or the minute, and one user can
 * cause limit errors of a bucket that all of them share. Where the lower tier was right, the next error restores it.
 */
const recoverySeconds = 3_600

/** `blocked_until` is the time of the last limit error, or the end of the wait that came with it and of the trial. */
function tierNow(row: string): string {
  return `greatest(0, ${row}.tier - floor(
    greatest(0, extract(epoch from $3::timestamptz - ${row}.blocked_until)) / ${recoverySeconds}))::int`
}

/** A clock that was set back takes no tokens away. */
function tokensNow(row: string, of: string, tier = `${row}.tier`): string {
  return `least(${of}.capacities[${tier} + 1], ${row}.tokens + ${of}.refills[${tier} + 1] *
    greatest(0, extract(epoch from $3::timestamptz - ${row}.refilled_at))::double precision)`
}

/** The tokens that must be available: the cost, plus what is left for others. */
function tokensNeeded(tier: string): string {
  return `least(g.capacities[${tier} + 1], g.cost + g.reserves[${tier} + 1])`
}

const isTaken = '(select count(*) from taken) = (select count(*) from filled)'

/** How long until every bucket has enough. A first call that lost against another retries at once. */
const waitMs = `coalesce((
  select ceil(1000 * greatest(max((needed - tokens) / refill), max(blocked_seconds), 0.001)) from filled), 1
)::double precision`

/**
 * The transaction of this statement commits without waiting for the disk, or for a standby. A crash gives back the
 * tokens of its last moments, and a call would otherwise wait for a flush before it is made: 3 to 7 ms on a cloud disk,
 * which a history of thousands of pages pays thousands of times.
 */
const withoutFlush = "set_config('synchronous_commit', 'off', true)"

function toValues(sql: Sql, buckets: readonly BucketRequest[]): unknown[] {
  return [JSON.stringify(buckets), buckets.map(({ key }) => key), sql.now()]
}

/** Zero when the tokens were taken; otherwise the wait until enough are available, and none were taken. */
export async function takeTokens(sql: Sql, buckets: readonly BucketRequest[]): Promise<{ waitMs: number }> {
  const row = await sql.row<{ taken: boolean; wait_ms: number }>(
    `with ${takeIf('true')} select ${isTaken} as taken, ${waitMs} as wait_ms, ${withoutFlush}`,
    toValues(sql, buckets),
  )
  return { waitMs: row.taken ? 0 : row.wait_ms }
}

/** Between the id of a provider and the name of its part. */
export const partSeparator = '/'

/**
 * A probe is never planned more than half an hour ahead. One that is further away was planned before the clock was set
 * back. It has been due for so long that a key that was never read may make it, too.
 */
export const toProbeAt = (present: string): string =>
  `case when probe_at > ${present} + interval '1 hour' then ${present} - interval '1 hour' else probe_at end`

export interface CircuitState {
  failing_since: string
  open: boolean
  /** How many got no answer since it opened. */
  probes: number
  /** The wait until it may be called again; zero when a probe is due. */
  wait_ms: number
}

export interface CallRequest {
  buckets: readonly BucketRequest[]
  /** Null when the same job has already checked the circuit. */
  providerId: string | null
  keyLane: string
  /** The last nonce that this job reserved, or what to reserve when it has none yet. */
  nonces: { last: bigint } | { atLeast: number; count: number }
}

export interface CallAdmission {
  /** Zero when the call may be made. */
  waitMs: number
  /** False when another job has reserved nonces of this key since: then nothing was taken. */
  holdsKey: boolean
  /** The last nonce of those reserved now. */
  lastNonce: bigint | undefined
  /** Undefined while the provider answers. While it is open and no probe is due, nothing is taken. */
  circuit: CircuitState | undefined
  /** The circuits of the provider's parts that do not answer, by name. */
  circuitsOfParts: ReadonlyMap<string, CircuitState>
  /** What is left in each bucket, when the call may be made. */
  left: ReadonlyMap<string, number>
}

/**
 * Whether a call may be made now: the budgets, the fence around the key, and, for the first call of a job, the circuit.
 * One statement, because every call to a provider waits for it. The nonces are reserved with the first call, in one
 * write for the whole job, and two jobs never get the same: one updates the row after the other. That write is durable:
 * a key whose nonces went back would be refused by its exchange.
 */
export async function admitCall(sql: Sql, request: CallRequest): Promise<CallAdmission> {
  const { nonces } = request
  const [last, atLeast, count] =
    'last' in nonces ? [nonces.last.toString(), 0, 0] : [null, nonces.atLeast, nonces.count]
  const row = await sql.row<{
    taken: boolean
    wait_ms: number
    holds_key: boolean
    last_nonce: string | null
    circuit: CircuitState | null
    circuits_of_parts: Record<string, CircuitState> | null
    left: Record<string, number> | null
  }>(
    `with failing as materialized (
       select provider_id, failing_since, opened_at is not null as open, probes,
         greatest(0, ceil(1000 * extract(epoch from coalesce(${toProbeAt('$3::timestamptz')}, $3::timestamptz) - $3::timestamptz)))::double precision
           as wait_ms
       from circuits where provider_id = $4::text or starts_with(provider_id, $4::text || '${partSeparator}')
     ), circuit as materialized (select * from failing where provider_id = $4::text
     ), fence as materialized (
       select $6::bigint is null
         or exists (select from key_nonces where key_lane = $5::text and high_water = $6::bigint) as held
     ), ${takeIf('(select held from fence) and not exists (select from circuit where open and wait_ms > 0)')},
     reserved as (
       insert into key_nonces as k (key_lane, high_water)
       select $5::text, $7::bigint + $8::bigint where $6::bigint is null and ${isTaken}
         and not exists (select from circuit where open and wait_ms > 0)
       on conflict (key_lane) do update set high_water = greatest(k.high_water + 1, $7::bigint) + $8::bigint
       returning high_water
     )
     select ${isTaken} as taken, ${waitMs} as wait_ms, (select held from fence) as holds_key,
       (select high_water from reserved) as last_nonce, (select row_to_json(circuit) from circuit) as circuit,
       (select json_object_agg(f.provider_id, row_to_json(f)) from failing f where f.provider_id <> $4::text)
         as circuits_of_parts,
       (select json_object_agg(bucket, tokens) from taken) as left,
       case when $6::bigint is not null then ${withoutFlush} end`,
    [...toValues(sql, request.buckets), request.providerId, request.keyLane, last, atLeast, count],
  )
  return {
    waitMs: row.taken ? 0 : row.wait_ms,
    holdsKey: row.holds_key,
    lastNonce: row.last_nonce === null ? undefined : BigInt(row.last_nonce),
    circuit: row.circuit ?? undefined,
    circuitsOfParts: new Map(Object.entries(row.circuits_of_parts ?? {})),
    left: new Map(Object.entries(row.left ?? {})),
  }
}

const unused = "($2::timestamptz - interval '30 minutes')"

/**
 * Deletes what is kept of a key, unless it was used within the last half hour or has to wait. If it comes back, its
 * nonces begin at the present, and so above all that were deleted.
 */
export async function forgetKey(sql: Sql, keyLane: string, buckets: readonly string[]): Promise<void> {
  const now = sql.now()
  await sql.execute(
    `delete from key_nonces where key_lane = $1 and high_water < extract(epoch from ${unused}) * 1000000`,
    [keyLane, now],
  )
  await sql.execute(
    `delete from budgets where bucket = any($1::text[]) and refilled_at < ${unused}
       and (blocked_until is null or blocked_until <= $2::timestamptz)`,
    [buckets, now],
  )
}

/**
 * The provider said "too many": empties the bucket and lowers the tier, and no job calls before `forMs` have passed.
 * `left`: how many tokens may stay.
 */
export async function lowerTier(sql: Sql, bucket: string, tiersCount: number, forMs: number, left = 0): Promise<void> {
  await sql.execute(
    `insert into budgets as b (bucket, tokens, tier, refilled_at, blocked_until)
     values ($1, $5::double precision, least(1, $4::int - 1), $3::timestamptz,
       $3::timestamptz + make_interval(secs => $2::double precision / 1000))
     on conflict (bucket) do update
       set tokens = least(b.tokens, excluded.tokens), refilled_at = $3::timestamptz, tier = least(${tierNow('b')} + 1, $4::int - 1),
           blocked_until = greatest(b.blocked_until, excluded.blocked_until)`,
    [bucket, forMs, sql.now(), tiersCount, left],
  )
}

/**
 * Remembers the last user whose key was refused in a bucket that all users share. True when another user's was within
 * the minute before: providers count by the second or the minute, so an address that is refused is refused to both.
 */
export async function noteLimited(sql: Sql, bucket: string, userKey: string): Promise<boolean> {
  const { shared } = await sql.row<{ shared: boolean }>(
    `with before as materialized (
       select limited_user, limited_at from budgets where bucket = $1 for update
     ), noted as (
       update budgets set limited_user = $2::bigint, limited_at = $3::timestamptz where bucket = $1
     )
     select exists (select from before
       where limited_user <> $2::bigint and limited_at > $3::timestamptz - interval '1 minute') as shared`,
    [bucket, userKey, sql.now()],
  )
  return shared
}

/** The provider reports its own count: leaves no more tokens than it says. */
export async function followSpent(
  sql: Sql,
  { key, capacities, refills }: Pick<BucketRequest, 'key' | 'capacities' | 'refills'>,
  used: number,
): Promise<void> {
  await sql.execute(
    `with given as (select $1::double precision[] as capacities, $2::double precision[] as refills)
     update budgets b set refilled_at = $3::timestamptz,
       tokens = least(${tokensNow('b', 'g', tierNow('b'))}, g.capacities[${tierNow('b')} + 1] - $4::double precision)
     from given g, (select ${withoutFlush}) s where b.bucket = $5::text`,
    [capacities, refills, sql.now(), used, key],
  )
}
