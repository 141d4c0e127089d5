/** A person's browser on the connect page, as far as the session API sees it: a secret in memory, and fetch. */
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { ErrorResponse, getSession, ResponseOf } from '@assay/contract'
import { startTestService, type TestService, type TestServiceOptions } from '../../../../../test/service.ts'
import { until as untilThere } from '../../../../../test/until.ts'
import { ownedBySuite } from '../../oauth/test-oauth.ts'

export type WireSession = ResponseOf<typeof getSession>['session']
export type Problem = ErrorResponse

export interface Answer<T> {
  status: number
  body: T
  headers: Headers
}

export interface AddAnswer {
  data: {
    added: boolean
    redirect_url: string | null
    connection_id: string | null
    status: string | null
    provider_id: string
  }
  errors: { cause: string; message: string; fix?: string }[]
}

export interface TestConnect extends TestService {
  call<T>(method: string, path: string, options?: { body?: unknown; secret?: string }): Promise<Answer<T>>
  beginConnectSession(parameters?: Record<string, string>): Promise<TestBrowser>
  /** A key of an account of its own, unless `account` names one. */
  mintKey(scenario: string, account?: string): Promise<{ api_key: string; secret_key: string }>
  moveClock(seconds: number): Promise<void>
}

export interface TestBrowser {
  secret: string
  session: WireSession
  verifier: string
  state: string
  call<T>(method: string, path: string, body?: unknown): Promise<Answer<T>>
  read(): Promise<WireSession>
  readMail(): Promise<string>
  signIn(email: string): Promise<WireSession>
  /** Agrees to the consent page of this session. */
  agree(more?: { language?: string; existing?: readonly string[] }): Promise<Answer<{ session: WireSession }>>
  /** Signed in and consented. */
  enter(email: string): Promise<WireSession>
  add(key: { api_key: string; secret_key: string }, more?: Record<string, unknown>): Promise<AddAnswer>
  finish(): Promise<URL>
  /** The application's side: the code for tokens. */
  redeem(redirect: URL): Promise<{ access_token: string; user_id: string; grant_id: string }>
}

/** Call it in an async `describe`. */
export async function startConnect(options: TestServiceOptions = {}): Promise<TestConnect> {
  const service = await startTestService(ownedBySuite(), options)
  const call: TestConnect['call'] = async (method, path, { body, secret } = {}) => {
    const response = await fetch(`${service.url}/connect/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as never, headers: response.headers }
  }
  const connect: TestConnect = {
    ...service,
    call,
    beginConnectSession: (parameters = {}) => beginInBrowser(connect, parameters),
    async mintKey(scenario, account = randomUUID()) {
      const response = await fetch(`${service.sandbox.controlUrl}/control/accounts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ provider_id: 'kraken', scenario, account }),
      })
      const { credentials } = (await response.json()) as { credentials: { api_key: string; secret_key: string } }
      return credentials
    },
    async moveClock(seconds) {
      const response = await fetch(`${service.url}/sandbox/clock`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ advance_ms: seconds * 1_000 }),
      })
      assert.equal(response.status, 200)
    },
  }
  return connect
}

export function toQuery(verifier: string, state: string, more: Record<string, string> = {}): string {
  return new URLSearchParams({
    client_id: 'cli_demo',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    ...more,
  }).toString()
}

interface Begun {
  session_secret: string
  session: WireSession
}

async function beginInBrowser(connect: TestConnect, parameters: Record<string, string>): Promise<TestBrowser> {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomUUID()
  const begun = await connect.call<Begun>('POST', '/session', { body: { query: toQuery(verifier, state, parameters) } })
  assert.equal(begun.status, 200)
  const { session_secret: secret, session } = begun.body
  const browser: TestBrowser = {
    secret,
    session,
    verifier,
    state,
    call: (method, path, body) => connect.call(method, path, body === undefined ? { secret } : { secret, body }),
    read: async () => (await browser.call<{ session: WireSession }>('GET', '/session')).body.session,
    async readMail() {
      type Help = { mail: { code: string } | null }
      return until(async () => (await browser.call<Help>('GET', '/session/sandbox')).body.mail?.code)
    },
    async signIn(email) {
      assert.equal((await browser.call('POST', '/session/email', { email })).status, 200)
      const code = await browser.readMail()
      const answer = await browser.call<{ session: WireSession }>('POST', '/session/code', { code })
      assert.equal(answer.status, 200)
      return answer.body.session
    },
    agree: (more = {}) => browser.call('POST', '/session/consent', { session_id: session.session_id, ...more }),
    async enter(email) {
      await browser.signIn(email)
      return (await browser.agree()).body.session
    },
    async add(key, more = {}) {
      const body = { provider_id: 'kraken', connection: { type: 'api_key', ...key }, ...more }
      const answer = await browser.call<AddAnswer>('POST', '/session/connections', body)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body
    },
    async finish() {
      const answer = await browser.call<{ redirect_to: string }>('POST', '/session/finish', {})
      assert.equal(answer.status, 200)
      return new URL(answer.body.redirect_to)
    },
    async redeem(redirect) {
      const response = await fetch(`${connect.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code: redirect.searchParams.get('code') ?? '',
          code_verifier: verifier,
          client_id: 'cli_demo',
          redirect_uri: 'http://127.0.0.1:4100/callback',
        }),
      })
      assert.equal(response.status, 200)
      return (await response.json()) as { access_token: string; user_id: string; grant_id: string }
    },
  }
  return browser
}

/** Asks again until there is an answer: jobs run beside the test, and nothing says how soon. */
export function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  return untilThere(ask.toString(), ask, 20)
}
