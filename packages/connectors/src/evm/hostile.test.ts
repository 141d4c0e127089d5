/**
 * Answers that are small on the wire and large once they are read: a node, an index or the author of a contract must
 * not stop or end the worker that reads them.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { findAssetByContract, SourceError } from '@assay/core'
import { encodeFunctionData, erc20Abi, type Address } from 'viem'
import type { AccountReader, Balances, ConnectorState, Page, RawRecord } from '../kit/connector.ts'
import { connector } from './connector.ts'
import { startChain, timeOf, type TestChain } from './test-chain.ts'

const address = '0x52908400098527886e0f7030069857d2e4169ee7'
const weth = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const balanceOf = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [address as Address] })
const contracts = Array.from({ length: 150 }, (_, index) => `0x${(0x5000 + index).toString(16).padStart(40, '4')}`)

const word = (value: number | bigint): string => value.toString(16).padStart(64, '0')

function row(block: number, contract: string, more: object) {
  return {
    ...{ blockNumber: String(block), timeStamp: String(timeOf(block)), hash: `0x${word(block)}` },
    ...{ from: weth, to: address, contractAddress: contract, tokenDecimal: '0', ...more },
  }
}

/** A wallet with wrapped coins, and with 150 tokens that a stranger made: those are asked for in one call. */
async function openWallet(t: TestContext): Promise<{ chain: TestChain; reader: AccountReader }> {
  const chain = await startChain(t)
  chain.hasMulticall = true
  chain.lists.set(
    'tokentx',
    contracts.map((contract, index) => row(10 + index, contract, { value: '5' })),
  )
  for (const contract of [...contracts, weth]) chain.calls.set(`${contract} ${balanceOf}`, `0x${word(5)}`)
  return { chain, reader: connector.open({ type: 'wallet', address }, chain.io) }
}

async function readToEnd(reader: AccountReader): Promise<Balances['balances']> {
  let state: ConnectorState = {}
  for (let calls = 0; calls < 20; calls += 1) {
    const answer = await reader.fetchBalances(state)
    const [failed] = answer.failed ?? []
    if (failed !== undefined) throw failed.error
    if (answer.isPartial !== true) return answer.balances
    state = answer.state ?? state
  }
  throw new Error('the balances were not read within 20 calls')
}

const isUnreadable = (error: unknown): boolean => error instanceof SourceError && error.fault === 'unreadable_answer'

/** What the process computed meanwhile. Other processes of the machine do not count. */
async function measureCpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

describe('the answer of a node to a group of calls', () => {
  /** Replaces a word, counted from the beginning of the answer. */
  const withWord = (at: number, value: number | bigint) => (answer: string) =>
    `${answer.slice(0, 2 + 64 * at)}${word(value)}${answer.slice(2 + 64 * (at + 1))}`

  // 150 results: the place of the list, its length, the places of the results from word 2, the first result at 152.
  for (const [what, distort] of [
    ['fewer results than calls', withWord(1, 149)],
    ['more results than calls', withWord(1, 151)],
    ['more results than there are numbers', withWord(1, 2n ** 255n)],
    ['a list that begins outside of it', withWord(0, 2n ** 40n)],
    ['a result outside of it', withWord(2, 2n ** 40n)],
    ['a result that is neither a success nor a failure', withWord(152, 2)],
    ['bytes outside of it', withWord(153, 2n ** 40n)],
    ['more bytes than it has', withWord(154, 2n ** 40n)],
    ['no results', () => '0x00'],
    ['text', () => `0x${'zz'.repeat(10_000)}`],
  ] as const) {
    it(`is not used if it has ${what}: each contract is called separately`, async (t) => {
      const { chain, reader } = await openWallet(t)
      chain.distort = distort
      assert.equal((await readToEnd(reader)).length, 151)
      assert.ok(chain.methods.filter((method) => method === 'eth_call').length > 150)
      chain.calls.set(`${weth} ${balanceOf}`, '0xzz')
      await assert.rejects(readToEnd(reader), isUnreadable)
    })
  }

  it('is read without effort if all results are the same long one', async (t) => {
    const { chain, reader } = await openWallet(t)
    const bytes = 14_000 * 32
    const result = word(1) + word(64) + word(bytes) + word(5) + '00'.repeat(bytes - 32)
    chain.distort = () => `0x${word(32)}${word(150)}${word(150 * 32).repeat(150)}${result}`
    const cpuMs = await measureCpuMs(async () => assert.equal((await readToEnd(reader)).length, 151))
    assert.ok(cpuMs < 2_000, `${cpuMs} ms`)
  })

  it('is not kept when it is longer than any honest one: known tokens are then not read, and not zero', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.distort = (answer) => `${answer}${'00'.repeat(600_000)}`
    chain.calls.set(`${weth} ${balanceOf}`, `0x${word(5)}${'00'.repeat(600_000)}`)
    await assert.rejects(readToEnd(reader), isUnreadable)
  })
})

