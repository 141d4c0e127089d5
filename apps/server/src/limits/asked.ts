/**
 * The limits of several processes that share a port, counted once: the parent has them, and its children ask it over
 * Node's channel. A count is exact, because one process makes it.
 */

export interface LimitSettings {
  /** Requests a minute for each access token or session secret. */
  perToken: number
  /** Requests a minute for each authenticated client on /oauth/*. */
  perClient: number
  /** Failed requests a minute for each address on /oauth/*. */
  oauthFailures: number
  /** Requests a minute for each address without a token. */
  perAddress: number
  /** From this many wrong secrets in a minute on, for a client and an address, answers to wrong ones are delayed. */
  slowAfter: number
}

export interface LimitVerdict {
  admitted: boolean
  policy: string
  limit: number
  windowSeconds: number
  remaining: number
  resetSeconds: number
}

export interface Limits {
  countToken(token: string): LimitVerdict
  /** Whether one more request would be admitted. Counts nothing. */
  lookAtToken(token: string): LimitVerdict
  countAddress(address: string): LimitVerdict
  oauth: {
    /** Whether the address has failures left. Counts nothing. */
    lookAtAddress(address: string): LimitVerdict
    lookAtClient(clientId: string): LimitVerdict
    countFailure(address: string): LimitVerdict
    countClient(clientId: string): LimitVerdict
    /** How long a secret for this client from this address waits: while the answer to a wrong one is held back. */
    delayMs(clientId: string, address: string): number
    /** Returns how long the answer is held back. */
    countWrongSecret(clientId: string, address: string): number
  }
}

type Asked<T> = {
  [Name in keyof T]: T[Name] extends (...words: infer Words) => infer Result
    ? (...words: Words) => Result | Promise<Result>
    : Asked<T[Name]>
}

/** Limits of this process, or of another one, whose answers take a moment. */
export type AskedLimits = Asked<Limits>

/** The calls that a child may make, with their arguments. */
export const limitCalls = {
  countToken: (limits: Limits, token: string) => limits.countToken(token),
  lookAtToken: (limits: Limits, token: string) => limits.lookAtToken(token),
  countAddress: (limits: Limits, address: string) => limits.countAddress(address),
  lookAtAddress: ({ oauth }: Limits, address: string) => oauth.lookAtAddress(address),
  lookAtClient: ({ oauth }: Limits, clientId: string) => oauth.lookAtClient(clientId),
  countFailure: ({ oauth }: Limits, address: string) => oauth.countFailure(address),
  countClient: ({ oauth }: Limits, clientId: string) => oauth.countClient(clientId),
  delayMs: ({ oauth }: Limits, clientId: string, address: string) => oauth.delayMs(clientId, address),
  countWrongSecret: ({ oauth }: Limits, clientId: string, address: string) => oauth.countWrongSecret(clientId, address),
}

export type LimitCall = keyof typeof limitCalls

export type AskLimit = (call: LimitCall, words: readonly string[]) => Promise<unknown>

/** Tokens that are known to have used up their limit. Beyond this number one is forgotten, and then asked for again. */
const usedUpMax = 10_000

export function askLimits(
  ask: AskLimit,
  { perToken }: Pick<LimitSettings, 'perToken'>,
  now: () => number,
): AskedLimits {
  const verdict = (call: LimitCall, ...words: string[]): Promise<LimitVerdict> =>
    ask(call, words) as Promise<LimitVerdict>
  const usedUp = new Map<string, number>()
  const windowSeconds = 60
  const room = { admitted: true, policy: 'token', limit: perToken, windowSeconds, remaining: perToken }

  return {
    async countToken(token) {
      const counted = await verdict('countToken', token)
      if (counted.remaining === 0) {
        if (usedUp.size >= usedUpMax) usedUp.clear()
        usedUp.set(token, now() + counted.resetSeconds * 1_000)
      }
      return counted
    },
    // Asked before each page, to save its statement where the limit is used up. Only a token that was seen at its limit
    // is worth a message; the count that follows the page decides in any case.
    lookAtToken(token) {
      const endsAt = usedUp.get(token)
      if (endsAt !== undefined && endsAt > now()) return verdict('lookAtToken', token)
      usedUp.delete(token)
      return { ...room, resetSeconds: windowSeconds }
    },
    countAddress: (address) => verdict('countAddress', address),
    oauth: {
      lookAtAddress: (address) => verdict('lookAtAddress', address),
      lookAtClient: (clientId) => verdict('lookAtClient', clientId),
      countFailure: (address) => verdict('countFailure', address),
      countClient: (clientId) => verdict('countClient', clientId),
      delayMs: (clientId, address) => ask('delayMs', [clientId, address]) as Promise<number>,
      countWrongSecret: (clientId, address) => ask('countWrongSecret', [clientId, address]) as Promise<number>,
    },
  }
}
