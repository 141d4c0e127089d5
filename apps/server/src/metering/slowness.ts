/** Which providers take long to answer now, as seen by this process. */

/** Honest answers take some hundred milliseconds; a call is given up after three or four times this. */
const slowMs = 5_000

export interface Slowness {
  time<T>(providerId: string, call: () => Promise<T>): Promise<T>
  /** A call has been under way for long, or the last one was. */
  isSlow(providerId: string): boolean
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
      try {
        return await call()
      } finally {
        calls.delete(begun)
        if (now() - begun.beganMs >= slowMs) slowLast.add(providerId)
        else slowLast.delete(providerId)
      }
    },
    isSlow(providerId) {
      const calls = [...(underWay.get(providerId) ?? [])]
      return slowLast.has(providerId) || calls.some(({ beganMs }) => now() - beganMs >= slowMs)
    },
  }
}
