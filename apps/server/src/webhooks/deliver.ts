/**
 * How messages are sent. A tenant's job sends its waiting messages, oldest first, one at a time. The job only wakes the
 * sender, which chooses the next message when it sends. A tenant's jobs share a lane, so a receiver that hangs holds
 * one slot of one worker, and gives it up when an interactive job needs it. All receivers together hold half of the
 * slots, and slow ones a quarter (jobs/shares.ts).
 *
 *   waiting ──claimed──▶ 2xx: delivered; if the receiver had been failing, those put aside are taken back, a batch
 *      ▲                      with each message that is sent
 *      │                 else: put aside for its own wait; only messages about the same connection wait behind it
 *      └──less than a day old──┘       three failures in a row: all of the tenant's messages wait together
 *
 * A message may arrive twice, when the process is killed or aborted after the receiver has answered and before we have
 * recorded it.
 */
import { createHmac } from 'node:crypto'
import type { Logger } from 'pino'
import type { Database, Sql } from '../db/index.ts'
import { addJob } from '../jobs/index.ts'
import type { Keyring } from '../keys.ts'
import { openSecret } from './secrets.ts'
import * as store from './store.ts'

export interface DeliverDeps {
  db: Database
  keyring: Keyring
  fetch: typeof globalThis.fetch
  /**
   * Real time, even where the sandbox clock was moved: receivers refuse a message whose header is minutes away from
   * their own clock (Standard Webhooks, "Verifying webhook authenticity").
   */
  realNow(): number
  /** How long to wait instead of `ms`: shorter in sandbox mode. */
  scaleWait(this: void, ms: number): number
  log: Pick<Logger, 'warn'>
  /** After this time a tenant with many messages queues again, so that others get the slot in between. */
  runMaxMs?: number
  /** How long to wait for the receiver's response. */
  timeoutMs?: number
  /** A receiver that takes longer for a message shares a smaller part of the workers with others like it. */
  slowAfterMs?: number
}

const timeoutMsDefault = 10_000
/** After this time another worker sends the message of a sender that was killed, as for its job (jobs/rounds.ts). */
const claimMs = 30_000
/** The waits after the first attempt, the second and so on; the last one repeats. */
const retryDelaysMs = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000] as const
const ageMaxMs = 24 * 3_600_000
/** For a receiver that fails every message. The pause doubles each time, as for providers (metering/circuits.ts). */
const failuresBeforePause = 3
const pauseMs = 30_000
const pauseMaxMs = 900_000
const runMaxMsDefault = 5_000
const slowAfterMsDefault = 1_000
/** After days without an answer a million messages may wait: one statement for all of them would run into its limit. */
const batch = 1_000

/** If a message has been due for this long without a job, the queue has lost the job. */
const unattendedMs = 300_000

/** Returns to the tenant's waiting messages. Only jobs of the tenant's lane add this one (jobs/declarations.ts). */
export async function queueDelivery(
  sql: Sql,
  tenantId: string,
  { delayMs = 0, isSlow = false }: { delayMs?: number; isSlow?: boolean } = {},
): Promise<void> {
  await addJob(sql, 'webhook', isSlow ? { tenantId, slow: true } : { tenantId }, { delayMs })
}

/**
 * The job of one message. Where a receiver takes seconds for each message, the tenant's own job does all the sending: it
 * goes to the end of the queue after each run, and the jobs of the messages, which came earlier, would keep others from
 * their turn.
 */
export async function deliverMessage(deps: DeliverDeps, tenantId: string, signal: AbortSignal): Promise<void> {
  if (!(await store.isSlowDeliveryDue(deps.db, tenantId))) await deliver(deps, tenantId, signal)
}

