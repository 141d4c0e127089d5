/** All SQL over webhooks and their messages. */
import type { Sql } from '../db/index.ts'
import { isDue, isNotQueued } from '../jobs/index.ts'

/** A new address begins without the failures of the old one, and gets the waiting messages at once. */
export async function putWebhook(sql: Sql, tenantId: string, url: string, sealedSecret: string): Promise<void> {
  await sql.execute(
    `insert into webhooks (tenant_id, url, sealed_secret, created_at) values ($1, $2, $3, $4::timestamptz)
     on conflict (tenant_id) do update
     set url = excluded.url, sealed_secret = excluded.sealed_secret, failures = 0, paused_until = null, recovering = true`,
    [tenantId, url, sealedSecret, sql.now()],
  )
}

export async function deleteWebhook(sql: Sql, tenantId: string): Promise<boolean> {
  return (await sql.execute('delete from webhooks where tenant_id = $1', [tenantId])) === 1
}

export async function findUrl(sql: Sql, tenantId: string): Promise<string | undefined> {
  return (await sql.maybeRow<{ url: string }>('select url from webhooks where tenant_id = $1', [tenantId]))?.url
}

export interface WebhookRow {
  tenant_id: string
  sealed_secret: string
}

export async function listWebhooks(sql: Sql): Promise<WebhookRow[]> {
  return sql.rows<WebhookRow>('select tenant_id, sealed_secret from webhooks order by tenant_id')
}

/** False when the secret was set again in the meantime: the new one stays. */
export async function replaceSecret(sql: Sql, row: WebhookRow, sealedSecret: string): Promise<boolean> {
  const replaced = await sql.execute(
    'update webhooks set sealed_secret = $2 where tenant_id = $1 and sealed_secret = $3',
    [row.tenant_id, sealedSecret, row.sealed_secret],
  )
  return replaced === 1
}

export interface Message {
  tenantId: string
  id: string
  connectionId: string
  body: string
}

/** False when the tenant has no webhook. */
export async function insertMessage(sql: Sql, { tenantId, id, connectionId, body }: Message): Promise<boolean> {
  const inserted = await sql.execute(
    `insert into webhook_messages (tenant_id, id, connection_id, body, created_at, due_at)
     select tenant_id, $2, $3, $4, $5::timestamptz, $5::timestamptz from webhooks where tenant_id = $1`,
    [tenantId, id, connectionId, body, sql.now()],
  )
  return inserted === 1
}

/**
 * The oldest messages of a tenant that are not aside, each with the first waiting message about the same connection.
 * Only that one may be sent. A tenant can have a million waiting messages, so every statement that looks for the next
 * one reads a bounded number of them. What it finds is compared with `id` as a value and not joined: for a tenant that
 * is new to the statistics, a join would read all of the tenant's messages.
 */
const nextWithFirst = `(
    select m.tenant_id, m.connection_id, m.id, m.seq, m.attempts from webhook_messages m
    where m.tenant_id = $1 and m.ended_at is null and not m.aside order by m.seq limit 100) next
  cross join lateral (
    select e.id, e.aside, e.due_at from webhook_messages e
    where e.tenant_id = next.tenant_id and e.connection_id = next.connection_id and e.ended_at is null
    order by e.seq limit 1) first`

export interface Delivery {
  id: string
  body: string
  /** This attempt included. */
  attempts: number
  age_ms: number
  url: string
  sealed_secret: string
}

/**
 * The next message that may be sent, reserved for this long. When two senders find the same message, the later one
 * waits for the row and then sees by its attempts that it is taken. Undefined also when many messages wait behind one
 * that is aside: `moveBlocked` takes them out of the search.
 */
export async function claimNext(sql: Sql, tenantId: string, claimMs: number): Promise<Delivery | undefined> {
  return sql.maybeRow<Delivery>(
    `update webhook_messages m
     set attempts = m.attempts + 1, aside = true,
       due_at = $2::timestamptz + make_interval(secs => $3::double precision / 1000)
     from webhooks w
     where m.tenant_id = $1 and (m.id, m.attempts) = (
         select next.id, next.attempts from ${nextWithFirst} where first.id = next.id order by next.seq limit 1)
       and w.tenant_id = $1 and (w.paused_until is null or w.paused_until <= $2::timestamptz)
     returning m.id, m.body, m.attempts, w.url, w.sealed_secret,
       (extract(epoch from $2::timestamptz - coalesce(m.resent_at, m.created_at)) * 1000)::float8 as age_ms`,
    [tenantId, sql.now(), claimMs],
  )
}

/** Puts messages aside until the one before them is due. Returns how many. */
export async function moveBlocked(sql: Sql, tenantId: string): Promise<number> {
  return sql.execute(
    `with blocked as materialized (
       select next.id, first.due_at as until from ${nextWithFirst} where first.aside)
     update webhook_messages m
     set aside = true, due_at = (select blocked.until from blocked where blocked.id = m.id)
     where m.tenant_id = $1 and m.id = any(array(select blocked.id from blocked))`,
    [tenantId],
  )
}

