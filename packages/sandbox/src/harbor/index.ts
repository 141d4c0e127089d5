/**
 * A simulated exchange that one signs in at with OAuth2. It exists nowhere else: its truth is API.md beside this file,
 * and our reader is written from that document, not from this code.
 *
 * Only what reads: there is no way to trade here, whatever scopes a token has.
 */
import { createAccounts } from '../core/accounts.ts'
import type { WireAnswer, WireRequest } from '../core/listener.ts'
import type { Pace } from '../core/pace.ts'
import type { CallContext, Provider } from '../core/provider-server.ts'
import type { Scenario } from '../core/scenario.ts'
import { balances, entries, me } from './api.ts'
import { answerAuthorize } from './authorize.ts'
import { authenticate, findClaims, meterCall, withScope, type Caller } from './bearer.ts'
import { createFamilies } from '../core/families.ts'
import { buildWorld, withEvents, type World } from './history.ts'
import { deposit, type Story } from './story.ts'
import { answerToken, findAccountOf, type OAuthState } from './token.ts'
import { createTokens } from '../core/tokens.ts'
import { failure, HarborRefusal, success } from './wire.ts'

const documentedLimit = { max: 10, decayPerSecond: 10 }
const prefixes = { code: 'hc_', access: 'ha_', refresh: 'hr_' }

export interface Harbor extends OAuthState {
  provider: Provider
}

type Endpoint = (caller: Caller, query: URLSearchParams, context: CallContext, state: OAuthState) => object

const api: Readonly<Record<string, Endpoint>> = {
  '/v1/me': ({ account, scopes }) => me(account, scopes),
  '/v1/balances': (caller) => balances(withScope(caller, 'read')),
  '/v1/entries': (caller, query, context, { families }) => {
    const account = withScope(caller, 'read')
    const page = entries(account, query, context)
    families.countEntries(caller.claims, page.entries.length, account.world().endsAfterEntries)
    return page
  },
}

export function createHarbor(options: {
  seed: string
  pace: Pace
  scenarios: readonly Scenario<Story>[]
  nowMs: () => number
  /** Never the same twice, in this process or another. */
  newId: () => string
}): Harbor {
  const { seed, nowMs, newId } = options
  const accounts = createAccounts<Story, World>({ ...options, provider: 'harbor', documentedLimit, build: buildWorld })
  const state: OAuthState = { accounts, tokens: createTokens(seed, 'harbor', prefixes), families: createFamilies() }

  const provider: Provider = {
    id: 'harbor',
    recognise(request) {
      if (request.path === '/oauth/token') {
        const accountId = findAccountOf(request, state.tokens)
        // Signing in works in any weather.
        return accountId === undefined ? undefined : { accountId, weather: 'calm', call: 0 }
      }
      const account = accounts.findById(findClaims(request, state)?.account ?? '')
      if (account === undefined) return undefined
      account.calls += 1
      return { accountId: account.id, weather: account.scenario.weather, call: account.calls - 1 }
    },
    answer(request, context) {
      try {
        return answer(request, context)
      } catch (error) {
        if (error instanceof HarborRefusal) return failure(error.word, error.retryAfterMs)
        throw error
      }
    },
    words: {
      rateLimited: () => failure('rate_limited'),
      revoked: () => failure('invalid_token'),
      serviceUnavailable: () => failure('unavailable'),
    },
    insertRow(accountId) {
      const account = accounts.findById(accountId)
      const at = new Date(nowMs()).toISOString()
      account?.setWorld(withEvents(account.world(), [deposit(at, '1 EUR')]))
    },
  }
  return { ...state, provider }

  function answer(request: WireRequest, context: CallContext): WireAnswer {
    const { method, path, query } = request
    if (path === '/oauth/authorize' && (method === 'GET' || method === 'POST')) {
      return answerAuthorize(request, state, { family: newId(), nowMs: context.nowMs })
    }
    if (path === '/oauth/token' && method === 'POST') return answerToken(request, state, context.nowMs)
    const endpoint = method === 'GET' && Object.hasOwn(api, path) ? api[path] : undefined
    if (endpoint === undefined) throw new HarborRefusal('not_found')
    const caller = authenticate(request, state, context.nowMs)
    meterCall(caller, nowMs())
    return success(endpoint(caller, query, context, state))
  }
}