describe('a contract of a stranger', () => {
  it('that answers with more than a megabyte is left out of the balances, and all others are read', async (t) => {
    const { chain, reader } = await openWallet(t)
    const long = contracts.slice(70, 73)
    for (const contract of long) chain.calls.set(`${contract} ${balanceOf}`, `0x${'00'.repeat(700_000)}`)
    const held = new Set((await readToEnd(reader)).map(({ assetId }) => assetId))
    assert.equal(held.size, 151 - long.length)
    assert.ok(held.has(findAssetByContract('evm:1', weth)?.assetId ?? ''))
  })

  it('that names itself at length and sends thousands of pieces at once is read without effort', async (t) => {
    const { chain, reader } = await openWallet(t)
    const tokenIDs = Array.from({ length: 5_000 }, (_, index) => String(index))
    const name = 'x'.repeat(500_000)
    chain.lists.set('token1155tx', [row(10, contracts[0] ?? '', { tokenIDs, tokenName: name, tokenSymbol: name })])
    const cpuMs = await measureCpuMs(() => readToEnd(reader))
    assert.ok(cpuMs < 3_000, `${cpuMs} ms`)
  })
})

describe('an index', () => {
  it('that gives many more rows than were asked for is not read on', async (t) => {
    const { chain, reader } = await openWallet(t)
    const rows = Array.from({ length: 10_001 }, (_, index) => row(index, weth, { value: '1' }))
    const text = JSON.stringify({ status: '1', message: 'OK', result: rows })
    const { state = {} } = await reader.verify()
    chain.answers.push(...Array.from({ length: 9 }, () => ({ status: 200, text })))
    const { failed = [] } = await reader.fetchBalances(state)
    assert.ok(isUnreadable(failed[0]?.error))
  })
})

describe('a row of an index', () => {
  for (const [what, tokenID, isReadable] of [
    ['the largest number of a piece', 2n ** 256n - 1n, true],
    ['a number that no piece can have', 2n ** 256n, false],
  ] as const) {
    it(`with ${what} is ${isReadable ? 'read' : 'unreadable'}, and the balances are read`, async (t) => {
      const { chain, reader } = await openWallet(t)
      for (const action of ['tokennfttx', 'token1155tx']) {
        chain.lists.set(action, [row(10, contracts[0] ?? '', { tokenID: String(tokenID) })])
      }
      chain.lists.get('token1155tx')?.push(row(11, contracts[0] ?? '', { tokenIDs: ['1', String(tokenID)] }))
      assert.equal((await readToEnd(reader)).length, 151)
      const window = { unit: 'block', start: 0, end: 20_001 } as const
      for (const stream of ['erc721', 'erc1155']) {
        const request = { stream, partition: '1', window, pageMark: null, lastingMark: null, state: {} }
        const { records } = await reader.fetchPage(request)
        assert.ok(records.length > 0 && records.every(({ unreadable }) => (unreadable === undefined) === isReadable))
      }
    })
  }
})

