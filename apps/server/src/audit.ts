/**
 * The audit log's entries, written in the transaction that makes the change: an entry without its change, or a change
 * without its entry, cannot be committed. Entries hold ids and the names of fields, never values. They are appended
 * without a lock, so that writers never wait for each other; a job chains them afterwards (audit-log).
 */
import type { Sql } from './db/index.ts'

export type AuditAction =
  | 'tenant.created'
  | 'tenants.read'
  | 'client.created'
  | 'client.updated'
  | 'client.disabled'
  | 'clients.read'
  | 'secret.rotated'
  | 'login_key.added'
  | 'login_key.removed'
  | 'login_keys.read'
  | 'webhook.set'
  | 'webhook.removed'
  | 'webhook.tested'
  | 'webhook.resent'
  | 'webhook.read'
  | 'keys.rotated'
  | 'keys.forgotten'
  | 'keys.withdrawn'
  | 'price.corrected'
  | 'ledger.replayed'
  | 'ledger.read'
  | 'ledger.discarded'
  | 'statistics.rebuilt'
  | 'audit.read'
  | 'consent.given'
  | 'grant.given'
  | 'grant.revoked'
  | 'grant.ended'
  | 'tokens.replayed'
  | 'user.deleted'
  | 'connection.added'
  | 'connection.repaired'
  | 'connection.removed'

/** `service`: the service acted by itself, for example when a session lapsed. */
export type AuditActor = 'operator' | 'tenant' | 'application' | 'user' | 'service'

export interface AuditEntry {
  /** Null for what concerns the whole installation. */
  tenantId: string | null
  actor: AuditActor
  action: AuditAction
  /** An id. */
  subject: string
  /** Names of what was set or read. */
  fields?: readonly string[]
  /** Whom it concerns. */
  userId?: string | undefined
  clientId?: string | undefined
  providerId?: string | undefined
}

export async function recordAudit(sql: Pick<Sql, 'execute' | 'now'>, entry: AuditEntry): Promise<void> {
  await sql.execute(
    `insert into audit_entries (tenant_id, at, actor, action, subject, fields, user_id, client_id, provider_id)
     values ($1, $2::timestamptz, $3, $4, $5, $6, $7, $8, $9)`,
    [
      entry.tenantId ?? '',
      sql.now(),
      entry.actor,
      entry.action,
      entry.subject,
      entry.fields ?? [],
      entry.userId ?? null,
      entry.clientId ?? null,
      entry.providerId ?? null,
    ],
  )
}
