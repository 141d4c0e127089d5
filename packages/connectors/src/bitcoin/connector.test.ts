/** The connector against a small chain of our own that answers as Esplora's API.md says. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hourMs, SourceError } from '@assay/core'
import type {
  Balances,
  ConnectorState,
  Io,
  Page,
  RawRecord,
  AccountReader,
  WalletCredentials,
} from '../kit/connector.ts'
import { connector } from './connector.ts'
import { gapLimit, replaceableDepth } from './definition.ts'
import { toWallet } from './wallet.ts'

const zpub =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs'
const { branches } = toWallet({ type: 'wallet', extendedPublicKey: zpub })
/** Derived once, because each takes a millisecond or two and the tests use hundreds. */
const derived: string[] = []
const receiving = (index: number): string => (derived[index] ??= branches[0].addressAt(index))
const change = (index: number): string => branches[1]?.addressAt(index) ?? ''

const startMs = Date.parse('2026-05-01T00:00:00Z')

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
class TestChain {
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
class Books {
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

const keysOf = (chain: TestChain): string[] => chain.transactions.map(({ txid }) => txid).toSorted()
const countOf = (chain: TestChain, pattern: RegExp): number => chain.asked.filter((path) => pattern.test(path)).length

describe('a wallet', () => {
  it('is found with its change, up to twenty unused addresses behind the last used one of each chain', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 1_000_000 }, { [receiving(0)]: 900_000 }, 800_000)
    chain.pay({ payer: 1_000_000 }, { [receiving(gapLimit)]: 500_000 }, 800_001)
    chain.pay({ [receiving(0)]: 900_000 }, { shop: 300_000, [change(2)]: 590_000 }, 800_002)
    // This address lies beyond the gap, where a wallet would not find it either.
    chain.pay({ payer: 1_000_000 }, { [receiving(gapLimit * 2 + 1)]: 1 }, 800_003)
    const books = new Books()
    assert.equal(await books.run(chain), '0.0109')
    assert.deepEqual(books.keys, keysOf(chain).slice(0, 3))
    const asked = new Set(chain.asked.filter((path) => /^\/address\/[^/]+$/.test(path)))
    assert.equal(asked.size, gapLimit * 2 + 1 + (3 + gapLimit))
  })

  it('never shows its key to the server, the state or a record', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 1_000_000 }, { [receiving(0)]: 900_000 })
    const books = new Books()
    await books.run(chain)
    const shown = JSON.stringify([chain.asked, books.state, books.pages])
    assert.ok(shown.includes(receiving(0)))
    assert.doesNotMatch(shown, /[xyz]pub/)
    assert.ok(!shown.includes(zpub.slice(4, 30)))
  })

  it('is queried for funded and unused addresses in every run, and for emptied ones once a day', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(index)]: 1_000 }, 700_000 + index)
      if (index !== 7) chain.pay({ [receiving(index)]: 1_000 }, { shop: 500 }, 750_000 + index)
    }
    const books = new Books()
    assert.equal(await books.run(chain), '0.00001')
    assert.equal(books.keys.length, 119)
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain)
    assert.equal(countOf(chain, /^\/address\/[^/]+$/), 1 + 2 * gapLimit)
    assert.equal(countOf(chain, /\/txs/), 0)
    // A payment comes in at an address that was used before.
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 899_000)
    chain.nowMs += 24 * hourMs
    chain.asked = []
    assert.equal(await books.run(chain), '0.000025')
    assert.equal(countOf(chain, /\/txs/), 1)
    assert.equal(books.keys.length, 120)
  })

  it('of a key of unknown kind is queried for every kind once a day, and for the used kind in every run', async () => {
    const xpub =
      'xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj'
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { '1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA': 1_000 }, 700_000)
    const books = new Books()
    assert.equal(await books.run(chain, chain.open({ extendedPublicKey: xpub })), '0.00001')
    assert.equal(countOf(chain, /^\/address\/[^/]+$/), 8 * gapLimit + 1)
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain, chain.open({ extendedPublicKey: xpub }))
    assert.equal(countOf(chain, /^\/address\/[^/]+$/), 2 * gapLimit + 1)
  })
})