/** Queues itself again while a message waits. */
export async function deliver(deps: DeliverDeps, tenantId: string, signal: AbortSignal): Promise<void> {
  const { db, runMaxMs = runMaxMsDefault, slowAfterMs = slowAfterMsDefault } = deps
  const startMs = performance.now()
  const endMs = startMs + runMaxMs
  let sent = 0
  let recovering = await store.isRecovering(db, tenantId)
  while (!signal.aborted && performance.now() < endMs) {
    if (recovering) recovering = await db.transaction((tx) => store.recoverSome(tx, tenantId, batch))
    else await store.takeBackDue(db, tenantId, batch)
    const delivery = await store.claimNext(db, tenantId, claimMs)
    if (delivery === undefined) {
      if ((await store.moveBlocked(db, tenantId)) > 0 || recovering) continue
      break
    }
    const outcome = await send(deps, tenantId, delivery, signal)
    sent += 1
    if (outcome === 'delivered') {
      const recovers = await db.transaction((tx) => recordDelivered(tx, tenantId, delivery))
      recovering = recovering || recovers
    } else if (signal.aborted) await store.putBack(db, tenantId, delivery.id)
    else await db.transaction((tx) => recordFailure(deps, tx, tenantId, delivery, outcome))
  }
  const waitMs = await store.findWaitMs(db, tenantId)
  // Only jobs of the tenant's lane add this key, so transactions that write messages do not wait for each other.
  if (waitMs === undefined) return
  const isSlow = sent > 0 && performance.now() - startMs > sent * slowAfterMs
  await queueDelivery(db, tenantId, { delayMs: waitMs, isSlow })
}

// Every transaction locks the webhook's row before its messages, so that two of them cannot deadlock.

/** True when the receiver is back, so that messages which were put aside may go. */
async function recordDelivered(tx: Sql, tenantId: string, { id }: store.Delivery): Promise<boolean> {
  const recovers = await store.forgetFailures(tx, tenantId, failuresBeforePause)
  await store.endMessage(tx, tenantId, id, 'delivered')
  return recovers
}

async function recordFailure(
  { scaleWait }: DeliverDeps,
  tx: Sql,
  tenantId: string,
  { id, attempts, age_ms: ageMs }: store.Delivery,
  outcome: string,
): Promise<void> {
  const failures = await store.countFailure(tx, tenantId)
  const tooOften = failures - failuresBeforePause
  if (tooOften >= 0) await store.pause(tx, tenantId, scaleWait(Math.min(pauseMaxMs, pauseMs * 2 ** tooOften)))
  const delayMs = retryDelaysMs[Math.min(attempts, retryDelaysMs.length) - 1] ?? 0
  if (ageMs > scaleWait(ageMaxMs)) await store.endMessage(tx, tenantId, id, outcome)
  else await store.putAside(tx, tenantId, id, { failure: outcome, delayMs: scaleWait(delayMs) })
}

/**
 * Every response other than 2xx is a failure. So is a redirect, because following it would carry a signed message
 * elsewhere, and a secret that does not open: its messages wait until the operator has put the key back or set a new
 * secret.
 */
async function send(
  { keyring, fetch, realNow, log, timeoutMs = timeoutMsDefault }: DeliverDeps,
  tenantId: string,
  { id, body, url, sealed_secret: sealed }: store.Delivery,
  signal: AbortSignal,
): Promise<string> {
  const secret = await openSecret(keyring, tenantId, sealed).catch(() => undefined)
  if (secret === undefined) {
    log.warn({ tenantId }, 'no key opens the signing secret of a webhook: put the key back, or run assay webhook set')
    return 'signing secret does not open'
  }
  const timestamp = String(Math.floor(realNow() / 1_000))
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), signal]),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'assay-webhooks',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${sign(secret, `${id}.${timestamp}.${body}`)}`,
      },
      body,
    })
    await response.body?.cancel()
    return response.ok ? 'delivered' : `answered ${response.status}`
  } catch (error) {
    return describeFailure(error)
  }
}

/** `fetch` fails with "TypeError: fetch failed" whatever happened; the code of its cause says what. */
function describeFailure(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time'
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
  return `could not be reached${code}`
}

function sign(secret: string, text: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return createHmac('sha256', key).update(text).digest('base64')
}

export async function sweepMessages({ db, scaleWait }: Pick<DeliverDeps, 'db' | 'scaleWait'>): Promise<void> {
  while ((await store.giveUpOld(db, failuresBeforePause, scaleWait(2 * ageMaxMs), batch)) === batch);
  while ((await store.deletePast(db, batch)) === batch);
  for (const tenantId of await store.listUnattended(db, scaleWait(unattendedMs))) {
    await queueDelivery(db, tenantId)
  }
}
