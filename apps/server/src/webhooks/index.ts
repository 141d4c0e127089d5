/**
 * One signed webhook for each tenant: `connection.changed`. Signed as Standard Webhooks asks
 * (https://www.standardwebhooks.com: webhook-id, webhook-timestamp, webhook-signature), tried again for about a day.
 *
 * A message is written in the transaction that changes what it speaks of, so none is lost and none tells of something
 * that was rolled back. It says that something changed, not what it is worth: the receiver reads the API for that.
 */
import { invalidParameter } from '@assay/core'
import { createHmac } from 'node:crypto'
import { z } from 'zod'
import type { Database, Sql } from '../db/index.ts'
import { addJob, type Task } from '../jobs/index.ts'
import type { Keyring } from '../keys.ts'
import { openText, sealKeyName, sealText } from '../sealing.ts'
import * as store from './store.ts'

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
  /** The job that delivers one message. */
  task: Task
  reseal(): Promise<number>
  sweep(): Promise<void>
}

export interface WebhooksDeps {
  db: Database
  keyring: Keyring
  fetch: typeof globalThis.fetch
  now(): number
  randomBytes(size: number): Buffer
  /** Sandbox mode: the receiver is on this machine. */
  loopbackOnly: boolean
  /** Divides every wait, in sandbox mode. */
  pace: number
}

const timeoutMs = 10_000
/** After the first attempt: five seconds, minutes, hours; about a day in all. */
const retryDelaysMs = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000]
const secretBytes = 32

const payloadSchema = z.object({ tenant_id: z.string(), message_id: z.string() })

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const { db, keyring } = deps
  const boundTo = (tenantId: string): string => `webhook ${tenantId}`

  return {
    async set(tenantId, url) {
      checkUrl(url, deps.loopbackOnly)
      const secret = `whsec_${deps.randomBytes(secretBytes).toString('base64')}`
      await store.putWebhook(db, tenantId, url, await sealText(keyring, boundTo(tenantId), secret))
      return secret
    },

    remove: (tenantId) => store.deleteWebhook(db, tenantId),
    findUrl: (tenantId) => store.findUrl(db, tenantId),

    async announce(tx, { change, tenantId, userId, connectionId }) {
      const id = `msg_${deps.randomBytes(16).toString('hex')}`
      const body = JSON.stringify({
        type: 'connection.changed',
        timestamp: new Date(deps.now()).toISOString(),
        data: { change, user_id: userId, connection_id: connectionId },
      })
      if (await store.insertMessage(tx, tenantId, id, body)) await queue(tx, tenantId, id, 0)
    },

    async task(payload) {
      const { tenant_id: tenantId, message_id: id } = payloadSchema.parse(payload)
      const delivery = await store.claimDelivery(db, tenantId, id)
      if (delivery === undefined) return
      const secret = await openText(keyring, boundTo(tenantId), delivery.sealed_secret)
      const outcome = await send(deps, delivery, id, secret)
      const delayMs = retryDelaysMs[delivery.attempts - 1]
      if (outcome === 'delivered' || delayMs === undefined) await store.endMessage(db, tenantId, id, outcome)
      else await queue(db, tenantId, id, delayMs / deps.pace)
    },

    async reseal() {
      const [newest] = keyring.sealing
      const old = (await store.listWebhooks(db)).filter((row) => sealKeyName(row.sealed_secret) !== newest.name)
      for (const row of old) {
        const secret = await openText(keyring, boundTo(row.tenant_id), row.sealed_secret)
        await store.replaceSecret(db, row, await sealText(keyring, boundTo(row.tenant_id), secret))
      }
      return old.length
    },

    sweep: () => store.deleteEnded(db),
  }
}

async function queue(sql: Sql, tenantId: string, messageId: string, delayMs: number): Promise<void> {
  const payload = { tenant_id: tenantId, message_id: messageId }
  await addJob(sql, { task: 'webhook', payload, key: `webhook:${messageId}`, delayMs })
}

/** Every answer but 2xx is a failure, also a redirect: following one would carry a signed message elsewhere. */
async function send(deps: WebhooksDeps, delivery: store.Delivery, id: string, secret: string): Promise<string> {
  const timestamp = String(Math.floor(deps.now() / 1_000))
  try {
    const response = await deps.fetch(delivery.url, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'assay-webhooks',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${sign(secret, `${id}.${timestamp}.${delivery.body}`)}`,
      },
      body: delivery.body,
    })
    await response.body?.cancel()
    return response.ok ? 'delivered' : `answered ${response.status}`
  } catch (error) {
    return error instanceof Error ? error.name : 'failed'
  }
}

function sign(secret: string, text: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return createHmac('sha256', key).update(text).digest('base64')
}

/** Set by the operator, never by a user: the service calls it from inside the operator's own network. */
function checkUrl(url: string, loopbackOnly: boolean): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const loopback = parsed !== undefined && /^(127(\.\d+){3}|localhost|\[::1\])$/.test(parsed.hostname)
  if (loopbackOnly && !loopback) throw invalidParameter('url', 'must be on a loopback address in sandbox mode')
  if (parsed?.protocol === 'https:' || (loopback && parsed.protocol === 'http:')) return
  throw invalidParameter('url', 'must be https, or http on a loopback address')
}