describe('a history', () => {
  const single = { address: receiving(0) }

  it('of several pages is read to its end, and the rest of it from where the last weeks ended', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 130; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 880_000 + index * 150)
    }
    const books = new Books()
    const reader = chain.open(single)
    const edge = startMs - 40 * 24 * hourMs
    await books.run(chain, reader, edge)
    const [recent, asked] = [books.keys.length, countOf(chain, /\/txs/)]
    assert.ok(recent > 25 && recent < 130)
    await books.readWindow(reader, 0, edge)
    assert.deepEqual(books.keys, keysOf(chain))
    // 130 transactions make six pages, and none was requested twice.
    assert.deepEqual([asked < 6, countOf(chain, /\/txs/)], [true, 6])
  })

  it('is read again only down to what is known', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 100; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000 + index)
    }
    const books = new Books()
    await books.run(chain, chain.open(single))
    chain.asked = []
    chain.nowMs += hourMs
    for (let index = 0; index < 30; index += 1) chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 890_000 + index)
    await books.run(chain, chain.open(single))
    assert.deepEqual(books.keys, keysOf(chain))
    assert.equal(countOf(chain, /\/txs/), 2)
  })

  for (const [name, before] of [
    ['that was used before', 30],
    ['of a few days', 3],
    ['that was never used', 0],
  ] as const) {
    it(`of an address ${name} gets a payment that was in the sums before it was in the list`, async () => {
      const chain = new TestChain()
      for (let index = 0; index < before; index += 1) {
        chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, before === 30 ? 800_000 + index : 899_998)
      }
      const books = new Books()
      await books.run(chain, chain.open(single))
      chain.listed = structuredClone(chain.transactions)
      const paid = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 900_000)
      chain.nowMs += hourMs
      await books.run(chain, chain.open(single))
      assert.ok(!books.records.has(paid))
      chain.listed = undefined
      chain.nowMs += hourMs
      await books.run(chain, chain.open(single))
      assert.deepEqual(books.keys, keysOf(chain))
      // From then on the address is read.
      chain.asked = []
      chain.nowMs += hourMs
      await books.run(chain, chain.open(single))
      assert.equal(countOf(chain, /\/txs/), 0)
    })
  }

  it('is read again when the list has as many payments in blocks as the sums, but another one', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    const books = new Books()
    await books.run(chain, chain.open(single))
    // The tip of the server that lists has another block than the one that counts.
    const other = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_200 }, 900_000)
    chain.listed = structuredClone(chain.transactions)
    chain.unmine(other)
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 900_000)
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single))
    assert.equal(books.keys.length, 2)
    chain.listed = undefined
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single))
    assert.deepEqual(books.keys, keysOf(chain))
  })

  it('whose rest is read later has a payment that the newest list lacked', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 880_000 + index * 300)
    }
    chain.listed = structuredClone(chain.transactions)
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 900_000)
    const books = new Books()
    const edge = startMs - 40 * 24 * hourMs
    await books.run(chain, chain.open(single), edge)
    await books.readWindow(chain.open(single), 0, edge)
    assert.equal(books.keys.length, 60)
    chain.listed = undefined
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single), edge)
    assert.deepEqual(books.keys, keysOf(chain))
  })

  it('of an address that is found late, behind a gap that closes, is read to its end', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(gapLimit + 5)]: 1_000 }, 850_000 + index * 160)
    }
    const books = new Books()
    await books.run(chain)
    assert.deepEqual(books.keys, [])
    chain.pay({ payer: 2_000 }, { [receiving(10)]: 1_000 }, 899_990)
    await books.runLater(chain, chain.open())
    assert.deepEqual(books.keys, keysOf(chain))
    chain.asked = []
    await books.runLater(chain, chain.open())
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  it('of an address that is found late is read in parts, and its windows are holes until the last part', async () => {
    const chain = new TestChain()
    const books = new Books()
    await books.run(chain, chain.open(single))
    // The sums and the list of this address were empty, as on a server that rebuilds its index.
    const count = 6_000
    for (let index = 0; index < count; index += 1)
      chain.pay({ stranger: 700 }, { [receiving(0)]: 546 }, 800_000 + index)
    const tries: string[] = []
    do {
      tries.push(await books.tryLater(chain, chain.open(single)))
      assert.ok(books.keys.length >= Math.min(count, tries.length * 2_500))
    } while (tries.length < 5 && tries.at(-1) !== 'read')
    assert.deepEqual(tries, ['data_hole', 'data_hole', 'read'])
    assert.equal(books.keys.length, count)
    // Each page once, and one that ends the list: the number of transactions is a multiple of the page's.
    assert.equal(countOf(chain, /\/txs/), count / 25 + 1)
  })

  it('that continues over weeks of payments ends where its list ends', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 880_000 + index * 300)
    }
    const books = new Books()
    const edge = startMs - 40 * 24 * hourMs
    await books.run(chain, chain.open(single), edge)
    const paid = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 900_000)
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single), startMs - 2 * hourMs)
    assert.ok(books.records.has(paid))
    await books.readWindow(chain.open(single), 0, edge)
    assert.deepEqual(books.keys, keysOf(chain))
    chain.asked = []
    await books.runLater(chain, chain.open(single))
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  for (const [name, firstHeight] of [
    ['in its middle', 800_000],
    ['at a block that may be replaced', 899_950],
  ] as const) {
    it(`that ends before its count ${name} is a hole, and is read to its end by the next try`, async () => {
      const chain = new TestChain()
      for (let index = 0; index < 150; index += 1) {
        chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, firstHeight + Math.floor(index / 4))
      }
      const books = new Books()
      chain.broken = () =>
        countOf(chain, /\/txs\/chain/) === 3 && /\/txs\/chain/.test(chain.asked.at(-1) ?? '')
          ? Response.json([])
          : chain.answerLast()
      assert.equal(await books.tryRun(chain, chain.open(single), 0), 'data_hole')
      assert.equal(books.keys.length, 75)
      chain.broken = undefined
      chain.asked = []
      await books.readWindow(chain.open(single), 0, chain.nowMs)
      assert.deepEqual(books.keys, keysOf(chain))
      // A settled place is not lost: the newest page is read again, and the three that are missing.
      if (firstHeight === 800_000) assert.ok(countOf(chain, /\/txs/) <= 5, `${countOf(chain, /\/txs/)} pages`)
    })
  }

  it('whose list never has what its count has is a hole for a day, and then costs few requests', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 50; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000 + index)
    }
    chain.listed = structuredClone(chain.transactions)
    const unlisted = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 799_000)
    const books = new Books()
    assert.equal(await books.tryRun(chain, chain.open(single), 0), 'data_hole')
    assert.equal(await books.tryRun(chain, chain.open(single), 0), 'data_hole')
    chain.nowMs += 24 * hourMs
    assert.equal(await books.tryRun(chain, chain.open(single), 0), 'read')
    chain.asked = []
    const days = 64
    for (let day = 0; day < days; day += 1) assert.equal(await books.tryLater(chain, chain.open(single)), 'read')
    // One page a day, and the two others again after 1, 2, 4, … days.
    assert.ok(countOf(chain, /\/txs/) < days + 3 * Math.log2(days), `${countOf(chain, /\/txs/)} pages`)
    chain.listed = undefined
    for (let day = 0; day < 2 * days; day += 1) await books.runLater(chain, chain.open(single))
    assert.ok(books.records.has(unlisted))
    chain.asked = []
    await books.runLater(chain, chain.open(single))
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  it('agrees with its sums when a newer window is read before an older one continues', async () => {
    const chain = new TestChain()
    const payAt = (height: number): string => chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, height)
    for (let index = 0; index < 30; index += 1) payAt(800_000 + index)
    const books = new Books()
    await books.run(chain, chain.open(single))
    for (let index = 0; index < 60; index += 1) payAt(890_000 + index)
    chain.nowMs += hourMs
    await books.readBalance(chain.open(single))
    const window = { unit: 'ms' as const, start: chain.nowMs - 3 * hourMs, end: chain.nowMs }
    const request = { stream: 'transactions', partition: '', window, lastingMark: null }
    const first = await chain.open(single).fetchPage({ ...request, pageMark: null, state: books.state })
    assert.ok(first.next !== null)
    books.state = first.state ?? books.state
    await books.runLater(chain, chain.open(single), hourMs)
    assert.deepEqual(books.keys, keysOf(chain))
    const rest = await chain.open(single).fetchPage({ ...request, pageMark: first.next, state: books.state })
    assert.deepEqual([rest.records, rest.next], [[], null])
    books.state = rest.state ?? books.state
    payAt(895_000)
    await books.runLater(chain, chain.open(single), hourMs)
    assert.deepEqual(books.keys, keysOf(chain))
    chain.asked = []
    await books.runLater(chain, chain.open(single), hourMs)
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  it('that lacked a payment in its middle is read again as a whole', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000 + index)
    }
    chain.listed = chain.transactions.toSpliced(30, 1)
    const books = new Books()
    await books.run(chain, chain.open(single))
    assert.equal(books.keys.length, 59)
    chain.listed = undefined
    for (let run = 0; run < 2; run += 1) await books.runLater(chain, chain.open(single))
    assert.deepEqual(books.keys, keysOf(chain))
  })

  it('of a busy address is not read again as a whole, however often its list is ahead of its sums', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 200; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000 + index)
    }
    const books = new Books()
    await books.run(chain, chain.open(single))
    chain.asked = []
    for (let day = 1; day <= 20; day += 1) {
      chain.nowMs += 24 * hourMs
      await books.readBalance(chain.open(single))
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 880_000 + day)
      await books.readWindow(chain.open(single), chain.nowMs - 26 * hourMs, chain.nowMs)
    }
    assert.deepEqual(books.keys, keysOf(chain))
    assert.equal(countOf(chain, /\/txs/), 19)
  })

  it('of five hundred addresses costs requests for its activity, not for its length', async () => {
    const chain = new TestChain()
    const used = 500
    const payments = 10
    for (let index = 0; index < used; index += 1) chain.pay({ payer: 2 }, { [receiving(index)]: 1 }, 800_000)
    // Everything except the last ten has been spent.
    const spent = Object.fromEntries(Array.from({ length: used - payments }, (_, index) => [receiving(index), 1]))
    chain.pay(spent, { shop: 1 }, 800_001)
    const books = new Books()
    await books.run(chain)
    assert.deepEqual(books.keys, keysOf(chain))
    const isList = /\/txs/
    // Each address with a history is asked for it once; the unused ones behind the last are asked for a balance alone.
    assert.deepEqual([countOf(chain, isList), countOf(chain, /^\/address\/[^/]+$/)], [used, used + 2 * gapLimit])

    // An hour later only funded and unused addresses are queried, whatever came before them.
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain)
    assert.deepEqual([countOf(chain, isList), countOf(chain, /^\/address\/[^/]+$/)], [0, payments + 2 * gapLimit])

    // One payment costs the history of one more address.
    const paid = chain.pay({ payer: 2 }, { [receiving(used)]: 1 }, 900_000)
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain)
    assert.ok(books.records.has(paid))
    assert.deepEqual([countOf(chain, isList), countOf(chain, /^\/address\/[^/]+$/)], [1, payments + 1 + 2 * gapLimit])
  })

  it('asks for nothing but the addresses when nothing has changed', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    const books = new Books()
    await books.run(chain, chain.open(single))
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single))
    assert.deepEqual(chain.asked, [`/address/${receiving(0)}`])
  })

  it('is read when strangers pay with inscriptions of the largest size that nodes relay', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ stranger: 2_000 }, { [receiving(0)]: 546 }, 800_000 + index)
    }
    const script = 'ab'.repeat(390_000)
    const asm = `OP_PUSHBYTES_32 ${script} OP_CHECKSIG OP_0 OP_IF OP_PUSHBYTES_3 6f7264`
    for (const { vin } of chain.transactions.slice(10, 40)) {
      for (const input of vin)
        Object.assign(input, { witness: ['00'.repeat(64), script], inner_witnessscript_asm: asm })
    }
    const books = new Books()
    assert.equal(await books.run(chain, chain.open(single)), '0.0003276')
    assert.deepEqual(books.keys, keysOf(chain))
    assert.ok([...books.records.values()].every(({ body, unreadable }) => body.length < 1_000 && !unreadable))
  })

  it('keeps a transaction that cannot be read, and continues', async () => {
    const chain = new TestChain()
    const odd = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_001)
    Object.assign(chain.transactions[0] ?? {}, { fee: 'much' })
    const books = new Books()
    await books.run(chain, chain.open(single))
    assert.deepEqual(books.keys, keysOf(chain))
    assert.match(books.records.get(odd)?.unreadable ?? '', /fee/)
  })
})

