/** All SQL over webhooks and their messages. */
import type { Sql } from '../db/index.ts'
import { isNotQueued } from '../jobs/index.ts'

/** A new address begins without the failures of the old one. */
export async function putWebhook(sql: Sql, tenantId: string, url: string, sealedSecret: string): Promise<void> {
  await sql.execute(
    `insert into webhooks (tenant_id, url, sealed_secret, created_at) values ($1, $2, $3, $4::timestamptz)
     on conflict (tenant_id) do update
     set url = excluded.url, sealed_secret = excluded.sealed_secret, failures = 0, paused_until = null`,
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

/** The first waiting message about its connection: the others wait behind it. */
const isFirst = `m.ended_at is null and not exists (
  select from webhook_messages e
  where e.tenant_id = m.tenant_id and e.connection_id = m.connection_id and e.seq < m.seq and e.ended_at is null)`

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
 * The next message that may be sent, reserved for this long. `due_at` is checked again outside the search: when two
 * senders find the same message, the later one waits for the row and then sees that it is taken.
 */
export async function claimNext(sql: Sql, tenantId: string, claimMs: number): Promise<Delivery | undefined> {
  return sql.maybeRow<Delivery>(
    `update webhook_messages m
     set attempts = m.attempts + 1, due_at = $3::timestamptz + make_interval(secs => $2::double precision / 1000)
     from webhooks w
     where m.tenant_id = $1 and m.ended_at is null and m.due_at <= $3::timestamptz and m.seq = (
         select m.seq from webhook_messages m where m.tenant_id = $1 and m.due_at <= $3::timestamptz and ${isFirst}
         order by m.seq limit 1)
       and w.tenant_id = $1 and (w.paused_until is null or w.paused_until <= $3::timestamptz)
     returning m.id, m.body, m.attempts, w.url, w.sealed_secret,
       (extract(epoch from $3::timestamptz - coalesce(m.resent_at, m.created_at)) * 1000)::float8 as age_ms`,
    [tenantId, claimMs, sql.now()],
  )
}

/** How long until the next message may be sent; undefined when none waits, or the webhook was removed. */
export async function findWaitMs(sql: Sql, tenantId: string): Promise<number | undefined> {
  const row = await sql.maybeRow<{ wait_ms: number }>(
    `select greatest(0, extract(epoch from greatest(min(m.due_at), w.paused_until) - $2::timestamptz) * 1000)::float8 as wait_ms
     from webhooks w join webhook_messages m on m.tenant_id = w.tenant_id
     where w.tenant_id = $1 and ${isFirst} group by w.paused_until`,
    [tenantId, sql.now()],
  )
  return row?.wait_ms
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
       resent_at = $3::timestamptz, due_at = $3::timestamptz
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
    `update webhook_messages set attempts = attempts - 1, due_at = $3::timestamptz
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

/** Records that the receiver answers. Returns how often it had failed in a row before. */
export async function forgetFailures(sql: Sql, tenantId: string): Promise<number> {
  const row = await sql.maybeRow<{ failures: number }>(
    `update webhooks w set failures = 0, paused_until = null
     from (select failures from webhooks where tenant_id = $1 for update) was
     where w.tenant_id = $1 and w.failures > 0 returning was.failures`,
    [tenantId],
  )
  return row?.failures ?? 0
}

/** Makes every waiting message due now. */
export async function makeDueNow(sql: Sql, tenantId: string): Promise<void> {
  await sql.execute('update webhook_messages set due_at = $2::timestamptz where tenant_id = $1 and ended_at is null', [
    tenantId,
    sql.now(),
  ])
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
       order by m.tenant_id, m.seq limit $3 for update of m skip locked)`,
    [failuresMin, ageMs, limit, sql.now()],
  )
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
