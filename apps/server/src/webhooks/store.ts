/** All SQL over webhooks and their messages. */
import type { Sql } from '../db/index.ts'

export async function putWebhook(sql: Sql, tenantId: string, url: string, sealedSecret: string): Promise<void> {
  await sql.execute(
    `insert into webhooks (tenant_id, url, sealed_secret) values ($1, $2, $3)
     on conflict (tenant_id) do update set url = excluded.url, sealed_secret = excluded.sealed_secret`,
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
  url: string
  sealed_secret: string
}

export async function listWebhooks(sql: Sql): Promise<WebhookRow[]> {
  return sql.rows<WebhookRow>('select tenant_id, url, sealed_secret from webhooks order by tenant_id')
}

export async function replaceSecret(sql: Sql, row: WebhookRow, sealedSecret: string): Promise<void> {
  await sql.execute('update webhooks set sealed_secret = $2 where tenant_id = $1 and sealed_secret = $3', [
    row.tenant_id,
    sealedSecret,
    row.sealed_secret,
  ])
}

/** False when the tenant wants to hear nothing. */
export async function insertMessage(sql: Sql, tenantId: string, id: string, body: string): Promise<boolean> {
  const inserted = await sql.execute(
    `insert into webhook_messages (tenant_id, id, body)
     select tenant_id, $2, $3 from webhooks where tenant_id = $1`,
    [tenantId, id, body],
  )
  return inserted === 1
}

export interface Delivery {
  url: string
  sealed_secret: string
  body: string
  attempts: number
}

/** Counts the attempt before it is made: a process that is killed during one does not repeat it for ever. */
export async function claimDelivery(sql: Sql, tenantId: string, id: string): Promise<Delivery | undefined> {
  return sql.maybeRow<Delivery>(
    `update webhook_messages m set attempts = m.attempts + 1 from webhooks w
     where m.tenant_id = $1 and m.id = $2 and m.ended_at is null and w.tenant_id = m.tenant_id
     returning w.url, w.sealed_secret, m.body, m.attempts`,
    [tenantId, id],
  )
}

export async function endMessage(sql: Sql, tenantId: string, id: string, outcome: string): Promise<void> {
  await sql.execute(
    'update webhook_messages set ended_at = assay_now(), outcome = $3 where tenant_id = $1 and id = $2',
    [tenantId, id, outcome],
  )
}

export async function deleteEnded(sql: Sql): Promise<void> {
  await sql.execute("delete from webhook_messages where ended_at < assay_now() - interval '7 days'", [])
}