/** Takes back messages whose time aside is over. */
export async function takeBackDue(sql: Sql, tenantId: string, limit: number): Promise<void> {
  await sql.execute(
    `update webhook_messages set aside = false where tenant_id = $1 and id = any(array(
       select m.id from webhook_messages m
       where m.tenant_id = $1 and m.ended_at is null and m.aside and m.due_at <= $2::timestamptz
       order by m.due_at limit $3 for update skip locked))`,
    [tenantId, sql.now(), limit],
  )
}

/** How long until the next message may be sent; undefined when none waits, or the webhook was removed. */
export async function findWaitMs(sql: Sql, tenantId: string): Promise<number | undefined> {
  const isWaiting = 'm.tenant_id = $1 and m.ended_at is null'
  const row = await sql.maybeRow<{ wait_ms: number | null }>(
    `select extract(epoch from greatest(coalesce(
         (select $2::timestamptz from webhook_messages m where ${isWaiting} and not m.aside order by m.seq limit 1),
         (select m.due_at from webhook_messages m where ${isWaiting} and m.aside order by m.due_at limit 1)),
       w.paused_until) - $2::timestamptz)::float8 * 1000 as wait_ms
     from webhooks w where w.tenant_id = $1`,
    [tenantId, sql.now()],
  )
  return row === undefined || row.wait_ms === null ? undefined : Math.max(0, row.wait_ms)
}

export async function endMessage(sql: Sql, tenantId: string, id: string, outcome: string): Promise<void> {
  await sql.execute(
    'update webhook_messages set ended_at = $4::timestamptz, outcome = $3 where tenant_id = $1 and id = $2',
    [tenantId, id, outcome, sql.now()],
  )
}

export interface LoggedMessage {
  message_id: string
  type: string
  connection_id: string | null
  created_at: string
  /** When an operator asked for it again; null if it was sent only as it was written. */
  resent_at: string | null
  /** Since it was written, or since it was sent again. */
  attempts: number
  /** Not tried before, neither by its own wait nor by that of all messages of the tenant. */
  due_at: string
  /** Why the last attempt failed; null if none did. */
  last_failure: string | null
  ended_at: string | null
  /** Null while it waits. */
  outcome: string | null
}

/** Messages are kept for a week after they ended. */
export async function listMessages(sql: Sql, tenantId: string, limit: number): Promise<LoggedMessage[]> {
  return sql.rows<LoggedMessage>(
    `select m.id as message_id, m.body::jsonb->>'type' as type, m.body::jsonb->'data'->>'connection_id' as connection_id,
       m.created_at, m.resent_at, m.attempts, greatest(m.due_at, w.paused_until) as due_at, m.last_failure,
       m.ended_at, m.outcome
     from webhook_messages m left join webhooks w on w.tenant_id = m.tenant_id
     where m.tenant_id = $1 order by m.seq desc limit $2`,
    [tenantId, limit],
  )
}

/** When a waiting message may be tried next. Undefined when no waiting message has this id. */
export async function findDueAt(sql: Sql, tenantId: string, id: string): Promise<string | undefined> {
  const row = await sql.maybeRow<{ due_at: string }>(
    `select greatest(m.due_at, w.paused_until) as due_at
     from webhook_messages m left join webhooks w on w.tenant_id = m.tenant_id
     where m.tenant_id = $1 and m.id = $2 and m.ended_at is null`,
    [tenantId, id],
  )
  return row?.due_at
}

/** Makes it wait again, with all its attempts ahead of it. False when no ended message has this id. */
export async function reopenMessage(sql: Sql, tenantId: string, id: string): Promise<boolean> {
  const reopened = await sql.execute(
    `update webhook_messages set ended_at = null, outcome = null, last_failure = null, attempts = 0,
       resent_at = $3::timestamptz, due_at = $3::timestamptz, aside = false
     where tenant_id = $1 and id = $2 and ended_at is not null`,
    [tenantId, id, sql.now()],
  )
  return reopened === 1
}

export async function putAside(
  sql: Sql,
  tenantId: string,
  id: string,
  { failure, delayMs }: { failure: string; delayMs: number },
): Promise<void> {
  await sql.execute(
    `update webhook_messages
     set last_failure = $5, due_at = $4::timestamptz + make_interval(secs => $3::double precision / 1000)
     where tenant_id = $1 and id = $2 and ended_at is null`,
    [tenantId, id, delayMs, sql.now(), failure],
  )
}

/** We aborted the attempt ourselves, so it does not count. */
export async function putBack(sql: Sql, tenantId: string, id: string): Promise<void> {
  await sql.execute(
    `update webhook_messages set attempts = attempts - 1, due_at = $3::timestamptz, aside = false
     where tenant_id = $1 and id = $2 and ended_at is null`,
    [tenantId, id, sql.now()],
  )
}

