/**
 * Metering: whether a provider may be called now, and by which worker. Every call to a provider passes through here. It
 * is made only if it fits the provider's budgets (budgets.ts), the provider is answering (circuits.ts) and the key is
 * this job's to use.
 */
import type { Cost } from '@assay/connectors'
import type { Logger } from 'pino'
import type { Database, Sql } from '../db/index.ts'
import { startAsking, type Ask, type AskedBy, type Asker } from './ask.ts'
import { createBudgets, type Metered } from './budgets.ts'
import { createCircuits, findCircuitOpen, type CircuitOpen } from './circuits.ts'
import { createSlowness } from './slowness.ts'

export { type Ask, type Asked, type Asker, type NonceRange, type PartCalls, type Stop } from './ask.ts'
export { OverBudget, type Metered } from './budgets.ts'
export { CircuitOpen } from './circuits.ts'
export { createGate, type Gate } from './ask.ts'

export interface Metering {
  /** For one job: its calls to one provider with one key. */
  startAsking(asker: Asker, by: AskedBy): Ask
  /** For callers without a key, such as the source of prices. Throws OverBudget when the wait is too long for a job. */
  take(of: Metered, cost: Cost, by: { interactive: boolean }): Promise<void>
  /** The provider itself said "too many" to a caller without a user's key, so it counts our address. */
  recordLimitError(of: Metered, cost: Cost, forMs: number): Promise<void>
  /** Deletes what is kept of a key, unless it was used within the last half hour or has to wait. */
  forget(sql: Sql, of: Metered): Promise<void>
  /** For a person who waits for an answer now: undefined when the provider may be asked. */
  findCircuitOpen(sql: Sql, providerId: string): Promise<CircuitOpen | undefined>
  /** The providers that take long to answer this process. */
  listSlow(): string[]
}

export interface MeteringDeps {
  db: Database
  random(): number
  /** How long to wait instead of `ms`: shorter in sandbox mode. */
  scaleWait(this: void, ms: number): number
  /** Names the address from which providers see our calls; workers behind another address have their own budgets. */
  egress: string
  log: Logger
  /** A test's own clock; otherwise the process's. It tells how long ago a call was admitted. */
  monotonicMs?(this: void): number
}

export function createMetering(deps: MeteringDeps): Metering {
  const budgets = createBudgets(deps)
  const circuits = createCircuits(deps)
  const slowness = createSlowness()
  return {
    startAsking: (asker, by) => startAsking({ ...deps, budgets, circuits, slowness }, asker, by),
    take: (of, cost, by) => budgets.take(of, cost, by),
    recordLimitError: (of, cost, forMs) =>
      budgets.recordLimitError(of, cost, { forMs, isOfAddress: true, userKey: null }),
    forget: (sql, of) => budgets.forget(sql, of),
    findCircuitOpen,
    listSlow: () => slowness.listSlow(),
  }
}
