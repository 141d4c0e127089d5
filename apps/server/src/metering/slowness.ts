/** Which providers take long to answer now, as seen by this process. */
import { SourceError } from '@assay/core'

/**
 * Most answers take some hundred milliseconds. Below this value a provider may have every place of a worker, so it has
 * to be short. A provider with a long answer now and then loses half of the places only until its next short one.
 */
const slowMs = 2_000

export interface Slowness {
  time<T>(providerId: string, call: () => Promise<T>): Promise<T>
  /** The providers of which a call has been under way for long, or the last one was, and none was answered soon since. */
  listSlow(): string[]
}

export function createSlowness(now: () => number = () => performance.now()): Slowness {
  /** By provider: when the calls began that are under way. */
  const underWay = new Map<string, Set<{ beganMs: number }>>()
  const slowLast = new Set<string>()
  return {
    async time(providerId, call) {
      const calls = underWay.get(providerId) ?? new Set()
      underWay.set(providerId, calls)
      const begun = { beganMs: now() }
      calls.add(begun)
      let isAnswered = true
      try {
        return await call()
      } catch (error) {
        // A call may be given up soon, when the time of its job is over: that says nothing.
        isAnswered = !(error instanceof SourceError && error.fault === 'venue_down')
        throw error
      } finally {
        calls.delete(begun)
        if (now() - begun.beganMs >= slowMs) slowLast.add(providerId)
        else if (isAnswered) slowLast.delete(providerId)
      }
    },
    listSlow() {
      const isLate = ({ beganMs }: { beganMs: number }): boolean => now() - beganMs >= slowMs
      const late = [...underWay].filter(([, calls]) => [...calls].some(isLate)).map(([providerId]) => providerId)
      return [...new Set([...slowLast, ...late])]
    },
  }
}
