/**
 * A bare client for tests: signs a call, sends it and returns what came back. Its signature is the simulator's own,
 * which `ccxt.test.ts` holds against ccxt.
 */
import { signatureOf } from '../bybit/authentication.ts'
import type { Sandbox } from '../index.ts'
import { control } from './kraken-client.ts'

export interface BybitBody<Result = Record<string, unknown>> {
  retCode: number
  retMsg: string
  result: Result
  time: number
}

export interface BybitTestAccount {
  accountId: string
  apiKey: string
  secret: string
  /** Signed, with the server's own time as timestamp. */
  call(path: string, parameters?: Record<string, string | number>): Promise<Response>
  /** `call`, and the body. */
  ask<Result>(path: string, parameters?: Record<string, string | number>): Promise<BybitBody<Result>>
}

export async function openBybitAccount(
  sandbox: Sandbox,
  scenario: string,
  account = 'remy',
): Promise<BybitTestAccount> {
  const minted = (await control(sandbox, 'POST', 'accounts', { provider_id: 'bybit', scenario, account })) as {
    account_id: string
    credentials: { api_key: string; secret_key: string }
  }
  const { api_key: apiKey, secret_key: secret } = minted.credentials
  const call = async (path: string, parameters: Record<string, string | number> = {}): Promise<Response> => {
    const { time } = (await (await fetch(`${sandbox.urls.bybit}/v5/market/time`)).json()) as { time: number }
    // The clock of test sandboxes moves by a second with every read.
    return send(sandbox, { apiKey, secret }, path, parameters, { timestamp: time, recvWindow: 60_000 })
  }
  const ask = async <Result>(path: string, parameters?: Record<string, string | number>): Promise<BybitBody<Result>> =>
    (await (await call(path, parameters)).json()) as BybitBody<Result>
  return { accountId: minted.account_id, apiKey, secret, call, ask }
}

/** Sends exactly these parameters, signed with this secret at this time. */
export async function send(
  sandbox: Sandbox,
  key: { apiKey: string; secret: string },
  path: string,
  parameters: Record<string, string | number>,
  at: { timestamp: number | string; recvWindow?: number },
): Promise<Response> {
  const query = new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  const headers = {
    'x-bapi-api-key': key.apiKey,
    'x-bapi-timestamp': String(at.timestamp),
    'x-bapi-sign': signatureOf(key.secret, `${at.timestamp}${key.apiKey}${at.recvWindow ?? ''}${query}`),
    ...(at.recvWindow !== undefined && { 'x-bapi-recv-window': String(at.recvWindow) }),
  }
  return fetch(`${sandbox.urls.bybit}${path}?${query}`, { headers })
}
