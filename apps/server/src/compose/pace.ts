/**
 * The pace of sandbox mode. The simulators divide the time of their limits by it, and the service has to do the same,
 * or it would wait for budgets that are full again. Only this file knows about it: it gives the rooms providers whose
 * budgets fill faster, and a `scaleWait` for the pauses that we choose ourselves. In the other modes nothing changes.
 */
import { loadConnector, type Bucket, type Connector } from '@assay/connectors'
import { getDefinition, type ProviderDefinition } from '@assay/connectors/catalog'
import type { Config } from '../config/config.ts'

/** The connectors and their definitions. */
export interface Registry {
  loadConnector(providerId: string): Promise<Connector>
  getDefinition(providerId: string): ProviderDefinition
}

type Budgeted = Pick<Connector, 'budget'>

export interface Pace {
  scaleWait(this: void, ms: number): number
  scaleBudget<T extends Budgeted>(of: T): T
  scaleRegistry(registry: Registry): Registry
}

/** The simulators have the same figures (packages/sandbox/src/core/clock.ts). */
const speeds: Readonly<Record<Config['sandbox']['pace'], number>> = { fastest: 10_000, fast: 100, real: 1 }

export const everyProvider: Registry = { loadConnector, getDefinition }

const realPace: Pace = { scaleWait: (ms) => ms, scaleBudget: (of) => of, scaleRegistry: (registry) => registry }

export function choosePace({ mode, sandbox }: Pick<Config, 'mode' | 'sandbox'>): Pace {
  return mode === 'sandbox' ? toPace(speeds[sandbox.pace]) : realPace
}

function toPace(speed: number): Pace {
  const scaleWait: Pace['scaleWait'] = (ms) => ms / speed
  const scaleBudget: Pace['scaleBudget'] = (of) => {
    const { buckets, ...costs } = of.budget
    return { ...of, budget: { ...costs, buckets: mapAll(buckets, (bucket) => withRefills(bucket, speed)) } }
  }
  return {
    scaleWait,
    scaleBudget,
    scaleRegistry: (registry) => ({
      loadConnector: async (providerId) => scaleBudget(await registry.loadConnector(providerId)),
      getDefinition(providerId) {
        const definition = registry.getDefinition(providerId)
        return { ...definition, settlesMs: scaleWait(definition.settlesMs) }
      },
    }),
  }
}

function withRefills(bucket: Bucket, speed: number): Bucket {
  const tiers = mapAll(bucket.tiers, (tier) => ({ ...tier, refillPerSecond: tier.refillPerSecond * speed }))
  return { ...bucket, tiers }
}

/** Like `map`, for lists that are never empty. */
function mapAll<T>([first, ...more]: readonly [T, ...T[]], change: (one: T) => T): [T, ...T[]] {
  return [change(first), ...more.map(change)]
}
