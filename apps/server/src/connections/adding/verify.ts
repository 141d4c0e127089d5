/**
 * The read-only gate. Before a key is accepted, its rights are read from the provider. A key that can trade or withdraw
 * is refused with the names of the rights to uncheck. A passing provider failure is retried while the person waits: the
 * job ends and is queued again, so that a check that waits takes no place from others. Later the rights are read once a
 * day (a setting), because a key can be given more of them.
 */
import { SourceError, type ErrorItem } from '@assay/core'
import {
  requestTimeoutMs as requestTimeoutMsDefault,
  type Account,
  type ConnectionType,
  type ConnectorState,
} from '@assay/connectors'
import { findProvider } from '@assay/connectors/catalog'
import { recordAudit } from '../../audit.ts'
import type { Database, Sql } from '../../db/index.ts'
import { addJob, type PayloadOf } from '../../jobs/index.ts'
import { CircuitOpen, OverBudget, type Ask, type Stop } from '../../metering/index.ts'
import { noteUser } from '../../notices.ts'
import type { ConnectionRef } from '../../owner.ts'
import type { ToFingerprint } from '../credentials/fingerprints.ts'
import type { OpenedConnection } from '../open.ts'
import * as pending from './pending-store.ts'
import { discard, type RemovalDeps } from '../removal.ts'
import { findConnection, recordRights } from '../store.ts'
import { describeRefusal, toErrorItem } from '../words.ts'

export interface GateDeps extends RemovalDeps {
  /** How the account is remembered: keyed for each tenant (fingerprints.ts). */
  toFingerprint: ToFingerprint
  /** What happens to a key that can do more than read. */
  excessPermission: 'refuse' | 'allow'
  /** Starts the calls to a provider for a person who waits. */
  startAsking(opened: OpenedConnection): Ask
  now(): number
  /** How often the rights of a key are read again. */
  rightsEveryMs: number
  /** How long `add` waits for a worker; half a minute by default. */
  verdictTimeoutMs?: number
  /** How long the provider may take to answer one call (open.ts). */
  requestTimeoutMs?: number
  /** How long to wait instead of `ms`: shorter in sandbox mode. */
  scaleWait(this: void, ms: number): number
  /** `state` is what the connector keeps of the account from now on. */
  onReadable(tx: Sql, ref: ConnectionRef, keyLane: string, state?: ConnectorState): Promise<void>
}

/**
 * When a check is due, a run begins with it: it finds a key that has gained or lost rights since it was accepted.
 * Undefined when reading may continue.
 */
export async function checkRights(
  deps: GateDeps & { db: Database },
  ref: ConnectionRef,
  opened: OpenedConnection,
  ask: Ask,
): Promise<Stop | undefined> {
  const { rightsCheckedAtMs } = opened
  if (rightsCheckedAtMs !== null && deps.now() - rightsCheckedAtMs < deps.rightsEveryMs) return undefined
  const asked = await ask(opened.connector.budget.verify, () => opened.reader.verify())
  if (asked.kind !== 'answer') return asked
  const { excess, missing, keyExpiresAtMs } = asked.answer
  await recordRights(deps.db, ref, keyExpiresAtMs)
  if (excess.length > 0 && deps.excessPermission === 'refuse') {
    const error = new SourceError('excess_permission', `the key can now do more than read: ${excess.join(', ')}`)
    return { kind: 'fault', error }
  }
  if (missing.length === 0) return undefined
  return { kind: 'fault', error: new SourceError('missing_permission', `the key lacks ${missing.join(', ')}`) }
}

/** How long a person waits for a verdict, unless ASSAY_KEY_CHECK_TIMEOUT says otherwise. */
export const verifyTimeoutMs = 30_000
/** What storing the verdict and reading it may take. */
const verdictMarginMs = 2_000
const attemptsMax = 4
const retryDelayMs = 1_000
/** As long as other jobs wait for their budget in their place. */
const budgetPatienceMs = 1_000

