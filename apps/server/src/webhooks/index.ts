/**
 * One signed webhook for each tenant: `connection.changed`, `connection.destroyed`, `transactions.changed`,
 * `proof.changed`. Messages are signed by the Standard Webhooks specification (https://www.standardwebhooks.com:
 * webhook-id, webhook-timestamp, webhook-signature) and retried for about a day. deliver.ts decides the order and the
 * waits.
 *
 * A message is written in the transaction that makes the change, so none is lost and none reports a change that was
 * rolled back. It says that something changed and carries no data: the receiver reads the API.
 */
import { invalidParameter, Refusal } from '@assay/core'
import { recordAudit } from '../audit.ts'
import type { Sql } from '../db/index.ts'
import { addJob, type Handler } from '../jobs/index.ts'
import type { ChangeCounts } from '../notices.ts'
import type { ConnectionRef } from '../owner.ts'
import type { Resealed } from '../sealing.ts'
import { addChanges, addShown, announceDue, type About } from './announcements.ts'
import { isCovered, wasCovered } from './consent-store.ts'
import { deliver, deliverMessage, queueDelivery, sweepMessages, type DeliverDeps } from './deliver.ts'
import { resealSecrets, sealSecret } from './secrets.ts'
import * as store from './store.ts'

export { checkSecrets } from './secrets.ts'
export type { LoggedMessage } from './store.ts'

export interface ConnectionChange extends About {
  change: 'read' | 'needs_reauth' | 'removed' | 'revoked'
}

type EventType = 'connection.changed' | 'connection.destroyed' | 'transactions.changed' | 'proof.changed'

export interface Webhooks {
  /** Returns the signing secret, which is shown once. */
  set(tenantId: string, url: string): Promise<string>
  remove(tenantId: string): Promise<boolean>
  findUrl(tenantId: string): Promise<string | undefined>
  /** A message of type `webhook.test`; returns its id. */
  sendTest(tenantId: string): Promise<string>
  /** The newest messages with their outcome, newest first. */
  listMessages(tenantId: string): Promise<store.LoggedMessage[]>
  /** Sends a delivered or abandoned message again, with its original id. Refuses one that still waits. */
  resend(tenantId: string, messageId: string): Promise<void>
  announce(tx: Sql, change: ConnectionChange): Promise<void>
  /** The last row of a connection was deleted, if its removal took longer than its request. */
  announceDestroyed(tx: Sql, ref: About): Promise<void>
  /** The grade of a connection's proof has changed. */
  announceProof(tx: Sql, ref: About, change: { grade: string; previousGrade: string }): Promise<void>
  /**
   * Called in the commit that changes a connection's transactions. Counts until `announceDue` may write the message.
   */
  announceChanges(
    this: void,
    tx: Sql,
    ref: Pick<ConnectionRef, 'userKey' | 'connectionKey'>,
    counts: ChangeCounts,
  ): Promise<void>
  /** A connection that was read in a session is shown: its transactions count as added. */
  announceShown(this: void, tx: Sql, ref: Pick<ConnectionRef, 'userKey' | 'connectionKey'>): Promise<void>
  /** Writes the `transactions.changed` messages that are due. The worker calls it every second. */
  announceDue(): Promise<void>
  /** The job that delivers a tenant's waiting messages. */
  deliverTask: Handler<'webhook'>
  /** Seals every secret that an older key sealed again with the newest key; `lost` names tenants. */
  reseal(): Promise<Resealed>
  sweep(): Promise<void>
}

export interface WebhooksDeps extends DeliverDeps {
  /** The clock that dates events. */
  now(): number
  randomBytes(size: number): Buffer
  /** Sandbox mode: the receiver is on this machine. */
  loopbackOnly: boolean
}

const secretBytes = 32
const loggedMax = 50

function noWebhook(tenantId: string): Refusal {
  return new Refusal('not_found', `${tenantId} has no webhook; set one: assay webhook set ${tenantId} <url>`)
}

