/**
 * A bare client for tests: signs a call, sends it and returns what came back. Its signature is the simulator's own,
 * which `ccxt.test.ts` holds against ccxt.
 */
import type { Sandbox } from '../index.ts'
import { signatureOf } from '../okx/authentication.ts'
import { control } from './kraken-client.ts'

export interface OkxBody<Row = Record<string, string>> {
  code: string
  msg: string
  data: Row[]
}

export interface OkxKey {
  apiKey: string
  secret: string
  passphrase: string
}

export interface OkxTestAccount extends OkxKey {
  accountId: string
  /** Signed, with the server's own time as timestamp. */
  call(path: string, parameters?: Record<string, string | number>): Promise<Response>
  /** `call`, and the body. */
  ask<Row = Record<string, string>>(path: string, parameters?: Record<string, string | number>): Promise<OkxBody<Row>>
}

export async function openOkxAccount(sandbox: Sandbox, scenario: string, account = 'remy'): Promise<OkxTestAccount> {
  const minted = (await control(sandbox, 'POST', 'accounts', { provider_id: 'okx', scenario, account })) as {
    account_id: string
    credentials: { api_key: string; secret_key: string; passphrase: string }
  }
  const { api_key: apiKey, secret_key: secret, passphrase } = minted.credentials
  const call = async (path: string, parameters: Record<string, string | number> = {}): Promise<Response> => {
    const { data } = (await (await fetch(`${sandbox.urls.okx}/api/v5/public/time`)).json()) as OkxBody
    return send(sandbox, { apiKey, secret, passphrase }, path, parameters, Number(data[0]?.['ts']))
  }
  const ask = async <Row>(path: string, parameters?: Record<string, string | number>): Promise<OkxBody<Row>> =>
    (await (await call(path, parameters)).json()) as OkxBody<Row>
  return { accountId: minted.account_id, apiKey, secret, passphrase, call, ask }
}

/** Sends exactly these parameters, signed with this secret at this time. */
export async function send(
  sandbox: Sandbox,
  key: OkxKey,
  path: string,
  parameters: Record<string, string | number>,
  atMs: number,
): Promise<Response> {
  const query = new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  const asked = query === '' ? path : `${path}?${query}`
  const timestamp = new Date(atMs).toISOString()
  const headers = {
    'ok-access-key': key.apiKey,
    'ok-access-passphrase': key.passphrase,
    'ok-access-timestamp': timestamp,
    'ok-access-sign': signatureOf(key.secret, `${timestamp}GET${asked}`),
  }
  return fetch(`${sandbox.urls.okx}${asked}`, { headers })
}