describe('the receipt of a transaction', () => {
  /** Only rollups are asked for receipts. */
  async function openBase(t: TestContext, more: object) {
    const { chain } = await openWallet(t)
    chain.chainId = 8453
    const asBase: typeof fetch = (url, init) => fetch(new Request(url).url.replace('/8453', '/1'), init)
    const reader = connector.open({ type: 'wallet', address }, { ...chain.io, fetch: asBase })
    const paid = { from: address, to: weth, value: '1', gasPrice: '1', gasUsed: '21000', ...more }
    chain.lists.set('txlist', [row(10, '', paid)])
    const hash = `0x${word(10)}`
    const window = { unit: 'block', start: 0, end: 20_001 } as const
    const request = { stream: 'transactions', partition: '8453', window, pageMark: null, lastingMark: null, state: {} }
    /** A window up to this height, from its first page to its last. */
    const walk = async (start: number, end: number, lastingMark: string | null) => {
      const pages = [await reader.fetchPage({ ...request, window: { ...window, start, end }, lastingMark })]
      for (let next = pages[0]?.next ?? null; next !== null; next = pages.at(-1)?.next ?? null) {
        const more = { ...request, window: { ...window, start, end }, pageMark: next, lastingMark }
        pages.push(await reader.fetchPage(more))
      }
      const keys = pages.flatMap(({ records }) => records.map(({ key }) => key))
      const receipts = keys.filter((key) => key.endsWith(':receipt'))
      return { keys, receipts, lastingMark: pages.at(-1)?.lastingMark ?? null }
    }
    const listReceipts = async (): Promise<unknown[]> =>
      (await reader.fetchPage(request)).records
        .filter(({ key }) => key.endsWith(':receipt'))
        .map(({ body }) => JSON.parse(body) as unknown)
    return {
      chain,
      hash,
      place: { transactionHash: hash, blockHash: `0x${word(99)}`, blockNumber: '0xa' },
      listReceipts,
      walk,
    }
  }

  it('is kept without its logs, which may fill an answer', async (t) => {
    const { chain, hash, place, listReceipts } = await openBase(t, {})
    const receipt = { ...place, l1Fee: '0x7b' }
    const long = { logsBloom: '00'.repeat(2 ** 20), logs: [{ data: '00'.repeat(2 ** 20) }] }
    chain.receipts.set(hash, { ...receipt, type: '0x2', ...long })
    assert.deepEqual(await listReceipts(), [receipt])
    assert.ok(!chain.methods.includes('eth_getTransactionByHash'))
  })

  it('of a deposit from the first layer is kept with the coins that it made, also where the row has its fee', async (t) => {
    for (const more of [{ gasPrice: '0' }, { gasPrice: '0', l1Fee: '0' }]) {
      const { chain, hash, place, listReceipts } = await openBase(t, more)
      chain.receipts.set(hash, { ...place, type: '0x7e' })
      chain.transactions.set(hash, { hash, type: '0x7e', mint: '0xde0b6b3a7640000', input: '0x' })
      assert.deepEqual(await listReceipts(), [{ ...place, mint: '0xde0b6b3a7640000' }])
    }
  })

  describe('that the node does not have', () => {
    const paid = { from: address, to: weth, value: '1', gasPrice: '1', gasUsed: '21000' }
    const blocksFrom = (first: number, count: number): number[] => Array.from({ length: count }, (_, at) => first + at)

    async function openPruned(t: TestContext, rows: readonly ReturnType<typeof row>[]) {
      const opened = await openBase(t, {})
      const { chain, walk } = opened
      chain.lists.set('txlist', [...rows])
      const give = (blocks: readonly number[]): void => {
        for (const block of blocks) {
          const place = { blockHash: `0x${word(99)}`, blockNumber: `0x${block.toString(16)}` }
          chain.receipts.set(`0x${word(block)}`, { transactionHash: `0x${word(block)}`, ...place, l1Fee: '0x7b' })
        }
      }
      const found = new Set<string>()
      /** Reads the list on some days, as runs do that find nothing new. */
      async function walkOn(lastingMark: string | null, runs: number): Promise<string | null> {
        let mark = lastingMark
        for (let run = 0; run < runs; run += 1) {
          chain.nowMs += 86_400_000
          const again = await walk(20_001, 20_002, mark)
          for (const key of again.receipts) found.add(key)
          mark = again.lastingMark
        }
        return mark
      }
      const first = await walk(0, 20_001, null)
      for (const key of first.receipts) found.add(key)
      return { chain, walk, give, found, walkOn, first }
    }

    it('is asked for again, at the price of three requests, until it has it', async (t) => {
      const blocks = blocksFrom(10, 150)
      const { chain, give, found, walkOn, first } = await openPruned(
        t,
        blocks.map((block) => row(block, '', paid)),
      )
      assert.deepEqual([new Set(first.keys).size, found.size], [150, 0])
      const countAsked = (): number => chain.methods.filter((method) => method === 'eth_getTransactionReceipt').length
      chain.methods.length = 0
      const still = await walkOn(first.lastingMark, 2)
      assert.equal(countAsked(), 4)
      give(blocks)
      const mark = await walkOn(still, 4)
      assert.deepEqual([found.size, mark], [150, '[]'])
    })

    it('is found in the next run, if the node lacked it for a moment', async (t) => {
      const { chain, walk, give, first } = await openPruned(t, [row(10, '', paid)])
      give([10])
      chain.nowMs += 900_000
      const { receipts, lastingMark } = await walk(20_001, 20_002, first.lastingMark)
      assert.deepEqual([receipts.length, lastingMark], [1, '[]'])
    })

    it('is found among transactions with names of a stranger that are too long for one answer together', async (t) => {
      const strangers = Array.from({ length: 36 }, (_, index) => {
        const long = { functionName: 'x'.repeat(1_000_000), value: '0', gasPrice: '1', gasUsed: '1' }
        return { ...row(20, '', long), hash: `0x${word(7_000 + index)}` }
      })
      const { chain, walk, give, first } = await openPruned(t, [row(10, '', paid), ...strangers, row(30, '', paid)])
      give([10, 30])
      chain.nowMs += 900_000
      const { receipts, lastingMark } = await walk(20_001, 20_002, first.lastingMark)
      assert.deepEqual([receipts.length, lastingMark], [2, '[]'])
    })

    for (const [what, shown] of [
      ['nothing', 0],
      ['the first page only', 100],
      ['some of the first page', 20],
    ] as const) {
      it(`is found later, although the index showed ${what} for two days`, async (t) => {
        const blocks = blocksFrom(10, 150)
        const { chain, give, found, walkOn, first } = await openPruned(
          t,
          blocks.map((block) => row(block, '', paid)),
        )
        // The first of two pages was tried.
        const tried = await walkOn(first.lastingMark, 1)
        const listed = chain.lists.get('txlist') ?? []
        chain.lists.set('txlist', listed.slice(0, shown))
        const behind = await walkOn(tried, 2)
        chain.lists.set('txlist', listed)
        give(blocks)
        const mark = await walkOn(behind, 4)
        assert.deepEqual([found.size, mark], [150, '[]'])
      })
    }

    it('keeps no other from being found, when it never comes', async (t) => {
      const blocks = blocksFrom(10, 300)
      const { chain, walk, give, found, walkOn, first } = await openPruned(
        t,
        blocks.map((block) => row(block, '', paid)),
      )
      give(blocks.filter((block) => block !== 10 && block !== 50))
      const mark = await walkOn(first.lastingMark, 8)
      assert.equal(found.size, 298)
      // The tries are over for this day.
      chain.methods.length = 0
      await walk(20_001, 20_002, mark)
      assert.deepEqual(
        chain.methods.filter((method) => method === 'eth_getTransactionReceipt'),
        [],
      )
    })

    it('is found behind a block that strangers have filled', async (t) => {
      const strangers = blocksFrom(0, 120).map((at) =>
        row(10, '', { ...paid, from: weth, to: address, hash: `0x${word(5_000 + at)}` }),
      )
      const blocks = [10, 11, 12, 13]
      const { give, found, walkOn, first } = await openPruned(t, [
        row(10, '', paid),
        ...strangers,
        ...blocks.slice(1).map((block) => row(block, '', paid)),
      ])
      give(blocks)
      const mark = await walkOn(first.lastingMark, 4)
      assert.deepEqual([found.size, mark], [4, '[]'])
    })
  })
})

