/**
 * Who calls the API, and may they? Order of the checks: token, call limit, scope. What is not somebody's token counts
 * against nobody; a call that lacks the scope counts. Truth: API.md; RFC 6750 §2.1, §3.1.
 */
import type { WireRequest } from '../core/listener.ts'
import type { HarborAccount } from './api.ts'
import { accessLifeMs, scopesOf, type OAuthState } from './token.ts'
import type { Claims } from '../core/tokens.ts'
import { HarborRefusal } from './wire.ts'

export interface Caller {
  account: HarborAccount
  claims: Claims
  scopes: readonly string[]
}

export function authenticate(request: WireRequest, state: OAuthState, nowMs: number): Caller {
  const claims = findClaims(request, state)
  if (claims === undefined || nowMs >= claims.issuedMs + accessLifeMs || state.families.isEnded(claims)) {
    throw new HarborRefusal('invalid_token')
  }
  const account = state.accounts.findById(claims.account)
  if (account === undefined) throw new HarborRefusal('invalid_token')
  return { account, claims, scopes: scopesOf(account, claims.scope) }
}

/** What the token says, whether or not it is still good. */
export function findClaims(request: WireRequest, { tokens }: OAuthState): Claims | undefined {
  const [, token = ''] = /^bearer ([\w.-]+)$/i.exec(request.headers.authorization ?? '') ?? []
  return tokens.open('access', token)
}

/** By the sandbox's clock, so that a test can move it instead of waiting. */
export function meterCall({ account }: Caller, nowMs: number): void {
  const taken = account.meter?.take(1, nowMs)
  if (taken?.accepted === false) throw new HarborRefusal('rate_limited', taken.retryAfterMs)
}

export function withScope({ account, scopes }: Caller, scope: string): HarborAccount {
  if (!scopes.includes(scope)) throw new HarborRefusal('insufficient_scope')
  return account
}
