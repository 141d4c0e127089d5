/** All SQL over bookmarks, covered windows, failures and budgets. */
import type { Window } from '@assay/connectors'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { isNotQueued } from '../jobs/index.ts'

export interface Bookmark {
  window: Window
  position: string | null
}

const refOf = (ref: ConnectionRef): [string, string, string] => [ref.tenantId, ref.userId, ref.connectionId]
const toTime = (ms: number): string => new Date(ms).toISOString()

export async function findBookmark(sql: Sql, ref: ConnectionRef, stream: string): Promise<Bookmark | undefined> {
  const row = await sql.maybeRow<{ window_start: string; window_end: string; position: string | null }>(
    `select window_start, window_end, position from stream_bookmarks
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and stream = $4`,
    [...refOf(ref), stream],
  )
  if (row === undefined) return undefined
  return { window: toWindow(row), position: row.position }
}

/**
 * Moves from one place to the next, or says that somebody else did. That happens when a worker that was taken for dead
 * comes back: its page is refused as a whole instead of moving the bookmark backwards. The caller throws, and so takes
 * back what it wrote.
 */
export async function moveBookmark(
  sql: Sql,
  ref: ConnectionRef,
  stream: string,
  from: Bookmark | undefined,
  to: Bookmark,
): Promise<boolean> {
  const values = [...refOf(ref), stream, toTime(to.window.startMs), toTime(to.window.endMs), to.position]
  if (from === undefined) {
    const inserted = await sql.execute(
      `insert into stream_bookmarks (tenant_id, user_id, connection_id, stream, window_start, window_end, position)
       values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
      values,
    )
    return inserted === 1
  }
  const moved = await sql.execute(
    `update stream_bookmarks set window_start = $5, window_end = $6, position = $7
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and stream = $4
       and window_start = $8 and window_end = $9 and position is not distinct from $10`,
    [...values, toTime(from.window.startMs), toTime(from.window.endMs), from.position],
  )
  return moved === 1
}

/** The window cannot be read now and is left for later. Refused like a move when somebody else was there first. */
export async function dropBookmark(sql: Sql, ref: ConnectionRef, stream: string, from: Bookmark): Promise<boolean> {
  const dropped = await sql.execute(
    `delete from stream_bookmarks
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and stream = $4
       and window_start = $5 and window_end = $6 and position is not distinct from $7`,
    [...refOf(ref), stream, toTime(from.window.startMs), toTime(from.window.endMs), from.position],
  )
  return dropped === 1
}

export async function dropBookmarks(sql: Sql, ref: ConnectionRef): Promise<void> {
  await sql.execute(
    'delete from stream_bookmarks where tenant_id = $1 and user_id = $2 and connection_id = $3',
    refOf(ref),
  )
}

/** What is covered since then counts as not read. */
export async function distrustSince(sql: Sql, ref: ConnectionRef, stream: string, sinceMs: number): Promise<void> {
  await sql.execute(
    `with later as (
       delete from covered_windows where tenant_id = $1 and user_id = $2 and connection_id = $3 and stream = $4
         and window_start >= $5)
     update covered_windows set window_end = $5
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and stream = $4
       and window_start < $5 and window_end > $5`,
    [...refOf(ref), stream, toTime(sinceMs)],
  )
}

/**
 * The window was read to its end: what was two windows that touch becomes one. Refused like a move when somebody else
 * has moved the bookmark since.
 */
export async function closeWindow(
  sql: Sql,
  ref: ConnectionRef,
  stream: string,
  from: Bookmark | undefined,
  window: Window,
): Promise<boolean> {
  const left = await sql.rows<{ window_start: string; window_end: string; position: string | null }>(
    `delete from stream_bookmarks where tenant_id = $1 and user_id = $2 and connection_id = $3 and stream = $4
     returning window_start, window_end, position`,
    [...refOf(ref), stream],
  )
  const [found] = left.map((row): Bookmark => ({ window: toWindow(row), position: row.position }))
  if (!isSamePlace(found, from)) return false
  const touching = await sql.rows<{ window_start: string; window_end: string }>(
    `delete from covered_windows
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and stream = $4
       and window_start <= $6 and window_end >= $5
     returning window_start, window_end`,
    [...refOf(ref), stream, toTime(window.startMs), toTime(window.endMs)],
  )
  const all = [window, ...touching.map(toWindow)]
  await sql.execute(
    `insert into covered_windows (tenant_id, user_id, connection_id, stream, window_start, window_end)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      ...refOf(ref),
      stream,
      toTime(Math.min(...all.map(({ startMs }) => startMs))),
      toTime(Math.max(...all.map(({ endMs }) => endMs))),
    ],
  )
  return true
}

function isSamePlace(a: Bookmark | undefined, b: Bookmark | undefined): boolean {
  return a?.window.startMs === b?.window.startMs && a?.window.endMs === b?.window.endMs && a?.position === b?.position
}

export async function listCovered(sql: Sql, ref: ConnectionRef, stream: string): Promise<Window[]> {
  const rows = await sql.rows<{ window_start: string; window_end: string }>(
    `select window_start, window_end from covered_windows
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and stream = $4 order by window_start`,
    [...refOf(ref), stream],
  )
  return rows.map(toWindow)
}

