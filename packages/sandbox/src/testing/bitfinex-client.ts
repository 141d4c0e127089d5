/**
 * A bare client for tests: signs a call, sends it and returns what came back. Its signature is the simulator's own,
 * which `ccxt.test.ts` holds against ccxt.
 */
import { signatureOf } from '../bitfinex/authentication.ts'
import type { Sandbox } from '../index.ts'
import { control } from './kraken-client.ts'

export interface BitfinexKey {
  apiKey: string
  secret: string
}

export interface BitfinexTestAccount extends BitfinexKey {
  accountId: string
  /** Signed with the next nonce; `name` is what follows /v2/auth/r/. */
  call(name: string, parameters?: Record<string, number>): Promise<Response>
  /** `call`, and the body. */
  ask(name: string, parameters?: Record<string, number>): Promise<unknown[]>
}

// Shared by all: a file may open the same account twice, and its nonces must continue to rise.
let lastNonce = 0

export async function openBitfinexAccount(
  sandbox: Sandbox,
  scenario: string,
  account = 'remy',
): Promise<BitfinexTestAccount> {
  const minted = (await control(sandbox, 'POST', 'accounts', { provider_id: 'bitfinex', scenario, account })) as {
    account_id: string
    credentials: { api_key: string; secret_key: string }
  }
  const { api_key: apiKey, secret_key: secret } = minted.credentials
  const call = async (name: string, parameters: Record<string, number> = {}): Promise<Response> => {
    lastNonce += 1
    return send(sandbox, { apiKey, secret }, name, parameters, String(lastNonce))
  }
  const ask = async (name: string, parameters?: Record<string, number>): Promise<unknown[]> =>
    (await (await call(name, parameters)).json()) as unknown[]
  return { accountId: minted.account_id, apiKey, secret, call, ask }
}

/** Sends exactly these parameters, signed with this secret and nonce. */
export async function send(
  sandbox: Sandbox,
  key: BitfinexKey,
  name: string,
  parameters: Record<string, number>,
  nonce: string,
): Promise<Response> {
  const path = `/v2/auth/r/${name}`
  const body = JSON.stringify(parameters)
  const headers = {
    'bfx-apikey': key.apiKey,
    'bfx-nonce': nonce,
    'bfx-signature': signatureOf(key.secret, path, nonce, body),
    'content-type': 'application/json',
  }
  return fetch(sandbox.urls.bitfinex + path, { method: 'POST', headers, body })
}
