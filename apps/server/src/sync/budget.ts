/**
 * What a provider lets us ask, shared by the whole fleet. A bucket belongs to a key, or to our address where the
 * provider counts that. A job waits a little for its tokens; for a longer wait it goes back to the queue.
 */
import { SourceError } from '@assay/core'
import type { Connector } from '@assay/connectors'
import type { Database } from '../db/index.ts'
import * as store from './budget-store.ts'
import type { Admission, CallRequest, TokenRequest } from './budget-store.ts'

export interface Metered {
  connector: Pick<Connector, 'providerId' | 'budget'>
  keyLane: string
}

interface Caller {
  /** A person waits. */
  interactive: boolean
}

export interface Budgets {
  /** Throws OverBudget when the wait is too long for a job. */
  take(of: Metered, cost: number, by: Caller): Promise<void>
  /** The same for a call to a provider, with everything else that decides on it. Only the budget is waited for. */
  admit(
    of: Metered,
    cost: number,
    by: Caller,
    call: () => Pick<CallRequest, 'providerId' | 'nonces'>,
  ): Promise<Admission>
  /** The provider itself said "too many". */
  recordLimitError(of: Metered, forMs: number): Promise<void>
}

/** Our own restraint, not the provider's word: nothing is wrong, the job only comes back later. */
export class OverBudget extends SourceError {
  constructor(retryAfterMs: number) {
    super('rate_limited', 'our own budget for this provider is used up', { retryAfterMs })
    this.name = 'OverBudget'
  }
}

/** A job holds its lane and a place of its worker while it waits; beyond this, others deserve them. */
const waitInJobMaxMs = 1_000

/**
 * Where everything behind our address is counted together, the background leaves this part of the bucket alone, for
 * people who add a key or refresh. A key's own bucket needs none: its jobs run one after another.
 */
const interactiveShare = 0.2

export interface BudgetDeps {
  db: Database
  /** Divides every wait, in sandbox mode. */
  pace: number
  /** Names the address that providers see us come from; workers behind another one have budgets of their own. */
  egress: string
}

export function createBudgets({ db, pace, egress }: BudgetDeps): Budgets {
  const bucketOf = ({ connector: { providerId, budget }, keyLane }: Metered): string =>
    budget.scope === 'key' ? `${providerId}:key:${keyLane}` : `${providerId}:address:${egress}`
  const toRequest = (of: Metered, cost: number, { interactive }: Caller): TokenRequest => {
    const { tiers, scope } = of.connector.budget
    return {
      bucket: bucketOf(of),
      tiers: tiers.map(({ capacity, refillPerSecond }) => ({ capacity, refillPerSecond: refillPerSecond * pace })),
      cost,
      share: scope === 'address' && !interactive ? interactiveShare : 0,
    }
  }

  return {
    async take(of, cost, by) {
      const request = toRequest(of, cost, by)
      await waitFor(async () => {
        const { waitMs } = await store.takeTokens(db, request)
        return { waitMs, isOver: waitMs === 0 }
      })
    },
    admit(of, cost, by, call) {
      const request = toRequest(of, cost, by)
      return waitFor(async () => {
        const admission = await store.admitCall(db, { ...request, keyLane: of.keyLane, ...call() })
        const { waitMs, holdsKey, circuit } = admission
        const isClosed = circuit?.open === true && circuit.wait_ms > 0
        return { ...admission, isOver: waitMs === 0 || !holdsKey || isClosed }
      })
    },
    recordLimitError: (of, forMs) => store.lowerTier(db, bucketOf(of), of.connector.budget.tiers.length, forMs),
  }
}

async function waitFor<T extends { waitMs: number; isOver: boolean }>(attempt: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + waitInJobMaxMs
  for (;;) {
    const attempted = await attempt()
    if (attempted.isOver) return attempted
    if (performance.now() + attempted.waitMs > giveUpAt) throw new OverBudget(attempted.waitMs)
    await new Promise((resolve) => setTimeout(resolve, attempted.waitMs))
  }
}
