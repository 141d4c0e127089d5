/**
 * The nonces of one opened connection. Several providers refuse a nonce that does not grow, so a worker reserves a range
 * for its key before its first call (metering/ask.ts). The range is also the fence: the worker that reserved the newest one
 * may use the key.
 */

/** More than a job ever needs. Reserved by one write, so that nonces grow across restarts without a write per request. */
const noncesPerJob = 5_000

export interface Nonces {
  /** The last one of the range; undefined until one was reserved. */
  last: bigint | undefined
  /** What to reserve: so many, none of them smaller. */
  toReserve(): { atLeast: number; count: number }
  /** The range was reserved, up to and including `last`. */
  use(last: bigint): void
  next(): string
}

export function createNonces(now: () => number): Nonces {
  let nonce = 0n
  const nonces: Nonces = {
    last: undefined,
    // Microseconds, as a key last used by another program has usually seen milliseconds or less.
    toReserve: () => ({ atLeast: now() * 1_000, count: noncesPerJob }),
    use(last) {
      nonces.last = last
      nonce = last - BigInt(noncesPerJob)
    },
    next() {
      if (nonces.last === undefined) throw new Error('a nonce was used before any was reserved')
      if (nonce >= nonces.last) throw new Error(`a job used more than ${noncesPerJob} nonces`)
      nonce += 1n
      return nonce.toString()
    },
  }
  return nonces
}
