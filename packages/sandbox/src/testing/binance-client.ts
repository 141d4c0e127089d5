/**
 * A bare client for tests: signs a call, sends it and returns what came back. Its signature is the simulator's own,
 * which `authentication.test.ts` holds against Binance's published example and `ccxt.test.ts` against ccxt.
 */
import { signatureOf } from '../binance/authentication.ts'
import type { Sandbox } from '../index.ts'
import { control } from './kraken-client.ts'

export interface BinanceTestAccount {
  accountId: string
  apiKey: string
  secret: string
  /** Signed, with the server's own time as timestamp. */
  call(path: string, parameters?: Record<string, string | number>): Promise<Response>
  /** `call`, and the body. */
  ask<T = unknown>(path: string, parameters?: Record<string, string | number>): Promise<T>
}

export async function openBinanceAccount(
  sandbox: Sandbox,
  scenario: string,
  account = 'bea',
): Promise<BinanceTestAccount> {
  const minted = (await control(sandbox, 'POST', 'accounts', { provider_id: 'binance', scenario, account })) as {
    account_id: string
    credentials: { api_key: string; secret_key: string }
  }
  const { api_key: apiKey, secret_key: secret } = minted.credentials
  const call = async (path: string, parameters: Record<string, string | number> = {}): Promise<Response> => {
    const { serverTime } = (await (await fetch(`${sandbox.urls.binance}/api/v3/time`)).json()) as { serverTime: number }
    // The clock of test sandboxes moves by a second with every read.
    return send(sandbox, { apiKey, secret }, path, { timestamp: serverTime, recvWindow: 60_000, ...parameters })
  }
  const ask = async <T>(path: string, parameters?: Record<string, string | number>): Promise<T> =>
    (await (await call(path, parameters)).json()) as T
  return { accountId: minted.account_id, apiKey, secret, call, ask }
}

/** Sends exactly these parameters, signed with this secret. */
export async function send(
  sandbox: Sandbox,
  key: { apiKey: string; secret: string },
  path: string,
  parameters: Record<string, string | number>,
): Promise<Response> {
  const query = new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  const url = `${sandbox.urls.binance}${path}?${query}&signature=${signatureOf(key.secret, query)}`
  return fetch(url, { headers: { 'x-mbx-apikey': key.apiKey } })
}
