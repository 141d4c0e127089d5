/**
 * A scenario: what kind of account an integrator can ask for. It is data with a description. The history behind it is
 * written in the provider's own vocabulary (`Story`) and built when it is first needed.
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
  /** Accepted at first, then refused after this many calls or this long after the first call, whichever comes first. */
  revoked?: { afterCalls: number; afterMs: number }
}

/**
 * The faults that occur without a test setting them. `calm`: none. `always`: the same fault at every call. A cycle
 * advances call by call after the first `calmCalls` of each account, so the n-th call of every run gets the same fault.
 */
export type Weather =
  | 'calm'
  | { always: FaultKind }
  | { calmCalls: number; cycle: readonly (Fault | FaultKind | 'calm')[] }

/** Repeats an event: once for each step from the date `from` until before the date `to`. */
export function every<Event>(
  step: { days: number } | { months: number },
  from: string,
  to: string,
  tell: (date: string, index: number) => Event,
): Event[] {
  const told: Event[] = []
  const start = new Date(`${from}T00:00:00Z`)
  for (let index = 0; index < 5_000; index += 1) {
    const date = new Date(start)
    if ('days' in step) date.setUTCDate(date.getUTCDate() + step.days * index)
    else date.setUTCMonth(date.getUTCMonth() + step.months * index)
    const text = date.toISOString().slice(0, 10)
    if (text >= to) return told
    told.push(tell(text, index))
  }
  throw new RangeError(`a step repeated more than 5,000 times between ${from} and ${to}`)
}
