/** A bare client for tests of the simulated Solana network: asks the node, and reads the control API's state. */
import { startSandbox, type Sandbox, type SandboxOptions } from '../index.ts'
import type { WalletState } from '../solana/chain/account-state.ts'
import { control } from './kraken-client.ts'

export interface RpcBody {
  result?: unknown
  error?: { code: number; message: string; data?: unknown }
  id?: unknown
}

export interface TestWallet {
  accountId: string
  address: string
  state(): Promise<WalletState>
  /** Returns the signatures. */
  book(...entries: object[]): Promise<string[]>
  withdraw(...ids: string[]): Promise<unknown>
}

export interface TestNode {
  sandbox: Sandbox
  url: string
  /** Moves the clock of the test. */
  pass(ms: number): void
  post(body: unknown): Promise<Response>
  /** The text of a result, because numbers may be beyond 2^53. */
  askText(method: string, ...params: unknown[]): Promise<string>
  ask<T>(method: string, ...params: unknown[]): Promise<T>
  refusal(method: string, ...params: unknown[]): Promise<RpcBody['error']>
  open(scenario: string, account?: string): Promise<TestWallet>
}

/**
 * The clock stands still unless a test moves it, and the pace is so fast that a limit shows only where it is looked
 * for.
 */
export async function startNode(options: Partial<SandboxOptions> = {}): Promise<TestNode> {
  let nowMs = Date.UTC(2026, 10, 15)
  // Calls are counted by the clock: ten milliseconds for each look keep the limits away from tests of other things.
  const now = (): number => (nowMs += options.pace === 'real' ? 0 : 10)
  const sandbox = await startSandbox({ seed: 'test seed', pace: 'fast', log: () => undefined, now, ...options })
  const url = sandbox.urls.solana
  const post: TestNode['post'] = (body) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })
  }
  const call = async (method: string, params: readonly unknown[]): Promise<string> =>
    (await post({ jsonrpc: '2.0', id: 1, method, params })).text()
  return {
    sandbox,
    url,
    pass: (ms) => void (nowMs += ms),
    post,
    askText: (method, ...params) => call(method, params),
    async ask<T>(method: string, ...params: unknown[]) {
      const body = JSON.parse(await call(method, params)) as RpcBody
      if (body.error !== undefined) throw new Error(`${method}: ${body.error.code} ${body.error.message}`)
      return body.result as T
    },
    refusal: async (method, ...params) => (JSON.parse(await call(method, params)) as RpcBody).error,
    open: (scenario, account = 'nora') => openWallet(sandbox, scenario, account),
  }
}

async function openWallet(sandbox: Sandbox, scenario: string, account: string): Promise<TestWallet> {
  const minted = (await control(sandbox, 'POST', 'accounts', { provider_id: 'solana', scenario, account })) as {
    account_id: string
    credentials: { address: string }
  }
  const path = `accounts/${minted.account_id}`
  return {
    accountId: minted.account_id,
    address: minted.credentials.address,
    state: async () => (await control(sandbox, 'GET', `${path}/state`)) as WalletState,
    book: async (...entries) =>
      ((await control(sandbox, 'POST', `${path}/entries`, { entries })) as { ids: string[] }).ids,
    withdraw: (...ids) => control(sandbox, 'POST', `${path}/withdrawn`, { ids }),
  }
}
