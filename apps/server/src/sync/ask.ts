/**
 * How a job speaks to a provider: within the budget, while the circuit is closed, and only as long as the key is this
 * job's to use. Every call of the engine goes through here.
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
 * Two workers read one connection, because one was taken for dead while it only stood still. The one that opened it
 * later has the key; the other gives up, and with it a page it may have read.
 */
export class Overtaken extends Error {
  constructor(keyLane: string) {
    super(`another worker uses the key of lane ${keyLane}`)
    this.name = 'Overtaken'
  }
}

/** How long whoever was overtaken stays away: longer than a page takes. */
export const overtakenDelayMs = 5_000

export function startAsking(
  { budgets, circuits }: AskDeps,
  opened: Pick<OpenedConnection, 'connector' | 'keyLane' | 'providerId' | 'status' | 'holdsKey'>,
  { interactive }: { interactive: boolean },
): Ask {
  const { providerId } = opened
  const keyLane = opened.status === 'pending' ? null : opened.keyLane
  let standing: 'outside' | 'entered' | 'probing' | 'answered' = 'outside'

  async function hearAnswer(): Promise<void> {
    if (standing !== 'answered') await circuits.recordAnswer(providerId)
    standing = 'answered'
  }

  return async (cost, call) => {
    // First the budget: a probe that then had no tokens would keep everybody out for nothing.
    await budgets.take(opened, cost, { interactive })
    if (standing === 'outside') standing = (await circuits.enter(providerId)) ? 'probing' : 'entered'
    // A nonce that was used after ours makes ours invalid, and two calls at once may arrive in either order.
    if (!(await opened.holdsKey())) throw new Overtaken(opened.keyLane)
    try {
      const answer = await call()
      await hearAnswer()
      return answer
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      if (error.fault === 'rate_limited') await budgets.recordLimitError(opened, error.retryAfterMs ?? 0)
      if (error.fault !== 'venue_down') await hearAnswer()
      else {
        await circuits.recordSilence(providerId, keyLane, standing === 'probing')
        standing = 'outside'
      }
      throw error
    }
  }
}
