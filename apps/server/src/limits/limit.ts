/** The types of limits, wherever they are counted. */

export interface LimitSettings {
  /** Requests a minute for each access token or session secret. */
  perToken: number
  /** Requests a minute for each authenticated client on /oauth/*. */
  perClient: number
  /** Failed requests a minute for each address on /oauth/*. */
  oauthFailures: number
  /** Requests a minute for each address without a token. */
  perAddress: number
  /** After this many wrong secrets in a minute, for a client and an address, answers are delayed. */
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
    /** How long the answer to a secret for this client from this address is delayed. */
    delayMs(clientId: string, address: string): number
    countWrongSecret(clientId: string, address: string): void
  }
}
