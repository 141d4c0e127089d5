/** All SQL over webhooks and their messages. */
import type { Sql } from '../db/index.ts'
import { isNotQueued } from '../jobs/index.ts'

/** A new address begins without the failures of the old one, and is told at once what that one did not take. */
export async function putWebhook(sql: Sql, tenantId: string, url: string, sealedSecret: string): Promise<void> {
  await sql.execute(
    `insert into webhooks (tenant_id, url, sealed_secret) values ($1, $2, $3)
     on conflict (tenant_id) do update
     set url = excluded.url, sealed_secret = excluded.sealed_secret, failures = 0, paused_until = null`,
    [tenantId, url, sealedSecret],
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

/** False when it was set anew meanwhile: what was set wins. */
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

/** False when the tenant wants to hear nothing. */
export async function insertMessage(sql: Sql, { tenantId, id, connectionId, body }: Message): Promise<boolean> {
  const inserted = await sql.execute(
    `insert into webhook_messages (tenant_id, id, connection_id, body)
     select tenant_id, $2, $3, $4 from webhooks where tenant_id = $1`,
    [tenantId, id, connectionId, body],
  )
  return inserted === 1
}

/** Of what waits, the first about its connection: the others stand behind it. */
const isFirst = `m.ended_at is null and not exists (
  select from webhook_messages e
  where e.tenant_id = m.tenant_id and e.connection_id = m.connection_id and e.seq < m.seq and e.ended_at is null)`

export interface Delivery {
  id: string
  body: string
  /** With this one. */
  attempts: number
  age_ms: number
  url: string
  sealed_secret: string
}

/**
 * The next message that may be sent, for this long. `due_at` is asked again outside of the search: of two who found the
 * same message, the later one waits for the row and then sees that it is taken.
 */
export async function claimNext(sql: Sql, tenantId: string, claimMs: number): Promise<Delivery | undefined> {
  return sql.maybeRow<Delivery>(
    `update webhook_messages m
     set attempts = m.attempts + 1, due_at = assay_now() + make_interval(secs => $2::double precision / 1000)
     from webhooks w
     where m.tenant_id = $1 and m.ended_at is null and m.due_at <= assay_now() and m.seq = (
         select m.seq from webhook_messages m where m.tenant_id = $1 and m.due_at <= assay_now() and ${isFirst}
         order by m.seq limit 1)
       and w.tenant_id = $1 and (w.paused_until is null or w.paused_until <= assay_now())
     returning m.id, m.body, m.attempts, w.url, w.sealed_secret,
       (extract(epoch from assay_now() - m.created_at) * 1000)::float8 as age_ms`,
    [tenantId, claimMs],
  )
}

/** How long until the next may be sent; undefined when nothing waits, or there is no webhook any more. */
export async function findWaitMs(sql: Sql, tenantId: string): Promise<number | undefined> {
  const row = await sql.maybeRow<{ wait_ms: number }>(
    `select greatest(0, extract(epoch from greatest(min(m.due_at), w.paused_until) - assay_now()) * 1000)::float8 as wait_ms
     from webhooks w join webhook_messages m on m.tenant_id = w.tenant_id
     where w.tenant_id = $1 and ${isFirst} group by w.paused_until`,
    [tenantId],
  )
  return row?.wait_ms
}

export async function endMessage(sql: Sql, tenantId: string, id: string, outcome: string): Promise<void> {
  await sql.execute(
    'update webhook_messages set ended_at = assay_now(), outcome = $3 where tenant_id = $1 and id = $2',
    [tenantId, id, outcome],
  )
}

export async function putAside(sql: Sql, tenantId: string, id: string, delayMs: number): Promise<void> {
  await sql.execute(
    `update webhook_messages set due_at = assay_now() + make_interval(secs => $3::double precision / 1000)
     where tenant_id = $1 and id = $2 and ended_at is null`,
    [tenantId, id, delayMs],
  )
}

/** The attempt was broken off by us: it does not count. */
export async function putBack(sql: Sql, tenantId: string, id: string): Promise<void> {
  await sql.execute(
    `update webhook_messages set attempts = attempts - 1, due_at = assay_now()
     where tenant_id = $1 and id = $2 and ended_at is null`,
    [tenantId, id],
  )
}

/** How many in a row, with this one. Zero when the webhook was removed meanwhile. */
export async function countFailure(sql: Sql, tenantId: string): Promise<number> {
  const row = await sql.maybeRow<{ failures: number }>(
    'update webhooks set failures = failures + 1 where tenant_id = $1 returning failures',
    [tenantId],
  )
  return row?.failures ?? 0
}

export async function pause(sql: Sql, tenantId: string, pauseMs: number): Promise<void> {
  await sql.execute(
    `update webhooks set paused_until = assay_now() + make_interval(secs => $2::double precision / 1000)
     where tenant_id = $1`,
    [tenantId, pauseMs],
  )
}

/** It answers. How often it had failed in a row before. */
export async function forgetFailures(sql: Sql, tenantId: string): Promise<number> {
  const row = await sql.maybeRow<{ failures: number }>(
    `update webhooks w set failures = 0, paused_until = null
     from (select failures from webhooks where tenant_id = $1 for update) was
     where w.tenant_id = $1 and w.failures > 0 returning was.failures`,
    [tenantId],
  )
  return row?.failures ?? 0
}

/** Everything that waits may be sent now. */
export async function hasten(sql: Sql, tenantId: string): Promise<void> {
  await sql.execute('update webhook_messages set due_at = assay_now() where tenant_id = $1 and ended_at is null', [
    tenantId,
  ])
}

export async function deleteWaiting(sql: Sql, tenantId: string): Promise<void> {
  await sql.execute('delete from webhook_messages where tenant_id = $1 and ended_at is null', [tenantId])
}

/** A receiver that has failed for days is tried with one message at a time: the others would pile up behind it. */
export async function giveUpOld(sql: Sql, failuresMin: number, ageMs: number, limit: number): Promise<number> {
  return sql.execute(
    `update webhook_messages set ended_at = assay_now(), outcome = 'given up'
     where (tenant_id, id) in (
       select m.tenant_id, m.id from webhook_messages m join webhooks w on w.tenant_id = m.tenant_id
       where m.ended_at is null and w.failures >= $1
         and m.created_at < assay_now() - make_interval(secs => $2::double precision / 1000)
       order by m.tenant_id, m.seq limit $3 for update of m skip locked)`,
    [failuresMin, ageMs, limit],
  )
}

/** Tenants with messages that are due for so long and have no job: a queue that was emptied, or restored without them. */
export async function listUnattended(sql: Sql, dueForMs: number): Promise<string[]> {
  const rows = await sql.rows<{ tenant_id: string }>(
    `select w.tenant_id from webhooks w
     where (w.paused_until is null or w.paused_until <= assay_now())
       and exists (
         select from webhook_messages m where m.tenant_id = w.tenant_id and m.ended_at is null
           and m.due_at < assay_now() - make_interval(secs => $1::double precision / 1000))
       and ${isNotQueued("'webhook:' || w.tenant_id")}`,
    [dueForMs],
  )
  return rows.map((row) => row.tenant_id)
}

/** What ended a week ago, and what was written in the moment in which its webhook was removed. */
export async function deletePast(sql: Sql, limit: number): Promise<number> {
  return sql.execute(
    `delete from webhook_messages where (tenant_id, id) in (
       select m.tenant_id, m.id from webhook_messages m
       where m.ended_at < assay_now() - interval '7 days'
         or (m.ended_at is null and not exists (select from webhooks w where w.tenant_id = m.tenant_id))
       limit $1 for update skip locked)`,
    [limit],
  )
}