/** Of every stream, oldest first. */
export async function listAllCovered(sql: Sql, ref: ConnectionRef): Promise<(Window & { stream: string })[]> {
  const rows = await sql.rows<{ stream: string; window_start: string; window_end: string }>(
    `select stream, window_start, window_end from covered_windows
     where tenant_id = $1 and user_id = $2 and connection_id = $3 order by window_start`,
    refOf(ref),
  )
  return rows.map((row) => ({ stream: row.stream, ...toWindow(row) }))
}

/** The owner's settled connections. */
export async function listReadable(
  sql: Sql,
  owner: { tenantId: string; userId: string },
): Promise<{ id: string; provider_id: string }[]> {
  return sql.rows(
    'select id, provider_id from readable_connections where tenant_id = $1 and user_id = $2 order by id',
    [owner.tenantId, owner.userId],
  )
}

/** Of one that was removed meanwhile nothing is kept. */
export async function countFailure(sql: Sql, ref: ConnectionRef, { anew }: { anew: boolean }): Promise<number> {
  const row = await sql.maybeRow<{ failures: number }>(
    `insert into sync_failures as f (tenant_id, user_id, connection_id, failures)
     select tenant_id, user_id, id, 1 from existing_connections
     where tenant_id = $1 and user_id = $2 and id = $3 for key share
     on conflict (tenant_id, user_id, connection_id) do update
       set failures = case when $4 then 1 else f.failures + 1 end
     returning failures`,
    [...refOf(ref), anew],
  )
  return row?.failures ?? 1
}

/** Overdue for long, or never begun, and without a job that would read them: the chain of their runs was broken. */
export async function listStalled(sql: Sql, limit: number): Promise<(ConnectionRef & { keyLane: string })[]> {
  return sql.rows(
    `select tenant_id as "tenantId", user_id as "userId", id as "connectionId", key_lane as "keyLane"
     from overdue_connections c where ${isNotQueued("'sync:' || c.id")} limit $1`,
    [limit],
  )
}

export async function clearFailures(sql: Sql, ref: ConnectionRef): Promise<void> {
  await sql.execute(
    'delete from sync_failures where tenant_id = $1 and user_id = $2 and connection_id = $3',
    refOf(ref),
  )
}

export async function forgetConnection(sql: Sql, ref: ConnectionRef): Promise<void> {
  const tables = ['stream_bookmarks', 'covered_windows', 'sync_failures', 'refresh_connections', 'refresh_cool_downs']
  for (const table of tables) {
    await sql.execute(`delete from ${table} where tenant_id = $1 and user_id = $2 and connection_id = $3`, refOf(ref))
  }
}

export interface Tier {
  capacity: number
  refillPerSecond: number
}

/**
 * The tokens of bucket `b` at this moment, by its tier; $2 and $3 are the tiers' capacities and refills. A clock that was
 * set back takes none away.
 */
const tokensNow = `least(($2::double precision[])[b.tier + 1],
  b.tokens + ($3::double precision[])[b.tier + 1] *
    greatest(0, extract(epoch from assay_now() - b.refilled_at))::double precision)`

/** What has to be there: the cost, and beside it the share of the bucket ($5) that is left to others. */
const tokensNeeded = `least(($2::double precision[])[b.tier + 1],
  $4::double precision + $5::double precision * ($2::double precision[])[b.tier + 1])`

/**
 * Takes `cost` tokens if they are there and `share` of the bucket stays; otherwise takes nothing and says how long until they are. One statement over
 * one row, so the whole fleet shares the bucket without a lock that outlives it.
 */
export async function takeTokens(
  sql: Sql,
  bucket: string,
  tiers: readonly Tier[],
  { cost, share }: { cost: number; share: number },
): Promise<{ waitMs: number }> {
  const values = [bucket, tiers.map(({ capacity }) => capacity), tiers.map((tier) => tier.refillPerSecond), cost, share]
  const taken = await sql.execute(
    `insert into budgets as b (bucket, tokens, refilled_at)
     values ($1, ($2::double precision[])[1] - $4::double precision, assay_now())
     on conflict (bucket) do update
       set tokens = ${tokensNow} - $4::double precision, refilled_at = assay_now(), blocked_until = null
       where ${tokensNow} >= ${tokensNeeded} and coalesce(b.blocked_until, assay_now()) <= assay_now()`,
    values,
  )
  if (taken === 1) return { waitMs: 0 }
  const { wait_ms } = await sql.row<{ wait_ms: number }>(
    `select ceil(1000 * greatest(
       (${tokensNeeded} - ${tokensNow}) / ($3::double precision[])[b.tier + 1],
       extract(epoch from coalesce(b.blocked_until, assay_now()) - assay_now())::double precision, 0.001)) as wait_ms
     from budgets b where b.bucket = $1`,
    values,
  )
  return { waitMs: wait_ms }
}

/** The provider said "too many": the bucket is empty, the tier was a wrong guess, and nobody asks again before then. */
export async function lowerTier(sql: Sql, bucket: string, tiersCount: number, forMs: number): Promise<void> {
  await sql.execute(
    `insert into budgets as b (bucket, tokens, refilled_at, blocked_until)
     values ($1, 0, assay_now(), assay_now() + make_interval(secs => $2::double precision / 1000))
     on conflict (bucket) do update
       set tokens = 0, refilled_at = assay_now(), tier = least(b.tier + 1, $3::int - 1),
           blocked_until = greatest(b.blocked_until, excluded.blocked_until)`,
    [bucket, forMs, tiersCount],
  )
}

function toWindow(row: { window_start: string; window_end: string }): Window {
  return { startMs: Date.parse(row.window_start), endMs: Date.parse(row.window_end) }
}
