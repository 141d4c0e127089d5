/**
 * One signed webhook for each tenant: `connection.changed`. Signed as Standard Webhooks asks
 * (https://www.standardwebhooks.com: webhook-id, webhook-timestamp, webhook-signature), tried again for about a day.
 * In which order, and who waits for whom, is deliver.ts.
 *
 * A message is written in the transaction that changes what it speaks of, so none is lost and none tells of something
 * that was rolled back. It says that something changed, not what it is worth: the receiver reads the API for that.
 */
import { invalidParameter } from '@assay/core'
import { z } from 'zod'
import type { Sql } from '../db/index.ts'
import type { Task } from '../jobs/index.ts'
import type { SealReport } from '../sealing.ts'
import { deliver, deliveryKey, queueDelivery, sweepMessages, type DeliverDeps } from './deliver.ts'
import { resealSecrets, sealSecret } from './secrets.ts'
import * as store from './store.ts'

export { checkSecrets } from './secrets.ts'

export interface ConnectionChange {
  change: 'read' | 'needs_repair' | 'removed' | 'revoked'
  tenantId: string
  userId: string
  connectionId: string
}

export interface Webhooks {
  /** Returns the signing secret, which is shown once. */
  set(tenantId: string, url: string): Promise<string>
  remove(tenantId: string): Promise<boolean>
  findUrl(tenantId: string): Promise<string | undefined>
  announce(tx: Sql, change: ConnectionChange): Promise<void>
  /** The job that delivers what waits for a tenant. */
  task: Task
  /** Seals with the newest key what an older one sealed; `lost` names tenants. */
  reseal(): Promise<SealReport & { resealed: number }>
  sweep(): Promise<void>
}

export interface WebhooksDeps extends DeliverDeps {
  randomBytes(size: number): Buffer
  /** Sandbox mode: the receiver is on this machine. */
  loopbackOnly: boolean
}

const secretBytes = 32

const payloadSchema = z.object({ tenant_id: z.string() })

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const { db, keyring } = deps

  return {
    async set(tenantId, url) {
      checkUrl(url, deps.loopbackOnly)
      const secret = `whsec_${deps.randomBytes(secretBytes).toString('base64')}`
      const sealed = await sealSecret(keyring, tenantId, secret)
      await db.transaction(async (tx) => {
        await store.putWebhook(tx, tenantId, url, sealed)
        await store.hasten(tx, tenantId)
        await queueDelivery(tx, tenantId, deliveryKey(tenantId))
      })
      return secret
    },

    remove: (tenantId) =>
      db.transaction(async (tx) => {
        const removed = await store.deleteWebhook(tx, tenantId)
        await store.deleteWaiting(tx, tenantId)
        return removed
      }),
    findUrl: (tenantId) => store.findUrl(db, tenantId),

    async announce(tx, { change, tenantId, userId, connectionId }) {
      const id = `msg_${deps.randomBytes(16).toString('hex')}`
      const body = JSON.stringify({
        type: 'connection.changed',
        timestamp: new Date(deps.now()).toISOString(),
        data: { change, user_id: userId, connection_id: connectionId },
      })
      const wanted = await store.insertMessage(tx, { tenantId, id, connectionId, body })
      // A job of its own: with a key for each tenant, every transaction that announces would wait for the one before it.
      if (wanted) await queueDelivery(tx, tenantId, `webhook:${id}`)
    },

    task: (payload, signal) => deliver(deps, payloadSchema.parse(payload).tenant_id, signal),
    reseal: () => resealSecrets(db, keyring),
    sweep: () => sweepMessages(deps),
  }
}

/** Set by the operator, never by a user: the service calls it from inside the operator's own network. */
function checkUrl(url: string, loopbackOnly: boolean): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const loopback = parsed !== undefined && /^(127(\.\d+){3}|localhost|\[::1\])$/.test(parsed.hostname)
  if (loopbackOnly && !loopback) throw invalidParameter('url', 'must be on a loopback address in sandbox mode')
  if (parsed?.protocol === 'https:' || (loopback && parsed.protocol === 'http:')) return
  throw invalidParameter('url', 'must be https, or http on a loopback address')
}
