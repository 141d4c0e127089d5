/** A bare client for tests: opens a wallet and asks the simulated Esplora about it. */
import { startSandbox, type Sandbox, type SandboxOptions } from '../index.ts'
import { control } from './kraken-client.ts'

export interface EsploraOutput {
  scriptpubkey: string
  scriptpubkey_asm: string
  scriptpubkey_type: string
  scriptpubkey_address?: string
  value: number
}

export interface EsploraInput {
  txid: string
  vout: number
  prevout: EsploraOutput | null
  scriptsig: string
  scriptsig_asm: string
  witness?: string[]
  is_coinbase: boolean
  sequence: number
  inner_redeemscript_asm?: string
}

export interface EsploraTransaction {
  txid: string
  version: number
  locktime: number
  vin: EsploraInput[]
  vout: EsploraOutput[]
  size: number
  weight: number
  fee: number
  status: { confirmed: boolean; block_height?: number; block_hash?: string; block_time?: number }
}

export interface WalletState {
  wallet: Record<string, string>
  tip: { height: number; hash: string }
  balances: { BTC: string }
  balance_sat: { confirmed: string; unconfirmed: string; total: string }
  addresses: { address: string; path: string; chain: string; index: number; balance_sat: string; tx_count: number }[]
  transactions: {
    txid: string
    kind: string
    confirmed: boolean
    block_height?: number
    block_hash?: string
    received_sat: string
    spent_sat: string
    net_sat: string
    fee_sat: string
    fee_paid_sat: string
    sent_to: { address: string; value_sat: string }[]
  }[]
  utxos: { txid: string; vout: number; address: string; value_sat: string }[]
}

export interface TestWallet {
  accountId: string
  credentials: Record<string, string>
  state(): Promise<WalletState>
  /** Posts to one of the account's controls. */
  change(control: 'entries' | 'withdrawn' | 'records' | 'key', body: object): Promise<unknown>
  get(path: string): Promise<Response>
  text(path: string): Promise<string>
  json<T>(path: string): Promise<T>
}

/** The clock leaps ten milliseconds with every look: enough that no counter fills up, and no block comes by itself. */
export async function startBitcoin(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  let nowMs = Date.UTC(2026, 10, 15)
  const now = (): number => (nowMs += 10)
  return startSandbox({ seed: 'test seed', pace: 'fast', log: () => undefined, now, ...options })
}

export async function openWallet(sandbox: Sandbox, scenario: string, account = 'nora'): Promise<TestWallet> {
  const minted = (await control(sandbox, 'POST', 'accounts', { provider_id: 'bitcoin', scenario, account })) as {
    account_id: string
    credentials: Record<string, string>
  }
  const path = `accounts/${minted.account_id}`
  const get = (asked: string): Promise<Response> => fetch(sandbox.urls.bitcoin + asked)
  return {
    accountId: minted.account_id,
    credentials: minted.credentials,
    state: async () => (await control(sandbox, 'GET', `${path}/state`)) as WalletState,
    change: (name, body) => control(sandbox, 'POST', `${path}/${name}`, body),
    get,
    text: async (asked) => (await get(asked)).text(),
    json: async <T>(asked: string) => (await (await get(asked)).json()) as T,
  }
}

/** Every confirmed transaction of an address, page by page. */
export async function readChain(wallet: TestWallet, address: string): Promise<EsploraTransaction[][]> {
  const pages: EsploraTransaction[][] = []
  for (let last = ''; ;) {
    const page = await wallet.json<EsploraTransaction[]>(`/address/${address}/txs/chain${last}`)
    if (page.length === 0) return pages
    pages.push(page)
    last = `/${page.at(-1)?.txid ?? ''}`
  }
}
