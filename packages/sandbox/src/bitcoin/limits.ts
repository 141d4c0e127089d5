/**
 * How much a caller may ask, counted by IP address. The documents name no limit; the project's own nginx configuration
 * had 50 calls a second with a burst of 100 (https://github.com/Blockstream/esplora/issues/302), which is used here.
 * The public instance allows less and does not say how much; its 429 comes without Retry-After (…/issues/449).
 */
import type { Account } from '../core/accounts.ts'
import { createMeter, type Meter } from '../core/serving/meter.ts'
import { speedOf, type Pace } from '../core/clock.ts'

export const documentedLimit = { max: 100, decayPerSecond: 50 }
// Addresses of callers come from outside: past this many, the counts start again.
const callersMax = 10_000

export interface Limits {
  /** Counts a call. `account` is the wallet that the call is about, if any. */
  accept(address: string, account: Account<unknown, unknown> | undefined, nowMs: number): boolean
}

export function createLimits(pace: Pace): Limits {
  const callers = new Map<string, Meter>()

  function meterOf(address: string): Meter {
    const known = callers.get(address)
    if (known !== undefined) return known
    const { max, decayPerSecond } = documentedLimit
    const made = createMeter({ max, decayPerSecond: decayPerSecond * speedOf(pace) })
    if (callers.size >= callersMax) callers.clear()
    callers.set(address, made)
    return made
  }

  return {
    accept(address, account, nowMs) {
      // A scenario with a limit of its own counts for its wallet alone, so that it does not starve the others.
      const isOwn = account !== undefined && account.scenario.limit !== 'documented'
      const meter = isOwn ? account.meter : meterOf(address)
      return meter?.take(1, nowMs).accepted ?? true
    },
  }
}
