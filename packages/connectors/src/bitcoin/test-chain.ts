/** A small chain that answers as Esplora's API.md says, and what the engine keeps of a wallet that is read from it. */
import assert from 'node:assert/strict'
import { hourMs, SourceError } from '@assay/core'
import type {
  AccountReader,
  Balances,
  ConnectorState,
  Io,
  Page,
  RawRecord,
  WalletCredentials,
} from '../kit/connector.ts'
import { connector } from './connector.ts'
import { toWallet } from './wallet.ts'

export const zpub =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs'
const { branches } = toWallet({ type: 'wallet', extendedPublicKey: zpub })
/** Derived once, because each takes a millisecond or two and the tests use hundreds. */
const derived: string[] = []
export const receiving = (index: number): string => (derived[index] ??= branches[0].addressAt(index))
export const change = (index: number): string => branches[1]?.addressAt(index) ?? ''

export const startMs = Date.parse('2026-05-01T00:00:00Z')

interface Transaction {
  txid: string
  vin: { is_coinbase: boolean; prevout: Output; witness?: string[]; inner_witnessscript_asm?: string }[]
  vout: Output[]
  fee: number
  status: { confirmed: boolean; block_height?: number; block_hash?: string; block_time?: number }
}
interface Output {
  scriptpubkey_address: string
  value: number
}

/** Newest last. A height of undefined is the mempool. */
export class TestChain {
  tip = 900_000
  /** The branch that newly mined blocks belong to. */
  branch = 0
  nowMs = startMs
  transactions: Transaction[] = []
  /** What the server that answers for lists still has, when it is behind the one that answers for sums. */
  listed: Transaction[] | undefined
  asked: string[] = []
  /** The answers that the next calls get instead. */
  broken: (() => Response) | undefined
  #count = 0

  pay(from: Record<string, number>, to: Record<string, number>, height?: number): string {
    const toOutputs = (side: Record<string, number>): Output[] =>
      Object.entries(side).map(([scriptpubkey_address, value]) => ({ scriptpubkey_address, value }))
    const sumOf = (outputs: Output[]): number => outputs.reduce((sum, { value }) => sum + value, 0)
    const [spent, vout] = [toOutputs(from), toOutputs(to)]
    const txid = (this.#count += 1).toString(16).padStart(64, '0')
    const vin = spent.map((prevout) => ({ is_coinbase: false, prevout }))
    this.transactions.push({ txid, vin, vout, fee: sumOf(spent) - sumOf(vout), status: { confirmed: false } })
    if (height !== undefined) this.mine(txid, height)
    return txid
  }
  mine(txid: string, height: number): void {
    const block_time = Math.floor(startMs / 1000) - (900_000 - height) * 600
    const block_hash = `${this.branch}${height.toString(16)}`
    this.#get(txid).status = { confirmed: true, block_height: height, block_hash, block_time }
  }
  /** Moves the transaction back to the mempool. */
  unmine(txid: string): void {
    this.#get(txid).status = { confirmed: false }
  }
  #get(txid: string): Transaction {
    const found = this.transactions.find((one) => one.txid === txid)
    assert.ok(found)
    return found
  }
  drop(txid: string): void {
    this.transactions = this.transactions.filter((one) => one.txid !== txid)
  }

