/**
 * What a provider lets us ask, shared by the whole fleet. A bucket belongs to a key, or to our address where the
 * provider counts that. Waiting a little is done here; a longer wait goes back to the queue.
 */
import { SourceError } from '@assay/core'
import type { Connector } from '@assay/connectors'
import type { Database } from '../db/index.ts'
import * as store from './store.ts'

interface Metered {
  connector: Pick<Connector, 'providerId' | 'budget'>
  keyLane: string
}

export interface Budgets {
  /** Throws OverBudget when the wait is too long for a job. */
  take(of: Metered, cost: number, who: { interactive: boolean }): Promise<void>
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
 * Where everybody behind our address is counted together, the background leaves this part of the bucket alone, so that
 * whoever adds a key or refreshes finds it. A key's own bucket needs none: its jobs run one after another.
 */
const interactiveShare = 0.2

export interface BudgetDeps {
  db: Database
  /** Divides every wait, in sandbox mode. */
  pace: number
  /** Names the address that providers see us come from; workers behind another one have budgets of their own. */
  egress: string
}

export function createBudgets(deps: BudgetDeps): Budgets {
  const bucketOf = ({ connector: { providerId, budget }, keyLane }: Metered): string =>
    budget.scope === 'key' ? `${providerId}:key:${keyLane}` : `${providerId}:address:${deps.egress}`

  return {
    async take(of, cost, { interactive }) {
      const tiers = of.connector.budget.tiers.map(({ capacity, refillPerSecond }) => ({
        capacity,
        refillPerSecond: refillPerSecond * deps.pace,
      }))
      const share = of.connector.budget.scope === 'address' && !interactive ? interactiveShare : 0
      const giveUpAt = performance.now() + waitInJobMaxMs
      for (;;) {
        const { waitMs } = await store.takeTokens(deps.db, bucketOf(of), tiers, { cost, share })
        if (waitMs === 0) return
        if (performance.now() + waitMs > giveUpAt) throw new OverBudget(waitMs)
        await new Promise((resolve) => setTimeout(resolve, waitMs))
      }
    },
    recordLimitError: (of, forMs) => store.lowerTier(deps.db, bucketOf(of), of.connector.budget.tiers.length, forMs),
  }
}
