/**
 * How a job speaks to a provider: within the budget, while the circuit is closed, and only as long as the key is this
 * job's to use. Every call of the engine goes through here, and is preceded by one statement.
 */
import { SourceError } from '@assay/core'
import type { Ask, OpenedConnection } from '../connections/index.ts'
import type { Budgets } from './budget.ts'
import type { Circuits } from './circuit.ts'

export interface AskDeps {
  budgets: Budgets
  circuits: Circuits
}

/**
 * Two workers read one connection, because one was presumed dead while it only stood still. The one that asked first
 * later has the key; the other gives up, and with it a page it may have read.
 */
export class Overtaken extends Error {
  constructor(keyLane: string) {
    super(`another worker uses the key of lane ${keyLane}`)
    this.name = 'Overtaken'
  }
}

/** How long the job that was overtaken stays away: longer than a page takes. */
export const overtakenDelayMs = 5_000

export function startAsking(
  { budgets, circuits }: AskDeps,
  opened: Pick<OpenedConnection, 'connector' | 'keyLane' | 'providerId' | 'status' | 'nonces'>,
  { interactive }: { interactive: boolean },
): Ask {
  const { providerId, keyLane, nonces } = opened
  let standing: 'outside' | 'entered' | 'probing' | 'answered' = 'outside'
  /** The provider was failing when this job came: an answer ends that. */
  let wasFailing = false

  async function enter(cost: number): Promise<void> {
    const { holdsKey, lastNonce, circuit } = await budgets.admit(opened, cost, { interactive }, () => ({
      providerId: standing === 'outside' ? providerId : null,
      nonces: nonces.last === undefined ? nonces.toReserve() : { last: nonces.last },
    }))
    // A nonce that was used after ours makes ours invalid, and two calls at once may arrive in either order.
    if (!holdsKey) throw new Overtaken(keyLane)
    if (lastNonce !== undefined) nonces.use(lastNonce)
    if (standing !== 'outside') return
    standing = (await circuits.enter(providerId, circuit)) ? 'probing' : 'entered'
    wasFailing = circuit !== undefined
  }

  async function hearAnswer(): Promise<void> {
    if (standing !== 'answered' && wasFailing) await circuits.recordAnswer(providerId)
    standing = 'answered'
  }

  return async (cost, call) => {
    await enter(cost)
    try {
      const answer = await call()
      await hearAnswer()
      return answer
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      if (error.fault === 'rate_limited') await budgets.recordLimitError(opened, error.retryAfterMs ?? 0)
      if (error.fault !== 'venue_down') await hearAnswer()
      else {
        await circuits.recordSilence(providerId, opened.status === 'pending' ? null : keyLane, standing === 'probing')
        standing = 'outside'
      }
      throw error
    }
  }
}