  #touching(address: string, transactions = this.transactions): Transaction[] {
    return transactions
      .filter(({ vin, vout }) =>
        [...vin.map(({ prevout }) => prevout), ...vout].some((one) => one.scriptpubkey_address === address),
      )
      .toSorted((a, b) => (b.status.block_height ?? Infinity) - (a.status.block_height ?? Infinity))
  }
  #statsOf(address: string, confirmed: boolean): object {
    const touching = this.#touching(address).filter(({ status }) => status.confirmed === confirmed)
    const sum = (outputs: Output[]): number =>
      outputs.filter((one) => one.scriptpubkey_address === address).reduce((total, { value }) => total + value, 0)
    return {
      tx_count: touching.length,
      funded_txo_sum: sum(touching.flatMap(({ vout }) => vout)),
      spent_txo_sum: sum(touching.flatMap(({ vin }) => vin.map(({ prevout }) => prevout))),
    }
  }
  #answer(path: string): unknown {
    const [, kind, id = '', list, , lastSeen] = path.split('/')
    if (path === '/blocks/tip/height') return this.tip
    if (kind === 'tx') return this.transactions.find(({ txid }) => txid === id)
    if (list === undefined) return { chain_stats: this.#statsOf(id, true), mempool_stats: this.#statsOf(id, false) }
    const touching = this.#touching(id, this.listed)
    const confirmed = touching.filter(({ status }) => status.confirmed)
    const place = confirmed.findIndex(({ txid }) => txid === lastSeen)
    if (lastSeen !== undefined) return place === -1 ? [] : confirmed.slice(place + 1, place + 26)
    return [...touching.filter(({ status }) => !status.confirmed), ...confirmed.slice(0, 25)]
  }

  /** The answer that the newest request would get. */
  answerLast(): Response {
    const answer = this.#answer(this.asked.at(-1) ?? '')
    return answer === undefined ? new Response('Transaction not found', { status: 404 }) : Response.json(answer)
  }

  open(credentials: Omit<WalletCredentials, 'type'> = { extendedPublicKey: zpub }): AccountReader {
    const io: Io = {
      fetch: async (input) => {
        const path = new URL(new Request(input).url).pathname.replace('/api', '')
        this.asked.push(path)
        if (this.broken !== undefined) return this.broken()
        return this.answerLast()
      },
      now: () => this.nowMs,
      nextNonce: () => '1',
      baseUrl: undefined,
    }
    return connector.open({ type: 'wallet', ...credentials }, io)
  }
}

/** What the engine keeps: records by key, and the newest state. */
export class Books {
  state: ConnectorState = {}
  records = new Map<string, RawRecord>()
  withdrawn: string[] = []
  pages: Page[] = []

  async readBalance(reader: AccountReader): Promise<string | undefined> {
    let answer: Balances
    do {
      answer = await reader.fetchBalances(this.state)
      this.state = JSON.parse(JSON.stringify(answer.state ?? this.state)) as ConnectorState
    } while (answer.isPartial === true)
    return answer.balances[0]?.liquid
  }
  async readWindow(reader: AccountReader, start: number, end: number): Promise<void> {
    let pageMark: string | null = null
    do {
      const request = { stream: 'transactions', partition: '', window: { unit: 'ms' as const, start, end } }
      const page: Page = await reader.fetchPage({
        ...request,
        pageMark,
        lastingMark: null,
        state: this.state,
      })
      this.pages.push(page)
      for (const record of page.records) this.records.set(record.key, record)
      for (const key of page.withdrawn ?? []) this.records.delete(key)
      this.withdrawn.push(...(page.withdrawn ?? []))
      this.state = JSON.parse(JSON.stringify(page.state ?? this.state)) as ConnectorState
      pageMark = page.next
    } while (pageMark !== null)
  }
  /** Reads the wallet like the engine does. */
  async run(chain: TestChain, reader = chain.open(), start = 0): Promise<string | undefined> {
    const untilMs = chain.nowMs
    const balance = await this.readBalance(reader)
    await this.readWindow(reader, start, untilMs)
    return balance
  }
  /** Runs as the engine does once the past is covered: the window has what is new, and a little of what came before. */
  async runLater(chain: TestChain, reader: AccountReader, laterMs = 24 * hourMs): Promise<void> {
    chain.nowMs += laterMs
    await this.run(chain, reader, chain.nowMs - laterMs - 2 * hourMs)
  }
  /** The fault that ends the run, or `read`. */
  async tryRun(chain: TestChain, reader: AccountReader, start: number): Promise<string> {
    try {
      await this.run(chain, reader, start)
      return 'read'
    } catch (error) {
      assert.ok(error instanceof SourceError)
      return error.fault
    }
  }
  async tryLater(chain: TestChain, reader: AccountReader): Promise<string> {
    chain.nowMs += 24 * hourMs
    return this.tryRun(chain, reader, chain.nowMs - 26 * hourMs)
  }
  get keys(): string[] {
    return [...this.records.keys()].toSorted()
  }
  isPending(txid: string): boolean | undefined {
    const record = this.records.get(txid)
    return record && record.pending === true
  }
}

export const keysOf = (chain: TestChain): string[] => chain.transactions.map(({ txid }) => txid).toSorted()
export const countOf = (chain: TestChain, pattern: RegExp): number =>
  chain.asked.filter((path) => pattern.test(path)).length