/** Failures in a row, this one included. Zero when the webhook was removed in the meantime. */
export async function countFailure(sql: Sql, tenantId: string): Promise<number> {
  const row = await sql.maybeRow<{ failures: number }>(
    'update webhooks set failures = failures + 1 where tenant_id = $1 returning failures',
    [tenantId],
  )
  return row?.failures ?? 0
}

export async function pause(sql: Sql, tenantId: string, pauseMs: number): Promise<void> {
  await sql.execute(
    `update webhooks set paused_until = $3::timestamptz + make_interval(secs => $2::double precision / 1000)
     where tenant_id = $1`,
    [tenantId, pauseMs, sql.now()],
  )
}

/** Records that the receiver answers. True when it recovers, having failed this often in a row or longer. */
export async function forgetFailures(sql: Sql, tenantId: string, failuresMin: number): Promise<boolean> {
  const row = await sql.maybeRow<{ recovering: boolean }>(
    `update webhooks set failures = 0, paused_until = null, recovering = recovering or failures >= $2
     where tenant_id = $1 and failures > 0 returning recovering`,
    [tenantId, failuresMin],
  )
  return row?.recovering ?? false
}

export async function isRecovering(sql: Sql, tenantId: string): Promise<boolean> {
  return (await sql.maybeRow('select from webhooks where tenant_id = $1 and recovering', [tenantId])) !== undefined
}

/**
 * Takes back messages before their time, the longest waits first: what failed a moment ago has a short one. False when
 * that was all of them.
 */
export async function recoverSome(tx: Sql, tenantId: string, limit: number): Promise<boolean> {
  await tx.rows('select from webhooks where tenant_id = $1 for update', [tenantId])
  const recovered = await tx.execute(
    `update webhook_messages set aside = false, due_at = $2::timestamptz where tenant_id = $1 and id = any(array(
       select m.id from webhook_messages m where m.tenant_id = $1 and m.ended_at is null and m.aside
       order by m.due_at desc limit $3 for update skip locked))`,
    [tenantId, tx.now(), limit],
  )
  if (recovered === limit) return true
  await tx.execute('update webhooks set recovering = false where tenant_id = $1', [tenantId])
  return false
}

export async function deleteWaiting(sql: Sql, tenantId: string): Promise<void> {
  await sql.execute('delete from webhook_messages where tenant_id = $1 and ended_at is null', [tenantId])
}

/** A receiver that has failed for days gets one message at a time, so the others would pile up behind it. */
export async function giveUpOld(sql: Sql, failuresMin: number, ageMs: number, limit: number): Promise<number> {
  return sql.execute(
    `update webhook_messages set ended_at = $4::timestamptz, outcome = 'given up'
     where (tenant_id, id) in (
       select m.tenant_id, m.id from webhook_messages m join webhooks w on w.tenant_id = m.tenant_id
       where m.ended_at is null and w.failures >= $1
         and coalesce(m.resent_at, m.created_at) < $4::timestamptz - make_interval(secs => $2::double precision / 1000)
       order by m.tenant_id, m.connection_id, m.seq limit $3 for update of m skip locked)`,
    [failuresMin, ageMs, limit, sql.now()],
  )
}

/** A job waits that sends to the tenant's receiver, which takes long to answer. */
export async function isSlowDeliveryDue(sql: Sql, tenantId: string): Promise<boolean> {
  return (await sql.row<{ due: boolean }>(`select ${isDue('webhook', '$1::text', 'slow')} as due`, [tenantId])).due
}

/** Tenants with messages that have been due for this long without a job, because the queue was emptied or restored. */
export async function listUnattended(sql: Sql, dueForMs: number): Promise<string[]> {
  const rows = await sql.rows<{ tenant_id: string }>(
    `select w.tenant_id from webhooks w
     where (w.paused_until is null or w.paused_until <= $2::timestamptz)
       and exists (
         select from webhook_messages m where m.tenant_id = w.tenant_id and m.ended_at is null
           and m.due_at < $2::timestamptz - make_interval(secs => $1::double precision / 1000))
       and ${isNotQueued('webhook', 'w.tenant_id')}`,
    [dueForMs, sql.now()],
  )
  return rows.map((row) => row.tenant_id)
}

/** Messages that ended a week ago, and those written at the moment their webhook was removed. */
export async function deletePast(sql: Sql, limit: number): Promise<number> {
  return sql.execute(
    `delete from webhook_messages where (tenant_id, id) in (
       select m.tenant_id, m.id from webhook_messages m
       where m.ended_at < $2::timestamptz - interval '7 days'
         or (m.ended_at is null and not exists (select from webhooks w where w.tenant_id = m.tenant_id))
       limit $1 for update skip locked)`,
    [limit, sql.now()],
  )
}
