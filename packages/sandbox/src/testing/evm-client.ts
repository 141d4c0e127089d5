/**
 * A bare client for tests of the simulated chains: asks the account API and the node, and reads the control API's
 * state.
 */
import type { NetworkState } from '../evm/chain/account-state.ts'
import type { Sandbox } from '../index.ts'
import { control } from './kraken-client.ts'

export type WireRow = Record<string, string>

export interface ExplorerBody {
  status: string
  message: string
  result: unknown
}

export interface TestWallet {
  accountId: string
  /** The address from the control API, in upper and lower case. */
  address: `0x${string}`
  ask(chainId: number, action: string, parameters?: Record<string, string | number>): Promise<ExplorerBody>
  /** `ask`, and the rows. */
  list(chainId: number, action: string, parameters?: Record<string, string | number>): Promise<WireRow[]>
  state(): Promise<{ scenario: string; public_account_id: string; networks: NetworkState[] }>
  /** Returns the hashes. */
  book(...entries: object[]): Promise<string[]>
}

export async function openWallet(sandbox: Sandbox, scenario: string, account = 'nora'): Promise<TestWallet> {
  const minted = (await control(sandbox, 'POST', 'accounts', { provider_id: 'evm', scenario, account })) as {
    account_id: string
    credentials: { address: `0x${string}` }
  }
  const { account_id: accountId, credentials } = minted
  const { address } = credentials
  const ask: TestWallet['ask'] = (chainId, action, parameters = {}) =>
    askExplorer(sandbox, chainId, { module: 'account', action, address, ...parameters })
  return {
    accountId,
    address,
    ask,
    list: async (chainId, action, parameters) => (await ask(chainId, action, parameters)).result as WireRow[],
    state: () => control(sandbox, 'GET', `accounts/${accountId}/state`) as ReturnType<TestWallet['state']>,
    async book(...entries) {
      const { ids } = (await control(sandbox, 'POST', `accounts/${accountId}/entries`, { entries })) as {
        ids: string[]
      }
      return ids
    },
  }
}

export async function askExplorer(
  sandbox: Sandbox,
  chainId: number,
  parameters: Record<string, string | number>,
): Promise<ExplorerBody> {
  const query = new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return (await (await fetch(`${sandbox.urls.evm}/index/${chainId}/api?${query.toString()}`)).json()) as ExplorerBody
}

/** Sends this body to the node. */
export async function postRpc(sandbox: Sandbox, chainId: number, body: unknown): Promise<unknown> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (await fetch(`${sandbox.urls.evm}/rpc/${chainId}`, { method: 'POST', body: text })).json()
}

export async function askNode<T>(sandbox: Sandbox, chainId: number, method: string, ...params: unknown[]): Promise<T> {
  const answer = (await postRpc(sandbox, chainId, { jsonrpc: '2.0', id: 1, method, params })) as { result: T }
  return answer.result
}
