/**
 * How much one caller may ask for (the settings are in docs/configuration.md). Counted in this process alone, or in the
 * parent of several (asked.ts): API processes on different machines each grant the full limit, and no protection of
 * data depends on it (see docs/decisions).
 */
import { parseAddress } from './addresses.ts'
import type { Limits, LimitSettings, LimitVerdict } from './asked.ts'
import { createWindow, type Window } from './window.ts'

export { parseAddress } from './addresses.ts'
export { askLimits, limitCalls, type AskedLimits, type LimitCall } from './asked.ts'
export type { Limits, LimitSettings, LimitVerdict } from './asked.ts'
export { createSlots, takeSlots, type CountedSlots, type Slots } from './slots.ts'
export { createWindow } from './window.ts'

const windowSeconds = 60
const delayFirstMs = 250
const delayMaxMs = 8_000

export function createLimits(settings: LimitSettings, now: () => number): Limits {
  const window = (): Window => createWindow({ windowMs: windowSeconds * 1_000, keysMax: 100_000, now })
  const tokens = window()
  const addresses = window()
  const clients = window()
  const failures = window()
  const wrongSecrets = window()

  const toVerdict = (policy: string, limit: number, state: { count: number; resetMs: number }): LimitVerdict => ({
    admitted: state.count <= limit,
    policy,
    limit,
    windowSeconds,
    remaining: Math.max(limit - state.count, 0),
    resetSeconds: Math.max(Math.ceil(state.resetMs / 1_000), 1),
  })
  /** Whether one more would still be admitted, before counting it. */
  const look = (policy: string, limit: number, state: { count: number; resetMs: number }): LimitVerdict => ({
    ...toVerdict(policy, limit, state),
    admitted: state.count < limit,
  })

  /** How long the answer to this many wrong secrets is held back. */
  const toDelayMs = (count: number): number =>
    count < settings.slowAfter ? 0 : Math.min(delayFirstMs * 2 ** (count - settings.slowAfter), delayMaxMs)

  return {
    countToken: (token) => toVerdict('token', settings.perToken, tokens.add(token)),
    lookAtToken: (token) => look('token', settings.perToken, tokens.get(token)),
    countAddress: (address) => toVerdict('address', settings.perAddress, addresses.add(toNetwork(address))),
    oauth: {
      lookAtAddress: (address) => look('failures', settings.oauthFailures, failures.get(toNetwork(address))),
      lookAtClient: (clientId) => look('client', settings.perClient, clients.get(clientId)),
      countFailure: (address) => toVerdict('failures', settings.oauthFailures, failures.add(toNetwork(address))),
      countClient: (clientId) => toVerdict('client', settings.perClient, clients.add(clientId)),
      delayMs(clientId, address) {
        const key = pair(clientId, address)
        return Math.max(toDelayMs(wrongSecrets.get(key).count) - wrongSecrets.quietMs(key), 0)
      },
      countWrongSecret: (clientId, address) => toDelayMs(wrongSecrets.add(pair(clientId, address)).count),
    },
  }
}

function pair(clientId: string, address: string): string {
  return JSON.stringify([clientId.slice(0, 64), toNetwork(address)])
}

/** An IPv6 subscriber has a whole /64 (RFC 6177), so all of its addresses count as one caller. */
export function toNetwork(text: string): string {
  const address = parseAddress(text)
  if (address === undefined) return text
  return address.version === 4 ? address.text : `${address.groups.slice(0, 4).join(':')}::/64`
}
