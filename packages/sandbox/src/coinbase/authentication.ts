/**
 * Decides who calls and what they may read. A bearer token is either a JWT that a CDP key signed for this request, or
 * the access token of a sign-in. The checks run in this order: token, call limit, scope.
 *
 * A key has `view`, `trade` and `transfer`; a sign-in has scopes. The simulator keeps one list of permissions for an
 * account and derives both from it. Without `view` every read is refused. With `trade` or `transfer` every sign-in gets
 * the scope that goes with it, whatever the client asked for.
 */
import { acceptKey, type Account, type Accounts } from '../core/accounts.ts'
import type { Families } from '../core/families.ts'
import type { WireRequest } from '../core/serving/listener.ts'
import type { Claims, Tokens } from '../core/tokens.ts'
import type { World } from './history.ts'
import { findJwtFault, readKeyName } from './jwt.ts'
import { keyTagOf, type Keyring, type KeyOwner } from './keys.ts'
import type { Story } from './story.ts'
import { CoinbaseRefusal } from './wire.ts'

export type CoinbaseAccount = Account<Story, World>
export type CoinbaseAccounts = Accounts<Story, World>

/** Everything the simulator needs to identify a caller. */
export interface AccessState {
  accounts: CoinbaseAccounts
  keyring: Keyring
  tokens: Tokens
  families: Families
}

export interface Caller {
  account: CoinbaseAccount
  via: 'key' | 'oauth'
  scopes: ReadonlySet<string>
}

export const accessLifeMs = 3_600_000

/** The scopes that only read: https://docs.cdp.coinbase.com/coinbase-app/oauth2-integration/scopes */
export const readScopes: readonly string[] = [
  'wallet:accounts:read',
  'wallet:addresses:read',
  'wallet:buys:read',
  'wallet:deposits:read',
  'wallet:notifications:read',
  'wallet:payment-methods:read',
  'wallet:sells:read',
  'wallet:trades:read',
  'wallet:transactions:read',
  'wallet:user:read',
  'wallet:user:email',
  'wallet:withdrawals:read',
]

const scopesByPermission: Readonly<Record<string, string>> = {
  trade: 'wallet:trades:create',
  transfer: 'wallet:transactions:send',
}

/** Coinbase's clients use this name, wherever the simulator listens. */
const publicHost = 'api.coinbase.com'

/** Finds the account of the call, before anything else is checked. */
export function recogniseAccount(request: WireRequest, state: AccessState): CoinbaseAccount | undefined {
  const token = bearerOf(request)
  const name = readKeyName(token)
  if (name !== undefined) return ownerAccount(state, state.keyring.findOwner(name))
  return state.accounts.findById(state.tokens.open('access', token)?.account ?? '')
}

export function authenticate(request: WireRequest, state: AccessState, nowMs: number): Caller {
  const token = bearerOf(request)
  const name = readKeyName(token)
  return name === undefined ? signedIn(token, state, nowMs) : signedBy(name, token, { request, state, nowMs })
}

/** The scopes that a sign-in has after the person granted these. */
export function scopesOf({ key }: CoinbaseAccount, granted: string): ReadonlySet<string> {
  const asked = granted.split(' ').filter((scope) => key.permissions.includes('view') || !readScopes.includes(scope))
  const more = key.permissions.flatMap((permission) => scopesByPermission[permission] ?? [])
  return new Set([...asked, ...more])
}

/** Counts by the sandbox's clock, so that a test can move it instead of waiting. */
export function meterCall({ account }: Caller, nowMs: number): void {
  if (account.meter?.take(1, nowMs).accepted === false) throw new CoinbaseRefusal('rate_limit_exceeded')
}

export function requireScope({ account, scopes }: Caller, scope: string, path: string): CoinbaseAccount {
  if (scopes.has(scope)) return account
  throw new CoinbaseRefusal(path.startsWith('/v2/') ? 'invalid_scope' : 'PERMISSION_DENIED')
}

function signedBy(
  name: string,
  token: string,
  { request, state, nowMs }: { request: WireRequest; state: AccessState; nowMs: number },
): Caller {
  const owner = state.keyring.findOwner(name)
  const account = ownerAccount(state, owner)
  if (owner === undefined || account === undefined) throw new CoinbaseRefusal('unauthorized', 'jwt: kid')
  const fault = findJwtFault(token, owner, { uris: urisOf(request), nowMs })
  if (fault !== undefined) throw new CoinbaseRefusal('unauthorized', fault)
  if (!acceptKey(account, nowMs)) throw new CoinbaseRefusal('unauthorized', 'key revoked')
  const { permissions } = account.key
  const more = permissions.flatMap((permission) => scopesByPermission[permission] ?? [])
  return { account, via: 'key', scopes: new Set([...(permissions.includes('view') ? readScopes : []), ...more]) }
}

function signedIn(token: string, state: AccessState, nowMs: number): Caller {
  const claims: Claims | undefined = state.tokens.open('access', token)
  const account = state.accounts.findById(claims?.account ?? '')
  if (claims === undefined || account === undefined) throw new CoinbaseRefusal('invalid_token')
  if (state.families.isEnded(claims)) throw new CoinbaseRefusal('revoked_token')
  if (nowMs >= claims.issuedMs + accessLifeMs) throw new CoinbaseRefusal('expired_token')
  // Where the scenario revokes keys, a sign-in ends after as many calls; a new one counts from zero.
  state.families.countEntries(claims, 1, account.scenario.key.revoked?.afterCalls)
  return { account, via: 'oauth', scopes: scopesOf(account, claims.scope) }
}

function bearerOf(request: WireRequest): string {
  const [, token = ''] = /^bearer ([\w.~+/-]+=*)$/i.exec(request.headers.authorization ?? '') ?? []
  return token
}

function ownerAccount(state: AccessState, owner: KeyOwner | undefined): CoinbaseAccount | undefined {
  const scenario = owner && state.accounts.scenarios.find(({ name }) => keyTagOf(name) === owner.scenarioTag)
  return scenario && state.accounts.findById(`coinbase.${scenario.name}.${owner.accountNumber}`)
}

/**
 * The simulator stands in for api.coinbase.com on another address, so a token may name either. ccxt takes "https://"
 * off its URL to make the claim and leaves "http://" on, which a client of the real host never sends.
 */
function urisOf({ method, path, headers }: WireRequest): string[] {
  return [publicHost, headers.host ?? '', `http://${headers.host ?? ''}`].map((host) => `${method} ${host}${path}`)
}
