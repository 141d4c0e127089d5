/**
 * A bare client for tests: signs a call, sends it and returns what came back. Its signature is the simulator's own,
 * which `authentication.test.ts` holds against Kraken's published example and `ccxt.test.ts` against ccxt.
 */
import { signatureOf } from '../kraken/authentication.ts'
import { startSandbox, type Sandbox, type SandboxOptions } from '../index.ts'

export interface KrakenBody {
  error: string[]
  result?: unknown
}

export interface TestAccount {
  accountId: string
  apiKey: string
  secret: string
  /** Signs with the next nonce. */
  call(method: string, parameters?: Record<string, string>): Promise<Response>
  /** `call`, and the body. */
  ask(method: string, parameters?: Record<string, string>): Promise<KrakenBody>
}

// Shared by all: a file may open the same account twice, and its nonces must continue to rise.
let lastNonce = 0

/** The clock leaps a second with every look, so that no counter fills up unless a test brings its own clock. */
export async function startTestSandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  let nowMs = Date.UTC(2026, 10, 15)
  const now = (): number => (nowMs += 1_000)
  return startSandbox({ seed: 'test seed', pace: 'fast', log: () => undefined, now, ...options })
}

export async function control(sandbox: Sandbox, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${sandbox.controlUrl}/control/${path}`, {
    method,
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer: unknown = await response.json()
  if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(answer)}`)
  return answer
}

export async function openAccount(sandbox: Sandbox, scenario: string, account = 'nora'): Promise<TestAccount> {
  const minted = (await control(sandbox, 'POST', 'accounts', { provider_id: 'kraken', scenario, account })) as {
    account_id: string
    credentials: { api_key: string; secret_key: string }
  }
  const { api_key: apiKey, secret_key: secret } = minted.credentials
  const call = async (method: string, parameters: Record<string, string> = {}): Promise<Response> => {
    lastNonce += 1
    return send(sandbox, { apiKey, secret }, method, { nonce: String(lastNonce), ...parameters })
  }
  const ask = async (method: string, parameters?: Record<string, string>): Promise<KrakenBody> =>
    (await (await call(method, parameters)).json()) as KrakenBody
  return { accountId: minted.account_id, apiKey, secret, call, ask }
}

/** Sends exactly these fields, signed with this secret. */
export async function send(
  sandbox: Sandbox,
  key: { apiKey: string; secret: string },
  method: string,
  fields: Record<string, string>,
): Promise<Response> {
  const path = `/0/private/${method}`
  const body = new URLSearchParams(fields).toString()
  const sign = signatureOf(key.secret, path, fields['nonce'] ?? '', body).toString('base64')
  const headers = { 'api-key': key.apiKey, 'api-sign': sign, 'content-type': 'application/x-www-form-urlencoded' }
  return fetch(sandbox.urls.kraken + path, { method: 'POST', headers, body })
}
