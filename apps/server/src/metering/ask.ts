/**
 * How a job calls a provider: within the budgets, while the circuit is closed, and only while this job owns the key.
 * One statement precedes every call. The connector says how many calls may be under way at once; the default is one.
 *
 * This is the one place where a provider's failures, waits for a budget and open circuits become outcomes. Callers act
 * on the outcome; they catch nothing.
 */
import type { Connector, Cost, Spent } from '@assay/connectors'
import { SourceError } from '@assay/core'
import type { Budgets } from './budgets.ts'
import { CircuitOpen, type Circuits } from './circuits.ts'
import { createEntrance, createGate } from './gate.ts'

/** Why a call has no answer. */
export type Stop =
  /** Our own budget is used up. Nothing is wrong, and the job comes back later. */
  | { kind: 'wait'; ms: number }
  /** A CircuitOpen means that the provider was not called. */
  | { kind: 'fault'; error: SourceError }
  /**
   * Two workers read one connection, because one was presumed dead while it was only stalled. The worker that reserved
   * its nonces last has the key; the other gives up, and loses a page that it may have read.
   */
  | { kind: 'overtaken' }

export type Asked<T> = { kind: 'answer'; answer: T } | Stop

export type Ask = <T extends object>(cost: Cost, call: () => Promise<T>) => Promise<Asked<T>>

/** How a job reserves the nonces of its key. */
export interface NonceRange {
  /** The last nonce of the range; undefined until a range is reserved. */
  last: bigint | undefined
  /** How many nonces to reserve, and the smallest of them. */
  toReserve(): { atLeast: number; count: number }
  /** The range was reserved, up to and including `last`. */
  use(last: bigint): void
}

export interface Asker {
  connector: Pick<Connector, 'providerId' | 'budget' | 'atOnce'>
  keyLane: string
  /** A key that was never read to the end (`pending`, `syncing`) says nothing about the provider. */
  status: string
  nonces: NonceRange
}

interface AskDeps {
  budgets: Budgets
  circuits: Circuits
}

export function startAsking(
  { budgets, circuits }: AskDeps,
  asker: Asker,
  { interactive }: { interactive: boolean },
): Ask {
  const { keyLane, nonces } = asker
  const { providerId } = asker.connector
  let standing: 'outside' | 'entered' | 'probing' | 'answered' = 'outside'
  /** The provider was failing when this job began, or has failed since: an answer ends the outage. */
  let wasFailing = false
  /** How often the provider said "too many". */
  let limitErrors = 0
  const gate = createGate(asker.connector.atOnce?.callsMax ?? 1)
  // The first call reserves the nonces, which two would take from each other; during an outage one call is the probe.
  const entrance = createEntrance(() => standing === 'answered')

  async function enter(cost: Cost): Promise<Stop | { kind: 'entered'; left: ReadonlyMap<string, number> }> {
    const { waitMs, holdsKey, lastNonce, circuit, left } = await budgets.admit(asker, cost, { interactive }, () => ({
      providerId: standing === 'outside' ? providerId : null,
      nonces: nonces.last === undefined ? nonces.toReserve() : { last: nonces.last },
    }))
    // A nonce that was used after ours makes ours invalid, and two calls at once may arrive in either order.
    if (!holdsKey) return { kind: 'overtaken' }
    if (lastNonce !== undefined) nonces.use(lastNonce)
    const isBarred = circuit?.open === true && circuit.wait_ms > 0
    if (waitMs > 0 && !isBarred) return { kind: 'wait', ms: waitMs }
    if (standing === 'outside') {
      const entered = await circuits.enter(providerId, circuit)
      if (entered instanceof CircuitOpen) return { kind: 'fault', error: entered }
      standing = entered
      wasFailing = circuit !== undefined
    }
    return { kind: 'entered', left }
  }

  async function hearAnswer(): Promise<void> {
    const isNews = standing !== 'answered' && wasFailing
    standing = 'answered'
    if (isNews) await circuits.recordAnswer(providerId)
  }

  /** `unreadable_answer` counts as an answer: the provider is up, and only we cannot read its response. */
  async function hearFault(error: SourceError, cost: Cost, limitErrorsBefore: number): Promise<void> {
    // Calls that were under way together are refused together for one reason, so one step down is enough.
    if (error.fault === 'rate_limited' && limitErrors === limitErrorsBefore) {
      limitErrors += 1
      await budgets.recordLimitError(asker, cost, error.retryAfterMs ?? 0)
    }
    if (error.fault !== 'venue_down') return hearAnswer()
    const wasProbe = standing === 'probing'
    standing = 'outside'
    wasFailing = true
    await circuits.recordSilence(providerId, isProven(asker) ? keyLane : null, wasProbe)
  }

  async function askNow<T extends object>(cost: Cost, call: () => Promise<T>): Promise<Asked<T>> {
    const entered = await enter(cost)
    if (entered.kind !== 'entered') return entered
    const limitErrorsBefore = limitErrors
    try {
      const answer = await call()
      await hearAnswer()
      await budgets.recordSpent(asker, entered.left, spentOf(answer))
      return { kind: 'answer', answer }
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      await hearFault(error, cost, limitErrorsBefore)
      return { kind: 'fault', error }
    }
  }

  return (cost, call) => gate(() => entrance(() => askNow(cost, call)))
}

/**
 * A node gives no answer for a wallet with more accounts than it can list, and anyone can connect such wallets: they
 * are public. If they counted, a few of them would pause the reading of all others.
 */
function isProven({ status }: Asker): boolean {
  return status !== 'pending' && status !== 'syncing'
}

function spentOf(answer: { spent?: readonly Spent[] }): readonly Spent[] {
  return answer.spent ?? []
}
