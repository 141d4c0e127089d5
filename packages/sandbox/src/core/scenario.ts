/**
 * A scenario: what an integrator can ask an account to be like. Data with words; the history behind it is told by the
 * provider's own vocabulary (`Story`) and built when first asked for.
 */
import type { MeterLimit } from './serving/meter.ts'
import type { Fault, FaultKind } from './serving/faults.ts'

export interface Scenario<Story> {
  name: string
  title: string
  description: string
  /** What an integrator should see happen. */
  expects: string
  key: KeyTraits
  /** The provider's own limit, a limit of this scenario, or none at all. */
  limit: 'documented' | 'none' | MeterLimit
  weather: Weather
  story: () => Story
}

export interface KeyTraits {
  permissions: readonly string[]
  /** The provider does not know this key. */
  refused?: boolean
  /** Accepted at first, refused after so many calls or so long after the first of them, whichever comes first. */
  revoked?: { afterCalls: number; afterMs: number }
}

/**
 * What goes wrong by itself. `calm`: nothing. `always`: the same fault at every call. A cycle is walked call by call once
 * the first `calmCalls` have passed, per account, so the n-th call of every run meets the same fate.
 */
export type Weather =
  'calm' | { always: FaultKind } | { calmCalls: number; cycle: readonly (Fault | FaultKind | 'calm')[] }
