/**
 * How much a caller may ask, counted by IP address: 100 calls in 10 seconds, and 40 of one method. Each call of a batch
 * counts. https://solana.com/docs/references/clusters ("Rate limits" of the main network's public endpoint)
 */
import type { Account } from '../../core/accounts.ts'
import { createMeters } from '../../core/serving/meter.ts'
import type { Pace } from '../../core/clock.ts'

export const documentedLimit = { max: 100, decayPerSecond: 10 }
const methodLimit = { max: 40, decayPerSecond: 4 }

export interface Refused {
  retryAfterS: number
  message: string
}

export interface Limits {
  /** Counts the calls. `account`: the wallet that they are about, when they are about one. */
  take(
    address: string,
    methods: readonly string[],
    account: Account<unknown, unknown> | undefined,
    nowMs: number,
  ): Refused | undefined
}

export function createLimits(pace: Pace): Limits {
  const meterOf = createMeters(pace)
  return {
    take(address, methods, account, nowMs) {
      // A scenario with a limit of its own counts for its wallet alone, so that it does not starve the others.
      const isOwn = account !== undefined && account.scenario.limit !== 'documented'
      const whole = isOwn ? account.meter : meterOf(address, documentedLimit)
      const all = whole?.take(methods.length, nowMs)
      if (all?.accepted === false) {
        return refuse(
          all.retryAfterMs,
          'Too many requests from your IP, contact your app developer or support@rpcpool.com.',
        )
      }
      for (const [method, calls] of isOwn ? [] : Map.groupBy(methods, (one) => one)) {
        const one = meterOf(`${address} ${method}`, methodLimit).take(calls.length, nowMs)
        if (!one.accepted) return refuse(one.retryAfterMs, 'Too many requests for a specific RPC call')
      }
      return undefined
    },
  }
}

function refuse(retryAfterMs: number, message: string): Refused {
  return { retryAfterS: Math.ceil(retryAfterMs / 1_000), message }
}