describe('a transaction that may still change', () => {
  it('is pending in the mempool and until six blocks deep, then confirmed', async () => {
    const chain = new TestChain()
    const books = new Books()
    const txid = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 })
    assert.equal(await books.run(chain), '0')
    assert.equal(books.records.get(txid)?.occurredAtMs, startMs)
    const balances = []
    for (const [height, isPending] of [
      [900_001, true],
      [900_005, true],
      [900_006, false],
    ] as const) {
      chain.mine(txid, 900_001)
      chain.tip = height
      chain.nowMs += hourMs
      balances.push(await books.run(chain))
      assert.equal(books.isPending(txid), isPending, `at ${height}`)
    }
    assert.deepEqual(balances, ['0.00001', '0.00001', '0.00001'])
    for (const [depth, count] of [
      [replaceableDepth - 1, 1],
      [replaceableDepth, 0],
    ] as const) {
      chain.tip = 900_000 + depth
      chain.asked = []
      chain.nowMs += hourMs
      await books.run(chain)
      assert.equal(countOf(chain, /\/tx/), count, `at a depth of ${depth}`)
      assert.equal(books.isPending(txid), false)
    }
  })

  it('is followed in the mempool up to a limit when strangers send thousands, and is found when it is in a block', async () => {
    const chain = new TestChain()
    const sent = Array.from({ length: 5_000 }, () => chain.pay({ stranger: 600 }, { [receiving(0)]: 546 }))
    const books = new Books()
    const reader = chain.open({ address: receiving(0) })
    await books.readBalance(reader)
    await books.readWindow(reader, startMs - hourMs, startMs)
    assert.ok(JSON.stringify(books.state).length < 2 ** 18)
    const followed = books.records.size
    assert.ok(followed >= 200 && followed < 1_000, String(followed))

    const mined = sent.find((txid) => !books.records.has(txid))
    assert.ok(mined !== undefined)
    chain.mine(mined, 900_000)
    chain.nowMs += hourMs
    chain.asked = []
    await books.readBalance(reader)
    await books.readWindow(reader, startMs, startMs + hourMs)
    assert.ok(books.records.has(mined))
    assert.ok(chain.asked.length < followed + 20, `${chain.asked.length} requests`)
  })

  it('is found in the mempool of the next server when the list of another did not have it', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    const books = new Books()
    const reader = chain.open({ address: receiving(0) })
    await books.run(chain, reader)
    chain.listed = structuredClone(chain.transactions)
    const waiting = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 })
    await books.runLater(chain, reader, hourMs)
    assert.ok(!books.records.has(waiting))
    chain.listed = undefined
    await books.runLater(chain, reader, hourMs)
    assert.equal(books.isPending(waiting), true)
    chain.asked = []
    await books.runLater(chain, reader, hourMs)
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  it('is withdrawn when the list of its address no longer has it, although a newer one is still in its block', async () => {
    const chain = new TestChain()
    const books = new Books()
    const reader = chain.open({ address: receiving(0) })
    const ghost = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 899_950)
    const newer = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 899_990)
    await books.run(chain, reader)
    assert.deepEqual([books.isPending(ghost), books.isPending(newer)], [false, false])
    chain.drop(ghost)
    for (let run = 0; run < 2; run += 1) await books.runLater(chain, reader, hourMs)
    assert.deepEqual([books.keys, books.withdrawn], [[newer], [ghost]])
  })

  it('is withdrawn when the mempool drops it, and its replacement is found even with the same value', async () => {
    const chain = new TestChain()
    const books = new Books()
    const first = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 })
    await books.run(chain)
    chain.drop(first)
    const second = chain.pay({ payer: 1_900 }, { [receiving(0)]: 1_000 })
    chain.nowMs += hourMs
    await books.run(chain)
    assert.deepEqual([books.keys, books.withdrawn], [[second], [first]])
    chain.drop(second)
    chain.nowMs += hourMs
    await books.run(chain)
    assert.deepEqual([books.keys, books.withdrawn], [[], [first, second]])
  })

  it('leaves no duplicate and no ghost when its block is replaced', async () => {
    const chain = new TestChain()
    const books = new Books()
    const moved = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 899_999)
    const lost = chain.pay({ payer: 3_000 }, { [receiving(1)]: 2_000 }, 900_000)
    assert.equal(await books.run(chain), '0.00003')
    chain.drop(lost)
    chain.mine(moved, 900_001)
    chain.tip = 900_002
    chain.nowMs += hourMs
    assert.equal(await books.run(chain), '0.00001')
    assert.deepEqual([books.keys, books.withdrawn], [[moved], [lost]])
    assert.match(books.records.get(moved)?.body ?? '', /"block_height":900001/)
  })

  for (const depth of [10, replaceableDepth - 2]) {
    it(`leaves no duplicate and no ghost when ${depth} blocks are replaced that were taken for final`, async () => {
      const chain = new TestChain()
      const books = new Books()
      const height = 900_001 - depth
      const deep = chain.pay({ payer: 9_000 }, { [receiving(0)]: 8_000 }, height - replaceableDepth)
      const [moved, dropped, waiting] = [0, 1, 2].map((index) =>
        chain.pay({ payer: 2_000 }, { [receiving(index)]: 1_000 }, height),
      ) as [string, string, string]
      const spent = chain.pay({ [receiving(0)]: 8_000 }, { shop: 7_000 }, height)
      assert.equal(await books.run(chain), '0.00003')
      assert.deepEqual([books.isPending(moved), books.isPending(spent)], [false, false])
      // Another branch has won. It has one of them in another block, and instead of two others payments of the same
      // amount.
      for (const gone of [dropped, spent]) chain.drop(gone)
      chain.mine(moved, height + 1)
      chain.unmine(waiting)
      const twin = chain.pay({ other: 2_000 }, { [receiving(1)]: 1_000 }, height + 2)
      chain.tip += 1
      chain.branch += 1
      chain.nowMs += hourMs
      await books.run(chain)
      assert.deepEqual([books.keys, books.withdrawn.toSorted()], [keysOf(chain), [dropped, spent].toSorted()])
      assert.deepEqual(
        [deep, moved, waiting, twin].map((txid) => books.isPending(txid)),
        [false, false, true, false],
      )
      // The spent amount is back, although its address counted as emptied.
      chain.nowMs += hourMs
      assert.equal(await books.run(chain), '0.0001')
      assert.deepEqual(books.keys, keysOf(chain))
    })
  }

  it('costs one request a run for all confirmed ones, while no block is replaced', async () => {
    const chain = new TestChain()
    const books = new Books()
    for (let index = 0; index < 20; index += 1) chain.pay({ payer: 2 }, { [receiving(index)]: 1 }, 899_910 + index)
    await books.run(chain)
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain)
    assert.equal(countOf(chain, /\/tx/), 1)
  })
})

