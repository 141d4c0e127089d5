/**
 * The read-only gate. Before a key is stored for good its rights are read from the provider; one that can trade or
 * withdraw is refused, naming what to untick. A passing failing of the provider is tried again while the person waits.
 */
import { SourceError, type ErrorItem } from '@assay/core'
import { requestTimeoutMs, type Account } from '@assay/connectors'
import { findProvider } from '@assay/connectors/catalog'
import type { Database, Sql } from '../db/index.ts'
import type { Ask, OpenedConnection } from './open.ts'
import { discard, type RemovalDeps } from './removal.ts'
import { acceptRepair } from './session-store.ts'
import * as store from './store.ts'
import type { ConnectionRef, Verdict } from './store.ts'
import { describeRefusal, toErrorItem } from './words.ts'

export interface GateDeps extends RemovalDeps {
  /** What the operator lets through: `refuse` is the default. */
  excessPermission: 'refuse' | 'allow'
  /** Sync's way to speak to a provider; refuses with `rate_limited` when the budget is used up for long. */
  startAsking(opened: OpenedConnection): Ask
  now(): number
  /** Divides every wait, in sandbox mode. */
  pace: number
  onVerified(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<void>
}

/** At the beginning of every run: a key that was given more rights, or lost some, since it was accepted. */
export async function checkRights(
  deps: GateDeps & { db: Database },
  ref: ConnectionRef,
  opened: OpenedConnection,
  ask: Ask,
): Promise<void> {
  const account = await ask(opened.connector.budget.verifyCost, () => opened.session.verify())
  const { excess, missing } = account
  await store.setKeyExpiry(deps.db, ref, account.keyExpiresAtMs)
  if (excess.length > 0 && deps.excessPermission === 'refuse') {
    throw new SourceError('excess_permission', `the key can now do more than read: ${excess.join(', ')}`)
  }
  if (missing.length > 0) throw new SourceError('missing_permission', `the key lacks ${missing.join(', ')}`)
}

/** How long a person looks at "checking your key". */
export const verifyTimeoutMs = 30_000
/** A try begun later could end after the person has stopped waiting, and what the provider did would go untold. */
const lastTryAfterMs = verifyTimeoutMs - requestTimeoutMs - 2_000
const attemptsMax = 4
const retryDelayMs = 1_000

export async function verifyConnection(
  deps: GateDeps,
  db: Database,
  open: (ref: ConnectionRef) => Promise<OpenedConnection | undefined>,
  ref: ConnectionRef,
): Promise<void> {
  const opened = await open(ref)
  if (opened?.status !== 'pending') return
  const name = findProvider(opened.providerId)?.name ?? opened.providerId
  const provider = { id: opened.providerId, name }
  const refuse = (verdict: Verdict): Promise<void> => store.refusePending(db, ref, verdict)

  let account: Account
  try {
    account = await askAccount(deps, opened)
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return refuse({ added: false, connection_id: null, errors: [toRefusedItem(error, provider)] })
  }
  if (account.keyExpiresAtMs !== null && account.keyExpiresAtMs <= deps.now()) {
    return refuse({ added: false, connection_id: null, errors: [toErrorItem('key_expired', provider)] })
  }
  if (account.excess.length > 0 && deps.excessPermission === 'refuse') {
    const item = toErrorItem('excess_permission', provider, account.excess)
    return refuse({ added: false, connection_id: null, errors: [item] })
  }
  if (account.missing.length > 0) {
    const item = toErrorItem('missing_permission', provider, account.missing)
    return refuse({ added: false, connection_id: null, errors: [item] })
  }
  if (opened.repairOf !== null) {
    const repaired = { ...ref, connectionId: opened.repairOf }
    const same = await db.transaction(async (tx) => {
      const accepted = await acceptRepair(tx, ref, { ...repaired, fingerprint: account.fingerprint })
      if (!accepted) return false
      await store.setKeyExpiry(tx, repaired, account.keyExpiresAtMs)
      await deps.onVerified(tx, repaired, opened.keyLane)
      return true
    })
    if (!same) await refuse({ added: false, connection_id: null, errors: [toMismatch(provider, opened.repairOf)] })
    return
  }
  const existing = await db.transaction((tx) => accept(deps, tx, ref, opened, account))
  if (existing !== undefined) {
    const message = `This ${name} account is connected already.`
    const item = { cause: 'already_connected', provider_id: provider.id, connection_id: existing, message } as const
    await refuse({ added: false, connection_id: existing, errors: [item] })
  }
}

/** The id of the connection that has this account already; undefined when the new one was accepted. */
async function accept(
  deps: GateDeps,
  tx: Sql,
  ref: ConnectionRef,
  opened: OpenedConnection,
  { fingerprint, keyExpiresAtMs }: Account,
): Promise<string | undefined> {
  const account = { providerId: opened.providerId, fingerprint }
  let taken = await store.acceptPending(tx, ref, account)
  if (taken !== undefined && taken.sessionId !== null && taken.sessionId !== opened.sessionId) {
    // Left behind in another session of the same user, such as a closed tab. Nobody else can see it, so it must not
    // stand in the way of the one that the person is looking at.
    await discard(deps, tx, { ...ref, connectionId: taken.existingId }, { served: false })
    taken = await store.acceptPending(tx, ref, account)
  }
  if (taken !== undefined) return taken.existingId
  await store.setKeyExpiry(tx, ref, keyExpiresAtMs)
  await deps.onVerified(tx, ref, opened.keyLane)
  return undefined
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

/** Why nothing was added. A failing that passes says when to come back, where that is known. */
export function toRefusedItem(error: SourceError, provider: { id: string; name: string }): ErrorItem {
  const item = { ...toErrorItem(error.fault, provider), ...describeRefusal(error.fault, provider) }
  if (error.retryAfterMs === undefined) return item
  return { ...item, retry_after_seconds: Math.max(1, Math.ceil(error.retryAfterMs / 1000)) }
}

async function askAccount(deps: GateDeps, opened: OpenedConnection): Promise<Account> {
  const ask = deps.startAsking(opened)
  const lastTryAt = performance.now() + lastTryAfterMs
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask(opened.connector.budget.verifyCost, () => opened.session.verify())
    } catch (error) {
      const passing = error instanceof SourceError && ['rate_limited', 'venue_down', 'clock_skew'].includes(error.fault)
      if (!passing || attempt === attemptsMax) throw error
      const waitMs = error.retryAfterMs ?? (retryDelayMs * 2 ** attempt) / deps.pace
      if (performance.now() + waitMs > lastTryAt) throw error
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }
}