export async function verifyConnection(
  deps: GateDeps,
  db: Database,
  open: (ref: ConnectionRef) => Promise<OpenedConnection | undefined>,
  job: PayloadOf<'verify'>,
): Promise<void> {
  const { ref } = job
  const opened = await open(ref)
  if (opened?.status !== 'pending') return
  const name = findProvider(opened.providerId)?.name ?? opened.providerId
  const provider = { id: opened.providerId, name, connectionType: opened.connectionType }
  const refuse = (error: ErrorItem, { existingId = null, isCounted = true }: RefuseOptions = {}): Promise<void> =>
    db.transaction(async (tx) => {
      if (isCounted) await pending.recordCheck(tx, ref, { keyLane: opened.keyLane, isRefused: true })
      await pending.refusePending(tx, ref, { added: false, connection_id: existingId, errors: [error] })
    })

  const found = await askAccount(deps, opened, job.tried)
  if ('retryInMs' in found) return addJob(db, 'verify', { ...job, tried: found.tried }, { delayMs: found.retryInMs })
  if ('error' in found) return refuse(toRefusedItem(found.error, provider), { isCounted: found.wasCalled })
  const account = { ...found, fingerprint: await deps.toFingerprint(ref, found.fingerprint) }
  if (account.keyExpiresAtMs !== null && account.keyExpiresAtMs <= deps.now()) {
    return refuse(toErrorItem('key_expired', provider))
  }
  if (account.excess.length > 0 && deps.excessPermission === 'refuse') {
    return refuse(toRightsItem('excess_permission', account.excess, provider))
  }
  if (account.missing.length > 0) return refuse(toRightsItem('missing_permission', account.missing, provider))
  const { repairOf } = opened
  if (repairOf !== null) {
    const isSame = await db.transaction((tx) => repair(deps, tx, ref, { repairOf, opened, account }))
    if (!isSame) await refuse(toMismatch(provider, repairOf))
    return
  }
  const existingId = await db.transaction((tx) => accept(deps, tx, ref, opened, account))
  if (existingId !== undefined) {
    const isBroken = (await findConnection(db, ref, existingId))?.status === 'needs_reauth'
    await refuse(toAlreadyConnected(provider, existingId, isBroken), { existingId, isCounted: false })
  }
}

/**
 * New credentials never repair a connection unasked: an application that adds an account may not know that the person
 * has it connected already, and a repair replaces what they entered there.
 */
function toAlreadyConnected(
  { id, name, connectionType }: { id: string; name: string; connectionType: ConnectionType },
  connectionId: string,
  isBroken: boolean,
): ErrorItem {
  const message = `This ${name} account is connected already.`
  const item: ErrorItem = { cause: 'already_connected', provider_id: id, connection_id: connectionId, message }
  if (!isBroken) return item
  const step = connectionType === 'api_key' ? 'enter the key there' : 'connect it again there'
  return { ...item, fix: `Repair it: open the connect flow with connection_id ${connectionId} and ${step}.` }
}

interface RefuseOptions {
  existingId?: string | null
  /**
   * Whether it counts against the user as a refused key. It does wherever the provider was called, even if the provider
   * or its limits were at fault: a user could otherwise offer a throttled key all day, and each call is taken from what
   * all users share. An account that is connected already is counted as a repeated check (`accept`).
   */
  isCounted?: boolean
}

/** False when the credentials belong to another account. */
async function repair(
  deps: GateDeps,
  tx: Sql,
  ref: ConnectionRef,
  { repairOf, opened, account }: { repairOf: string; opened: OpenedConnection; account: Account },
): Promise<boolean> {
  const to = { connectionId: repairOf, fingerprint: account.fingerprint }
  const repaired = await pending.acceptRepair(tx, ref, to)
  if (repaired === undefined) return false
  await pending.recordCheck(tx, ref, { keyLane: opened.keyLane, isRefused: false })
  await recordRights(tx, repaired, account.keyExpiresAtMs)
  await deps.onReadable(tx, repaired, opened.keyLane, account.state)
  await recordAudit(tx, { ...toAudited(repaired, opened), action: 'connection.repaired' })
  return true
}

/** The id of the connection that has this account already; undefined when the new one was accepted. */
async function accept(
  deps: GateDeps,
  tx: Sql,
  ref: ConnectionRef,
  opened: OpenedConnection,
  { fingerprint, fingerprintOf, keyExpiresAtMs, state }: Account,
): Promise<string | undefined> {
  // A user could otherwise give one account again and again, all day.
  const recordRepeated = (): Promise<void> =>
    pending.recordCheck(tx, ref, { keyLane: opened.keyLane, isRefused: false })
  const taken = await pending.findAccount(tx, ref, { providerId: opened.providerId, fingerprint })
  if (taken !== undefined && (taken.connectSessionId === null || taken.connectSessionId === opened.connectSessionId)) {
    await recordRepeated()
    return taken.connectionId
  }
  // Left behind in another connect session of the same user, such as a closed tab. Only that session shows it, so it
  // must not stand in the way of the one that the person is looking at.
  if (taken !== undefined) await discard(deps, tx, { ...ref, ...taken }, { isShown: false })
  const waiting = await pending.lockPending(tx, ref)
  if (waiting === undefined) {
    await recordRepeated()
    return undefined
  }
  // Its connect session may have been settled while the key was checked: then it is shown from now on.
  const isShown = waiting.connectSessionId === null
  const numbers = isShown ? await deps.takeChangeNumbers(tx, ref.userKey, 1) : undefined
  const shown = numbers === undefined ? null : { seq: numbers.first, at: numbers.updatedAt }
  await pending.acceptPending(tx, ref, { fingerprint, fingerprintOf, shown })
  await recordRights(tx, ref, keyExpiresAtMs)
  if (isShown) await noteUser(tx, ref)
  await deps.onReadable(tx, ref, opened.keyLane, state)
  await recordAudit(tx, { ...toAudited(ref, opened), action: 'connection.added' })
  return undefined
}