describe('rows that are too long for one answer together', () => {
  /** A stranger’s contract has a name of this many bytes, and moves tokens of the wallet in each of these blocks. */
  function flood(chain: TestChain, bytes: number, blocks: readonly number[]): void {
    const longName = 'x'.repeat(bytes)
    for (const [action, long] of [
      ['tokentx', { tokenName: longName }],
      ['txlist', { functionName: longName, gasUsed: '1', gasPrice: '1' }],
    ] as const) {
      const spam = blocks.map((block, index) => {
        return { ...row(block, contracts[1] ?? '', { value: '5', ...long }), hash: `0x${word(7_000 + index)}` }
      })
      const plain = { gasUsed: '1', value: '5' }
      chain.lists.set(action, [row(9, weth, plain), ...spam, row(15_000, contracts[2] ?? '', plain)])
    }
  }

  async function walk(reader: AccountReader, stream: string) {
    const window = { unit: 'block', start: 0, end: 20_001 } as const
    const records: RawRecord[] = []
    let pageMark: string | null = null
    for (let pages = 1; ; pages += 1) {
      const request = { stream, partition: '1', window, pageMark, lastingMark: null, state: {} }
      const page: Page = await reader.fetchPage(request)
      records.push(...page.records)
      pageMark = page.next
      if (pageMark === null) return { records: [...new Map(records.map((one) => [one.key, one])).values()], pages }
      assert.ok(pages < 200, 'the walk does not end')
    }
  }

  const spread = Array.from({ length: 36 }, (_, index) => 100 + index)
  const together = spread.map(() => 100)
  for (const [where, blocks] of [
    ['many blocks', spread],
    ['one block', together],
  ] as const) {
    it(`are read a few at a time when they are in ${where}, and those behind them too`, async (t) => {
      const { chain, reader } = await openWallet(t)
      flood(chain, 1_000_000, blocks)
      for (const stream of ['erc20', 'transactions']) {
        const { records, pages } = await walk(reader, stream)
        assert.equal(records.length, 38)
        assert.ok(records.every(({ unreadable }) => unreadable === undefined))
        assert.ok(pages < 30, `${pages} pages`)
      }
    })

    it(`do not keep the balances from being read when they are in ${where}`, async (t) => {
      const { chain, reader } = await openWallet(t)
      flood(chain, 1_000_000, blocks)
      const held = new Set((await readToEnd(reader)).map(({ assetId }) => assetId))
      assert.ok(held.has(`evm:1:${contracts[2]}`))
    })
  }

  it('have no name where one alone is too long', async (t) => {
    const { chain, reader } = await openWallet(t)
    flood(chain, 33_600_000, [100])
    for (const stream of ['erc20', 'transactions']) {
      const { records } = await walk(reader, stream)
      assert.deepEqual(
        records.map(({ occurredAtMs, unreadable }) => [occurredAtMs, unreadable]),
        [9, 100, 15_000].map((block) => [timeOf(block) * 1000, undefined]),
      )
      assert.ok((records[1]?.body.length ?? Infinity) < 1_000)
    }
    const held = new Set((await readToEnd(reader)).map(({ assetId }) => assetId))
    assert.ok(held.has(`evm:1:${contracts[2]}`))
  })

  it('count as many records, however short the batch is that lists them', async (t) => {
    const { chain, reader } = await openWallet(t)
    const pieces = Array.from({ length: 2_000 }, (_, index) => String(index))
    const batch = row(10, contracts[0] ?? '', { tokenIDs: pieces, values: pieces })
    chain.lists.set('token1155tx', [batch, row(11, contracts[0] ?? '', { tokenID: '7', tokenValue: '1' })])
    const { records } = await walk(reader, 'erc1155')
    assert.deepEqual(
      records.map(({ moves }) => moves),
      [2_000, undefined],
    )
  })

  it('are reported where one batch alone has too many pieces', async (t) => {
    const { chain, reader } = await openWallet(t)
    const pieces = Array.from({ length: 60_000 }, (_, index) => String(index))
    const one = { tokenID: '7', tokenValue: '1' }
    chain.lists.set('token1155tx', [
      row(9, contracts[3] ?? '', one),
      row(100, contracts[4] ?? '', { tokenIDs: pieces, values: pieces }),
      row(15_000, contracts[5] ?? '', one),
    ])
    const { records } = await walk(reader, 'erc1155')
    assert.deepEqual(
      records.map(({ occurredAtMs, unreadable }) => [occurredAtMs, unreadable !== undefined]),
      [9, 100, 15_000].map((block) => [timeOf(block) * 1000, block === 100]),
    )
    assert.ok((await readToEnd(reader)).length > 0)
  })
})
