/**
 * How much a caller may ask. Weights are counted in windows of a minute: by IP address for /api and for most of /sapi,
 * by account (UID) for the rest of /sapi. All of /api shares one limit, while each endpoint of /sapi has its own. A
 * call past the limit gets 429 with Retry-After; a caller that continues is banned and gets 418. Sources:
 * https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md (limits),
 * https://developers.binance.com/docs/wallet/general-info (12,000 by IP and 180,000 by UID for /sapi).
 *
 * The documents do not say how many calls after a 429 lead to a ban; it is five here. Bans last two minutes, twice as
 * long every time, three days at most.
 */
import { speedOf, type Pace } from '../core/clock.ts'
import type { Scenario } from '../core/scenario.ts'

export type Counter = 'api' | 'sapi-ip' | 'sapi-uid'

const documented: Readonly<Record<Counter, number>> = { api: 6_000, 'sapi-ip': 12_000, 'sapi-uid': 180_000 }
const headerOf: Readonly<Record<Counter, string>> = {
  api: 'x-mbx-used-weight-1m',
  'sapi-ip': 'x-sapi-used-ip-weight-1m',
  'sapi-uid': 'x-sapi-used-uid-weight-1m',
}
const windowMs = 60_000
const refusalsBeforeBan = 5
const shortestBanMs = 120_000
const longestBanMs = 3 * 86_400_000
// Callers choose the addresses. Beyond this many, the counts start again.
const addressesMax = 10_000

/** Whether the call may pass. The headers report the used weight in either case. */
export interface Taken {
  headers: Readonly<Record<string, string>>
  refused?: { status: 429 | 418; retryAfterS: number; untilMs: number; limit: number }
}

export interface Caller {
  address: string
  /** Undefined for a call without a known key. */
  account: { id: string; limit: Scenario<unknown>['limit'] } | undefined
}

/** A call of an endpoint. */
export interface Call {
  path: string
  counter: Counter
  weight: number
}

export interface Limits {
  take(caller: Caller, call: Call, nowMs: number): Taken
}

interface Tally {
  window: number
  used: number
}

interface Conduct {
  window: number
  refusals: number
  bans: number
  bannedUntilMs: number
}

export function createLimits(pace: Pace): Limits {
  const speed = speedOf(pace)
  const lengthMs = windowMs / speed
  const tallies = new Map<string, Tally>()
  const conducts = new Map<string, Conduct>()

  return {
    take(caller, { path, counter, weight }, nowMs) {
      const own = limitOf(caller, counter)
      if (own === undefined) return { headers: {} }
      const subject = own.shared ? caller.address : `${caller.address} ${caller.account?.id ?? ''}`
      const window = Math.floor(nowMs / lengthMs)
      const conduct = getOrMake(conducts, subject, { window, refusals: 0, bans: 0, bannedUntilMs: 0 })
      const tallied = counter === 'sapi-uid' ? (caller.account?.id ?? '') : subject
      const tally = getOrMake(tallies, `${counter === 'api' ? counter : path} ${tallied}`, { window, used: 0 })
      if (tally.window !== window) Object.assign(tally, { window, used: 0 })
      if (conduct.window !== window) Object.assign(conduct, { window, refusals: 0 })
      if (nowMs < conduct.bannedUntilMs) return banned(conduct, own.limit, nowMs)
      tally.used += weight
      const headers = { [headerOf[counter]]: String(tally.used) }
      if (tally.used <= own.limit) return { headers }
      conduct.refusals += 1
      if (conduct.refusals > refusalsBeforeBan) {
        conduct.bannedUntilMs = nowMs + Math.min(longestBanMs, shortestBanMs * 2 ** conduct.bans) / speed
        conduct.bans += 1
        return banned(conduct, own.limit, nowMs)
      }
      const untilMs = (window + 1) * lengthMs
      return { headers, refused: { status: 429, retryAfterS: secondsTo(untilMs, nowMs), untilMs, limit: own.limit } }
    },
  }
}

/** A scenario with a limit of its own counts for its account alone, so that it does not starve the others. */
function limitOf({ account }: Caller, counter: Counter): { limit: number; shared: boolean } | undefined {
  const limit = account?.limit ?? 'documented'
  if (limit === 'none') return undefined
  if (limit === 'documented' || counter === 'sapi-uid') return { limit: documented[counter], shared: true }
  return { limit: counter === 'api' ? limit.max : limit.max * 3, shared: false }
}

function banned(conduct: Conduct, limit: number, nowMs: number): Taken {
  const untilMs = Math.ceil(conduct.bannedUntilMs)
  return { headers: {}, refused: { status: 418, retryAfterS: secondsTo(untilMs, nowMs), untilMs, limit } }
}

/** The header holds whole seconds, so at the fast pace it says more than is needed. */
function secondsTo(untilMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((untilMs - nowMs) / 1000))
}

function getOrMake<T>(map: Map<string, T>, key: string, fresh: T): T {
  const known = map.get(key)
  if (known !== undefined) return known
  if (map.size >= addressesMax) map.clear()
  map.set(key, fresh)
  return fresh
}