describe('a server', () => {
  const faults: [string, () => Response, string, string?][] = [
    ['HTTP 429', () => new Response('slow down', { status: 429 }), 'rate_limited'],
    ['HTTP 503', () => new Response('', { status: 503 }), 'venue_down'],
    ['half of the JSON', () => new Response('{"chain_stats":{'), 'unreadable_answer'],
    ['another form', () => Response.json({ chain_stats: {} }), 'unreadable_answer'],
    ['HTTP 400 of its own', () => new Response('RPC error', { status: 400 }), 'unreadable_answer'],
    ['HTTP 400 of a gateway', () => new Response('<html>400 Bad Request</html>', { status: 400 }), 'venue_down'],
    [
      'an address that it cannot read',
      () => new Response('Invalid Bitcoin address', { status: 400 }),
      ...(['unreadable_answer', 'invalid_credentials'] as const),
    ],
  ]
  for (const [name, answer, fault, refusal = fault] of faults) {
    const outcome = refusal === fault ? fault : `${refusal} for a new wallet and ${fault} afterwards`
    it(`that answers with ${name} is ${outcome}, and the error names no address`, async () => {
      const chain = new TestChain()
      chain.broken = answer
      const reader = chain.open()
      for (const [ask, expected] of [
        [() => reader.verify(), refusal],
        [() => reader.fetchBalances({}), fault],
      ] as const) {
        await assert.rejects(ask(), (error) => {
          assert.ok(error instanceof SourceError)
          assert.equal(error.fault, expected)
          assert.ok(!error.message.includes(receiving(0)))
          return true
        })
      }
    })
  }

  it('that allows a few calls an hour is asked for each address of a wallet once, however long that takes', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 100; index += 1) chain.pay({ payer: 2_000 }, { [receiving(index)]: 1_000 }, 800_000)
    chain.broken = () => {
      chain.nowMs += 5 * 60_000
      return chain.asked.length > 1_000 ? new Response('', { status: 503 }) : chain.answerLast()
    }
    assert.equal(await new Books().readBalance(chain.open()), '0.001')
    assert.equal(chain.asked.length, 100 + 2 * gapLimit)
    assert.ok(chain.nowMs - startMs > 10 * hourMs)
  })

  it('that loses one answer in a batch is asked again from there, and not for those before it', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(3)]: 1_000 }, 800_000)
    const reader = chain.open()
    // The eighth address of the first batch.
    chain.broken = () => (chain.asked.length === 8 ? new Response('', { status: 503 }) : chain.answerLast())
    const first = await reader.fetchBalances({})
    assert.equal(first.isPartial, true)
    chain.broken = undefined
    chain.asked = []
    const books = new Books()
    books.state = first.state ?? {}
    assert.equal(await books.readBalance(reader), '0.00001')
    // Twenty behind the fourth address, without the seven that are known, and the twenty of change.
    assert.equal(chain.asked.length, 4 + gapLimit - 7 + gapLimit)
  })

  it('that says 429 in a batch is not asked on, whatever it answered before', async () => {
    const chain = new TestChain()
    chain.broken = () => (chain.asked.length === 8 ? new Response('', { status: 429 }) : chain.answerLast())
    await assert.rejects(chain.open().fetchBalances({}), (error) => {
      assert.ok(error instanceof SourceError)
      return error.fault === 'rate_limited'
    })
    assert.ok(chain.asked.length <= 10)
  })

  it('that gives many more transactions than a page has is not read on', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    const reader = chain.open()
    const books = new Books()
    await books.readBalance(reader)
    const page = JSON.stringify(Array.from({ length: 10_001 }, () => chain.transactions[0]))
    chain.broken = () => (chain.asked.at(-1)?.endsWith('/txs') === true ? new Response(page) : chain.answerLast())
    await assert.rejects(books.readWindow(reader, 0, chain.nowMs), (error) => {
      assert.ok(error instanceof SourceError)
      return error.fault === 'unreadable_answer'
    })
  })

  it('that fails in the middle of a wallet loses one batch, and the next call continues after the others', async () => {
    const chain = new TestChain()
    const reader = chain.open()
    const first = await reader.fetchBalances({})
    assert.equal(first.isPartial, true)
    chain.broken = () => new Response('', { status: 503 })
    await assert.rejects(reader.fetchBalances(first.state ?? {}))
    chain.broken = undefined
    chain.asked = []
    const second = await chain.open().fetchBalances(first.state ?? {})
    assert.equal(second.isPartial, undefined)
    assert.equal(chain.asked.length, gapLimit)
  })
})