/** In a connect session the person acts; elsewhere an application acts for them. */
function toAudited(
  { tenantId, userId, connectionId }: ConnectionRef,
  { providerId, connectSessionId }: OpenedConnection,
) {
  const actor = connectSessionId === null ? 'application' : 'user'
  return { tenantId, userId, providerId, subject: connectionId, actor } as const
}

function toMismatch(provider: { id: string; name: string }, connectionId: string): ErrorItem {
  return {
    cause: 'account_mismatch',
    provider_id: provider.id,
    connection_id: connectionId,
    message: `This key belongs to another ${provider.name} account.`,
    fix: 'Use a key of the account that was connected before, or add this one as a new connection.',
  }
}

/** Why the connection was refused. A passing failure says when to try again, if that is known. */
export function toRefusedItem(
  error: SourceError,
  provider: { id: string; name: string; connectionType: ConnectionType },
): ErrorItem {
  const item = { ...toErrorItem(error.fault, provider), ...describeRefusal(error, provider) }
  if (error.retryAfterMs === undefined) return item
  return { ...item, retry_after_seconds: Math.max(1, Math.ceil(error.retryAfterMs / 1000)) }
}

function toRightsItem(
  fault: 'missing_permission' | 'excess_permission',
  rights: readonly string[],
  provider: { id: string; name: string; connectionType: ConnectionType },
): ErrorItem {
  return { ...toErrorItem(fault, provider, rights), ...describeRefusal({ fault, rights }, provider) }
}

/**
 * An attempt that begins later could end after the person has stopped waiting, and its result would be lost. A longer
 * timeout leaves workers more time to begin; a provider that fails is not tried for longer.
 */
function toLastTryMs({ verdictTimeoutMs = verifyTimeoutMs, requestTimeoutMs = requestTimeoutMsDefault }: GateDeps) {
  return Math.min(verdictTimeoutMs, verifyTimeoutMs) - requestTimeoutMs - verdictMarginMs
}

interface NotShown {
  error: SourceError
  /** False while our own budget or an open circuit kept us from calling. */
  wasCalled: boolean
}

/** What the attempts before have left to a check that is queued again. */
type Tried = NonNullable<PayloadOf<'verify'>['tried']>

interface Later {
  retryInMs: number
  tried: Tried
}

/**
 * The account, or why the provider did not show it, or when to ask again. One attempt: a wait in the job would hold one
 * of the worker's places, and a few users could hold all of them with keys of a provider whose budget is used up.
 */
async function askAccount(
  deps: GateDeps,
  opened: OpenedConnection,
  before?: Tried,
): Promise<Account | NotShown | Later> {
  const beganMs = deps.now()
  const asked = await deps.startAsking(opened)(opened.connector.budget.verify, () => opened.reader.verify())
  if (asked.kind === 'answer') return asked.answer
  // Another worker verifies the same key: the queue tries this job again, and then finds the other one's verdict.
  if (asked.kind === 'overtaken') throw new Error('another worker uses this key')
  const error = asked.kind === 'wait' ? new OverBudget(asked.ms) : asked.error
  // Nothing was called, so a short wait for our own budget is worth it, whatever time the settings leave for retries.
  const patienceMs = Math.max(toLastTryMs(deps), asked.kind === 'wait' ? budgetPatienceMs : 0)
  const lastTryAtMs = before?.lastTryAtMs ?? Math.floor(beganMs + patienceMs)
  const wasCalled = before?.wasCalled === true || (asked.kind === 'fault' && !(error instanceof CircuitOpen))
  // A wait for our own budget asks the provider for nothing, so only time limits how often it is repeated.
  const attempts = (before?.attempts ?? 0) + (asked.kind === 'wait' ? 0 : 1)
  const isPassing = ['rate_limited', 'venue_down', 'clock_skew'].includes(error.fault)
  if (!isPassing || attempts === attemptsMax) return { error, wasCalled }
  const retryInMs = error.retryAfterMs ?? deps.scaleWait(retryDelayMs * 2 ** attempts)
  if (deps.now() + retryInMs > lastTryAtMs) return { error, wasCalled }
  return { retryInMs, tried: { attempts, wasCalled, lastTryAtMs } }
}