async function refuseResend(sql: Sql, tenantId: string, messageId: string): Promise<Refusal> {
  const dueAt = await store.findDueAt(sql, tenantId, messageId)
  if (dueAt === undefined) {
    const hint = `assay webhook log ${tenantId} lists the last ${loggedMax}`
    return new Refusal('not_found', `There is no message ${messageId} of ${tenantId}; ${hint}.`)
  }
  return new Refusal(
    'invalid_request',
    `${messageId} is still waiting and is tried next at ${dueAt}; it was not queued twice.`,
  )
}

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const { db, keyring } = deps

  async function write(tx: Sql, type: EventType, about: About, more: object): Promise<void> {
    const { tenantId, userId, connectionId } = about
    const id = `msg_${deps.randomBytes(16).toString('hex')}`
    const timestamp = new Date(deps.now()).toISOString()
    const body = JSON.stringify({ type, timestamp, data: { ...more, user_id: userId, connection_id: connectionId } })
    const wanted = await store.insertMessage(tx, { tenantId, id, connectionId, body })
    // Each message has its own job: with one key per tenant, transactions that write messages would wait for each
    // other.
    if (wanted) await addJob(tx, 'webhook', { tenantId, messageId: id })
  }

  return {
    async set(tenantId, url) {
      checkUrl(url, deps.loopbackOnly)
      const secret = `whsec_${deps.randomBytes(secretBytes).toString('base64')}`
      const sealed = await sealSecret(keyring, tenantId, secret)
      await db.transaction(async (tx) => {
        await store.putWebhook(tx, tenantId, url, sealed)
        await queueDelivery(tx, tenantId)
        const fields = ['url', 'secret']
        await recordAudit(tx, { tenantId, actor: 'operator', action: 'webhook.set', subject: tenantId, fields })
      })
      return secret
    },

    remove: (tenantId) =>
      db.transaction(async (tx) => {
        const removed = await store.deleteWebhook(tx, tenantId)
        await store.deleteWaiting(tx, tenantId)
        if (removed) {
          await recordAudit(tx, { tenantId, actor: 'operator', action: 'webhook.removed', subject: tenantId })
        }
        return removed
      }),
    findUrl: (tenantId) => store.findUrl(db, tenantId),

    sendTest: (tenantId) =>
      db.transaction(async (tx) => {
        const id = `msg_${deps.randomBytes(16).toString('hex')}`
        const body = JSON.stringify({ type: 'webhook.test', timestamp: new Date(deps.now()).toISOString(), data: {} })
        // Outside every connection's lane, so that a test message does not wait behind a failing one.
        if (!(await store.insertMessage(tx, { tenantId, id, connectionId: id, body }))) throw noWebhook(tenantId)
        await addJob(tx, 'webhook', { tenantId, messageId: id })
        await recordAudit(tx, { tenantId, actor: 'operator', action: 'webhook.tested', subject: id })
        return id
      }),
    async listMessages(tenantId) {
      if ((await store.findUrl(db, tenantId)) === undefined) throw noWebhook(tenantId)
      return store.listMessages(db, tenantId, loggedMax)
    },
    resend: (tenantId, messageId) =>
      db.transaction(async (tx) => {
        if ((await store.findUrl(tx, tenantId)) === undefined) throw noWebhook(tenantId)
        if (!(await store.reopenMessage(tx, tenantId, messageId))) throw await refuseResend(tx, tenantId, messageId)
        await addJob(tx, 'webhook', { tenantId, messageId })
        await recordAudit(tx, { tenantId, actor: 'operator', action: 'webhook.resent', subject: messageId })
      }),

    ...createAnnouncer(write),
    announceChanges: addChanges,
    announceShown: addShown,
    announceDue: () => announceDue(db, (tx, about, counts) => write(tx, 'transactions.changed', about, { ...counts })),

    deliverTask: ({ tenantId, messageId }, signal) =>
      (messageId === undefined ? deliver : deliverMessage)(deps, tenantId, signal),
    reseal: () => resealSecrets(db, keyring),
    sweep: () => sweepMessages(deps),
  }
}

type Write = (tx: Sql, type: EventType, about: About, more: object) => Promise<void>

/** Messages that are written at once, if a consent covers them. */
function createAnnouncer(write: Write): Pick<Webhooks, 'announce' | 'announceDestroyed' | 'announceProof'> {
  return {
    async announce(tx, { change, ...about }) {
      const isGone = change === 'removed' || change === 'revoked'
      const isTold = await (isGone ? wasCovered : isCovered)(tx, about.userKey)
      if (isTold) await write(tx, 'connection.changed', about, { change })
    },
    async announceDestroyed(tx, about) {
      if (await wasCovered(tx, about.userKey)) await write(tx, 'connection.destroyed', about, {})
    },
    async announceProof(tx, about, { grade, previousGrade }) {
      const isTold = await isCovered(tx, about.userKey, 'providers:read')
      if (isTold) await write(tx, 'proof.changed', about, { grade, previous_grade: previousGrade })
    },
  }
}

/** The operator sets it, never a user: the service calls it from inside the operator's own network. */
function checkUrl(url: string, loopbackOnly: boolean): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const loopback = parsed !== undefined && /^(127(\.\d+){3}|localhost|\[::1\])$/.test(parsed.hostname)
  // fetch refuses such an address, so no message would ever leave; and the password would be stored in clear.
  if (parsed !== undefined && parsed.username + parsed.password !== '') {
    throw invalidParameter('url', 'must not have a user name or password; verify the signature instead')
  }
  if (loopbackOnly && !loopback) throw invalidParameter('url', 'must be on a loopback address outside production')
  if (parsed?.protocol === 'https:' || (loopback && parsed.protocol === 'http:')) return
  throw invalidParameter('url', 'must be https, or http on a loopback address')
}
