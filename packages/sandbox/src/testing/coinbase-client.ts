/**
 * A bare client for tests: signs a JWT for each call, or signs in with oauth4webapi, unmodified. The person at the page
 * is a form that is posted. `ccxt.test.ts` holds the signatures against a client that others wrote.
 */
import { createPrivateKey, randomUUID, sign, type KeyObject } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { startSandbox, type Sandbox, type SandboxOptions } from '../index.ts'
import { control } from './kraken-client.ts'

export const redirectUri = 'http://127.0.0.1:4000/connect/callback'
export const readEverything = 'wallet:accounts:read wallet:transactions:read wallet:user:read offline_access'

/** A clock that stands still until a test moves it. */
export interface TestClock {
  nowMs: number
}

export async function startCoinbase(
  options: Partial<SandboxOptions> = {},
): Promise<{ sandbox: Sandbox; clock: TestClock }> {
  const clock = { nowMs: Date.UTC(2026, 10, 15) }
  const standing = { seed: 'test seed', pace: 'fast', log: () => undefined, now: () => clock.nowMs } as const
  const sandbox = await startSandbox({ ...standing, ...options })
  return { sandbox, clock }
}

export interface ApiKey {
  name: string
  secret: string
}

export interface Minted {
  accountId: string
  ecdsa: ApiKey
  ed25519: ApiKey
}

export async function mint(sandbox: Sandbox, scenario: string, account = 'nora'): Promise<Minted> {
  const body = { provider_id: 'coinbase', scenario, account }
  const { account_id: accountId, credentials } = (await control(sandbox, 'POST', 'accounts', body)) as {
    account_id: string
    credentials: Record<'api_key' | 'secret_key' | 'ed25519_api_key' | 'ed25519_secret_key', string>
  }
  return {
    accountId,
    ecdsa: { name: credentials.api_key, secret: credentials.secret_key },
    ed25519: { name: credentials.ed25519_api_key, secret: credentials.ed25519_secret_key },
  }
}

interface JwtParts {
  header?: Record<string, unknown>
  claims?: Record<string, unknown>
}

/** Follows Coinbase's documents unless a test overrides a member. */
export function makeJwt(key: ApiKey, uri: string, nowMs: number, { header = {}, claims = {} }: JwtParts = {}): string {
  const isEcdsa = key.secret.startsWith('-----BEGIN')
  const nbf = Math.floor(nowMs / 1_000)
  const parts = [
    { alg: isEcdsa ? 'ES256' : 'EdDSA', typ: 'JWT', kid: key.name, nonce: randomUUID(), ...header },
    { iss: 'cdp', sub: key.name, nbf, exp: nbf + 120, uri, ...claims },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  const data = Buffer.from(parts.join('.'))
  const signature = isEcdsa
    ? sign('sha256', data, { key: createPrivateKey(key.secret), dsaEncoding: 'ieee-p1363' })
    : sign(null, data, ed25519KeyOf(key.secret))
  return [...parts, signature.toString('base64url')].join('.')
}

function ed25519KeyOf(secret: string): KeyObject {
  const bytes = Buffer.from(secret, 'base64')
  const [d, x] = [bytes.subarray(0, 32), bytes.subarray(32)].map((part) => part.toString('base64url'))
  return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d: d ?? '', x: x ?? '' }, format: 'jwk' })
}

export interface KeyClient {
  accountId: string
  get(pathAndQuery: string): Promise<Response>
  /** `get`, and the body of a 200. */
  read<T>(pathAndQuery: string): Promise<T>
  /** Follows `next_uri` to its end. */
  readAll<T>(pathAndQuery: string): Promise<T[]>
}

interface Page<T> {
  pagination: { next_uri: string | null }
  data: T[]
}

export async function openKey(
  { sandbox, clock }: { sandbox: Sandbox; clock: TestClock },
  scenario: string,
  account?: string,
): Promise<KeyClient> {
  const { accountId, ecdsa } = await mint(sandbox, scenario, account)
  const self: KeyClient = {
    accountId,
    get(pathAndQuery) {
      const [path = ''] = pathAndQuery.split('?')
      const token = makeJwt(ecdsa, `GET api.coinbase.com${path}`, clock.nowMs)
      return fetch(sandbox.urls.coinbase + pathAndQuery, { headers: { authorization: `Bearer ${token}` } })
    },
    async read<T>(pathAndQuery: string) {
      const response = await self.get(pathAndQuery)
      if (response.status !== 200) throw new Error(`${pathAndQuery}: ${response.status} ${await response.text()}`)
      return (await response.json()) as T
    },
    async readAll<T>(pathAndQuery: string) {
      const all: T[] = []
      for (let next: string | null = pathAndQuery; next !== null;) {
        const page: Page<T> = await self.read<Page<T>>(next)
        all.push(...page.data)
        next = page.pagination.next_uri
      }
      return all
    },
  }
  return self
}

export interface Asked {
  fields: Record<string, string>
  state: string
  verifier: string
}

type Tokens = oauth.TokenEndpointResponse

export interface SignInClient {
  ask(scope?: string): Promise<Asked>
  /** Answers the page: 303 with where to go, or a page. */
  decide(asked: Asked, answer: Record<string, string>, grants?: readonly string[]): Promise<Response>
  redeem(asked: Asked, answered: Response): Promise<Tokens>
  /** All three. */
  signIn(account?: string, scope?: string): Promise<Tokens>
  refresh(tokens: { refresh_token?: string }): Promise<Tokens>
  revoke(token: string): Promise<void>
  get(token: string, path: string): Promise<Response>
}

export function openSignIn({ urls: { coinbase: url } }: Pick<Sandbox, 'urls'>): SignInClient {
  const server = {
    issuer: url,
    authorization_endpoint: `${url}/oauth2/auth`,
    token_endpoint: `${url}/oauth2/token`,
    revocation_endpoint: `${url}/oauth2/revoke`,
  }
  const client = { client_id: 'assay-sandbox' }
  const authentication = oauth.ClientSecretPost('coinbase-client-secret')
  const loose = { [oauth.allowInsecureRequests]: true }

  const self: SignInClient = {
    async ask(scope = readEverything) {
      const verifier = oauth.generateRandomCodeVerifier()
      const state = randomUUID()
      const fields = {
        response_type: 'code',
        ...client,
        redirect_uri: redirectUri,
        scope,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }
      return { fields, state, verifier }
    },
    decide({ fields }, answer, grants = []) {
      const body = new URLSearchParams({ ...fields, ...answer })
      for (const grant of grants) body.append('grant', grant)
      return fetch(server.authorization_endpoint, { method: 'POST', body, redirect: 'manual' })
    },
    async redeem({ state, verifier }, answered) {
      const callback = new URL(answered.headers.get('location') ?? '')
      const parameters = oauth.validateAuthResponse(server, client, callback, state)
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authentication,
        parameters,
        redirectUri,
        verifier,
        loose,
      )
      return oauth.processAuthorizationCodeResponse(server, client, response)
    },
    async signIn(account = 'default', scope) {
      const asked = await self.ask(scope)
      return self.redeem(asked, await self.decide(asked, { account, decision: 'allow' }))
    },
    async refresh({ refresh_token = '' }) {
      const response = await oauth.refreshTokenGrantRequest(server, client, authentication, refresh_token, loose)
      return oauth.processRefreshTokenResponse(server, client, response)
    },
    async revoke(token) {
      const response = await oauth.revocationRequest(server, client, authentication, token, loose)
      await oauth.processRevocationResponse(response)
    },
    get: (token, path) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } }),
  }
  return self
}
