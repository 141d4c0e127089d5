/** Amounts of tokens, whatever an index says about their decimals, against a chain on loopback (test-chain.ts). */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  decodeFunctionResult,
  encodeFunctionData,
  encodeFunctionResult,
  erc20Abi,
  multicall3Abi,
  type Address,
  type Hex,
} from 'viem'
import type { AccountReader, ConnectorState, Page, RawRecord } from '../kit/connector.ts'
import { connector } from './connector.ts'
import { evmDefinition } from './definition.ts'
import { hourMs } from '@assay/core'
import { readState } from './state.ts'
import { startChain, timeOf, type TestChain } from './test-chain.ts'

const address = '0x52908400098527886e0f7030069857d2e4169ee7'
const other = '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
const usdc = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const coin = '0x1111111111111111111111111111111111111111'
const balanceOf = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [address as Address] })
const decimals = encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' })
const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`

function row(contractAddress: string, more: object = {}) {
  return {
    ...{ blockNumber: '10', timeStamp: String(timeOf(10)), hash: word(10), from: other, to: address },
    ...{ contractAddress, value: '1500000', tokenName: 'A Coin', tokenSymbol: 'COIN', tokenDecimal: '6', ...more },
  }
}

async function openWallet(
  t: TestContext,
  ...rows: ReturnType<typeof row>[]
): Promise<{ chain: TestChain; reader: AccountReader }> {
  const chain = await startChain(t)
  chain.lists.set('tokentx', rows)
  for (const { contractAddress } of rows) chain.calls.set(`${contractAddress} ${balanceOf}`, word(1_500_000))
  return { chain, reader: connector.open({ type: 'wallet', address }, chain.io) }
}

async function fetchRecords(reader: AccountReader, state: ConnectorState): Promise<RawRecord[]> {
  return (await walk(reader, state)).records
}

/** A list to its end, from this block on. */
async function walk(reader: AccountReader, state: ConnectorState, start = 0, lastingMark: string | null = null) {
  const window = { unit: 'block', start, end: 20_001 } as const
  const records: RawRecord[] = []
  for (let pageMark: string | null = null; ;) {
    const page: Page = await reader.fetchPage({
      ...{ stream: 'erc20', partition: '1', window, pageMark, lastingMark, state },
    })
    records.push(...page.records)
    if (page.next === null) return { records, lastingMark: page.lastingMark ?? lastingMark }
    pageMark = page.next
  }
}

/** What the wallet holds, and what its history moved, both as text. */
async function readBoth(reader: AccountReader, given: ConnectorState = {}) {
  const { balances, state = given } = await reader.fetchBalances(given)
  const records = await fetchRecords(reader, state)
  const readable = records.filter(({ unreadable }) => unreadable === undefined)
  const drafts = connector.toTransactions(
    readable.map((record) => ({ ...record, stream: 'erc20', partition: '1' })),
    { addresses: new Set([address]), state },
  )
  const toText = (all: readonly { assetId: string; amount: string }[]): string[] =>
    all.map(({ assetId, amount }) => `${amount} ${assetId}`)
  return {
    state,
    records,
    held: toText(balances.map(({ assetId, liquid }) => ({ assetId, amount: liquid }))),
    moved: toText(drafts.flatMap(({ inputs }) => inputs)),
  }
}

describe('the decimals of a token', () => {
  it('are not decided by a node that fails for a moment', async (t) => {
    const { chain, reader } = await openWallet(t, row(coin))
    const passing = { code: -32000, message: 'header not found' }
    const wrapped = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
    for (const contract of [coin, wrapped]) chain.errors.set(`${contract} ${decimals}`, passing)
    const failed = await reader.fetchBalances({}).catch(() => undefined)
    chain.errors.clear()
    const { held, moved } = await readBoth(connector.open({ type: 'wallet', address }, chain.io), failed?.state)
    assert.deepEqual([held, moved], [[`1.5 evm:1:${coin}`], [`1.5 evm:1:${coin}`]])
  })

  const failing = { code: -32000, message: 'header not found' }
  const second = '0x2222222222222222222222222222222222222222'
  const isUnreadable = ({ unreadable }: RawRecord): boolean => unreadable !== undefined
  const open = (chain: TestChain): AccountReader => connector.open({ type: 'wallet', address }, chain.io)

  it('are not zero because a node failed for one contract: the token waits, and the others are read', async (t) => {
    const { chain, reader } = await openWallet(t, row(coin), row(second, { hash: word(11) }))
    chain.errors.set(`${coin} ${decimals}`, failing)
    const first = await readBoth(reader)
    assert.deepEqual([first.held, first.moved], [[`1.5 evm:1:${second}`], [`1.5 evm:1:${second}`]])
    assert.match(first.records.find(isUnreadable)?.unreadable ?? '', /decimals/)
    chain.errors.clear()
    chain.nowMs += hourMs
    // The history does not know more than the balances.
    assert.equal((await fetchRecords(open(chain), first.state)).filter(isUnreadable).length, 1)
    const later = await readBoth(open(chain), first.state)
    const both = [`1.5 evm:1:${coin}`, `1.5 evm:1:${second}`]
    assert.deepEqual([later.held.toSorted(), later.moved.toSorted()], [both, both])
  })

  it('that come late reach the rows that were read before, each under its key', async (t) => {
    // Two of the rows are equal, and some are on a second page.
    const many = Array.from({ length: 1_200 }, (_, at) => row(coin, { hash: word(50 + Math.floor(at / 2)) }))
    const rows = many.map((one, at) => ({ ...one, blockNumber: String(50 + Math.floor(at / 2)) }))
    const { chain, reader } = await openWallet(t, row(second), ...rows)
    chain.errors.set(`${coin} ${decimals}`, failing)
    const { state = {} } = await reader.fetchBalances({})
    const before = await walk(reader, state)
    assert.equal(before.records.filter(isUnreadable).length, 1_200)
    chain.errors.clear()
    chain.nowMs += hourMs
    const { state: learned = {} } = await open(chain).fetchBalances(state)
    const readable = new Set<string>()
    let { lastingMark } = before
    for (let run = 0; run < 3; run += 1) {
      const again = await walk(open(chain), learned, 17_600, lastingMark)
      for (const one of again.records) if (!isUnreadable(one)) readable.add(one.key)
      lastingMark = again.lastingMark
    }
    assert.deepEqual(
      [...readable].toSorted(),
      before.records
        .filter(isUnreadable)
        .map(({ key }) => key)
        .toSorted(),
    )
    assert.equal(lastingMark, '[]')
    assert.deepEqual((await walk(open(chain), learned, 17_600, lastingMark)).records, [])
  })

  it('that come late reach rows that are too long for one answer together', async (t) => {
    const functionName = 'x'.repeat(60_000)
    const rows = Array.from({ length: 600 }, (_, at) => row(usdc, { hash: word(50 + at), functionName }))
    const { chain, reader } = await openWallet(t, ...rows.map((one, at) => ({ ...one, blockNumber: String(50 + at) })))
    chain.calls.set(`${usdc} ${decimals}`, 'revert')
    const { state: unsaid = {} } = await reader.fetchBalances({})
    const before = await walk(reader, unsaid)
    assert.equal(before.records.filter(isUnreadable).length, 600)
    chain.calls.delete(`${usdc} ${decimals}`)
    chain.nowMs += hourMs
    const { state = {} } = await open(chain).fetchBalances(unsaid)
    const again = await walk(open(chain), state, 17_600, before.lastingMark)
    assert.equal(again.records.filter((one) => !isUnreadable(one)).length, 600)
  })

  it('are not zero because a node is behind and does not have the contract yet', async (t) => {
    for (const { blockNumber, callHeight } of [
      { blockNumber: '19990', callHeight: 19_980 },
      { blockNumber: '19900', callHeight: 19_890 },
    ]) {
      const { chain, reader } = await openWallet(t, row(coin, { blockNumber, timeStamp: String(timeOf(19_900)) }))
      chain.calls.set(`${coin} ${decimals}`, '0x')
      chain.callHeight = callHeight
      const first = await readBoth(reader)
      assert.deepEqual([first.held, first.moved], [[], []])
      chain.calls.delete(`${coin} ${decimals}`)
      chain.callHeight = Infinity
      chain.nowMs += hourMs
      const later = await readBoth(open(chain), first.state)
      assert.deepEqual([later.held, later.moved], [[`1.5 evm:1:${coin}`], [`1.5 evm:1:${coin}`]])
    }
  })

  it('are still waited for when an older window of the list ends later', async (t) => {
    const at = (block: number) => ({ blockNumber: String(block), timeStamp: String(timeOf(block)), hash: word(block) })
    const known = Array.from({ length: 1_200 }, (_, index) => row(usdc, at(100 + index)))
    const { chain, reader } = await openWallet(t, ...known, row(coin, at(19_000)))
    chain.calls.set(`${usdc} ${decimals}`, word(6))
    chain.errors.set(`${coin} ${decimals}`, { code: -32_000, message: 'header not found' })
    const older = { unit: 'block', start: 0, end: 18_000 } as const
    const list = { stream: 'erc20', partition: '1', state: {} } as const
    const first = await reader.fetchPage({ ...list, window: older, pageMark: null, lastingMark: null })
    assert.ok(first.next !== null)
    let { lastingMark } = await walk(reader, {}, 18_000)
    assert.match(lastingMark ?? '', new RegExp(coin))
    for (let pageMark: string | null = first.next; pageMark !== null;) {
      const page: Page = await reader.fetchPage({ ...list, window: older, pageMark, lastingMark })
      lastingMark = page.lastingMark ?? lastingMark
      pageMark = page.next
    }
    assert.match(lastingMark ?? '', new RegExp(coin))
  })

  it('are asked for a few times, then once a day, and are zero if a contract has not answered for a week', async (t) => {
    const { chain } = await openWallet(t, row(coin), row(second))
    chain.errors.set(`${coin} ${decimals}`, failing)
    let state: ConnectorState = {}
    const asked: number[] = []
    for (let hour = 0; hour < 12; hour += 1) {
      chain.methods.length = 0
      const { balances, state: learned = state } = await open(chain).fetchBalances(state)
      assert.deepEqual(
        balances.map(({ assetId }) => assetId),
        [`evm:1:${second}`],
      )
      state = learned
      asked.push(chain.methods.filter((method) => method === 'eth_call').length)
      chain.nowMs += hourMs
    }
    // The balances take four calls, and a contract that fails is asked twice, with the wrapped coin in between.
    assert.deepEqual(asked.slice(1), [7, 7, 4, 4, 4, 4, 4, 4, 4, 4, 4])
    const held: number[] = []
    for (let day = 1; day <= 8; day += 1) {
      chain.height += 7_200
      chain.nowMs = timeOf(chain.height) * 1000 + 12 * hourMs
      const { balances, state: learned = state } = await open(chain).fetchBalances(state)
      state = learned
      held.push(balances.length)
    }
    assert.deepEqual(held, [1, 1, 1, 1, 1, 1, 2, 2])
  })

  const inBlock = (contract: string, block: number) =>
    row(contract, { blockNumber: String(block), timeStamp: String(timeOf(block)), hash: word(block) })
  const contractsFrom = (first: number, count: number): string[] =>
    Array.from({ length: count }, (_, at) => `0x${(first + at).toString(16).padStart(40, '4')}`)
  const countCalls = (chain: TestChain): number => chain.methods.filter((method) => method === 'eth_call').length
  const charged = evmDefinition.streams.find(({ name }) => name === 'erc20')?.cost['rpc'] ?? 0

  it('of contracts that the state has no place for are asked for by what a page charges, until they are zero', async (t) => {
    const rows = contractsFrom(0x9000, 1_500).map((contract, at) => inBlock(contract, 100 + Math.floor(at / 100)))
    const { chain, reader } = await openWallet(t, ...rows)
    chain.hasMulticall = true
    let { state = {} } = await reader.fetchBalances({})
    for (let isPartial = true; isPartial;) {
      const answer = await reader.fetchBalances(state)
      state = answer.state ?? state
      isPartial = answer.isPartial === true
    }
    assert.equal(readState(state).chains['1']?.tokens.length, 1_500)
    const bad = contractsFrom(0xa000, 8)
    chain.lists.set('tokentx', [...rows, ...bad.map((contract) => inBlock(contract, 300))])
    for (const contract of bad) chain.errors.set(`${contract} ${decimals}`, failing)
    let { lastingMark } = await walk(open(chain), state)
    const zero = new Set<string>()
    const asked: number[] = []
    for (let run = 0; run < 70; run += 1) {
      chain.height += 3_600
      chain.nowMs = timeOf(chain.height) * 1000 + 5_000
      chain.methods.length = 0
      const again = await walk(open(chain), state, 17_600, lastingMark)
      lastingMark = again.lastingMark
      asked.push(countCalls(chain))
      for (const { key, unreadable, body } of again.records) {
        if (unreadable === undefined && body.includes('"contractDecimals":"0"')) zero.add(key)
      }
    }
    assert.ok(Math.max(...asked) <= charged, `${Math.max(...asked)} calls for a page`)
    assert.deepEqual([asked.slice(-5), zero.size, lastingMark], [[0, 0, 0, 0, 0], 8, '[]'])
  })

  it('of many contracts are found after some runs when a few of them fail', async (t) => {
    const good = contractsFrom(0xb000, 180)
    const { chain } = await openWallet(t, ...good.map((contract) => inBlock(contract, 300)))
    chain.hasMulticall = true
    const bad = good.filter((_, at) => at % 60 === 0)
    for (const contract of bad) chain.errors.set(`${contract} ${decimals}`, failing)
    let { lastingMark } = await walk(open(chain), {})
    for (let run = 0; run < 15; run += 1) lastingMark = (await walk(open(chain), {}, 17_600, lastingMark)).lastingMark
    const late = JSON.parse(lastingMark ?? '') as { contract: string; decimals?: number }[]
    assert.deepEqual(
      late.filter((one) => one.decimals === undefined).map((one) => one.contract),
      bad,
    )
  })

  it('of a known token are waited for, however many contracts of strangers wait', async (t) => {
    const bad = contractsFrom(0xc000, 250)
    const { chain } = await openWallet(t, ...bad.map((contract) => inBlock(contract, 300)), inBlock(usdc, 301))
    chain.hasMulticall = true
    for (const contract of bad) chain.errors.set(`${contract} ${decimals}`, failing)
    chain.calls.set(`${usdc} ${decimals}`, 'revert')
    const before = await walk(open(chain), {})
    assert.equal(before.records.filter(isUnreadable).length, 251)
    chain.calls.delete(`${usdc} ${decimals}`)
    const { records } = await walk(open(chain), {}, 17_600, before.lastingMark)
    assert.deepEqual(
      records.map(({ key, unreadable }) => [key, unreadable]),
      before.records.slice(-1).map(({ key }) => [key, undefined]),
    )
  })

  it('are asked for by no call with more requests than it charges', async (t) => {
    const bad = contractsFrom(0xd000, 60)
    const { chain, reader } = await openWallet(t, ...bad.map((contract) => row(contract)))
    chain.hasMulticall = true
    for (const contract of bad) chain.errors.set(`${contract} ${decimals}`, failing)
    let state: ConnectorState = {}
    for (let isPartial = true, calls = 0; isPartial; calls += 1) {
      chain.methods.length = 0
      const answer = await reader.fetchBalances(state)
      assert.ok(chain.methods.length <= (connector.budget.balances['rpc'] ?? 0), `${chain.methods.length} requests`)
      state = answer.state ?? state
      isPartial = answer.isPartial === true
      assert.ok(calls < 30, `${calls} calls`)
    }
  })

  for (const tokenDecimal of ['', null, undefined, '0', '18', '255', 'six']) {
    it(`are those of its contract if an index says ${JSON.stringify(tokenDecimal) ?? 'nothing'}`, async (t) => {
      const { reader } = await openWallet(t, row(usdc, { tokenDecimal }), row(coin, { tokenDecimal }))
      const { held, moved } = await readBoth(reader)
      const expected = ['1.5 crypto:usd-coin', `1.5 evm:1:${coin}`]
      assert.deepEqual([held.toSorted(), moved.toSorted()], [expected, expected])
    })
  }

  it('are not what the row of an index claims that the contract said', async (t) => {
    const { chain, reader } = await openWallet(t, row(usdc, { contractDecimals: '0' }))
    chain.calls.set(`${usdc} ${decimals}`, 'revert')
    const { held, moved, records } = await readBoth(reader)
    assert.deepEqual([held, moved], [[], []])
    assert.doesNotMatch(records[0]?.body ?? '', /contractDecimals/)
  })

  it('of a known token are waited for: until its contract says them, it has no amount', async (t) => {
    const { chain, reader } = await openWallet(t, row(usdc))
    chain.hasMulticall = true
    chain.calls.set(`${usdc} ${decimals}`, 'revert')
    const { held, moved, records, state } = await readBoth(reader)
    assert.deepEqual([held, moved], [[], []])
    assert.match(records[0]?.unreadable ?? '', /decimals/)
    chain.calls.delete(`${usdc} ${decimals}`)
    const later = await readBoth(reader, state)
    assert.deepEqual([later.held, later.moved], [['1.5 crypto:usd-coin'], ['1.5 crypto:usd-coin']])
    assert.equal(later.records[0]?.key, records[0]?.key)
  })

  it('of an unknown token whose contract has none are zero: it is counted in base units', async (t) => {
    for (const answer of ['revert', '0x', word(255)]) {
      const { chain, reader } = await openWallet(t, row(coin))
      chain.calls.set(`${coin} ${decimals}`, answer)
      const { held, moved } = await readBoth(reader)
      assert.deepEqual([held, moved], [[`1500000 evm:1:${coin}`], [`1500000 evm:1:${coin}`]])
    }
  })

  it('of many contracts without code are zero after some calls, with and without Multicall3', async (t) => {
    for (const hasMulticall of [true, false]) {
      const gone = Array.from({ length: 60 }, (_, at) => `0x${(0x7000 + at).toString(16).padStart(40, '3')}`)
      const { chain, reader } = await openWallet(t, ...gone.map((contract) => row(contract)))
      chain.hasMulticall = hasMulticall
      for (const contract of gone) chain.calls.set(`${contract} ${decimals}`, '0x')
      let state: ConnectorState = {}
      for (let calls = 0, isPartial = true; isPartial; calls += 1) {
        const answer = await reader.fetchBalances(state)
        state = answer.state ?? state
        isPartial = answer.isPartial === true
        assert.ok(calls < 15, `${calls} calls`)
      }
      const { tokens = [] } = readState(state).chains['1'] ?? {}
      assert.deepEqual([...new Set(tokens.map((token) => token.decimals))], [0])
    }
  })

  it('are asked again one by one when a contract has used up the gas of its group', async (t) => {
    const { chain, reader } = await openWallet(t, row(coin), row(second, { hash: word(11) }))
    chain.hasMulticall = true
    // Multicall3 reports the calls that found no gas as failed, and the group as a success.
    chain.distort = (answer) => {
      const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: answer as Hex })
      const result = results.map(() => ({ success: false, returnData: '0x' as const }))
      return encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result })
    }
    const { state = {} } = await reader.fetchBalances({})
    const { tokens } = readState(state).chains['1'] ?? {}
    assert.deepEqual(
      tokens?.map((token) => token.decimals),
      [6, 6],
    )
  })

  it('are asked for once: later rounds and pages need no further request to the node', async (t) => {
    const { chain, reader } = await openWallet(t, row(usdc), row(coin))
    chain.hasMulticall = true
    const { state } = await readBoth(reader)
    const countCalls = () => chain.methods.filter((method) => method === 'eth_call').length
    chain.methods.length = 0
    await reader.fetchBalances(state)
    // The known tokens, and the unknown ones.
    assert.equal(countCalls(), 2)
    const later = connector.open({ type: 'wallet', address }, chain.io)
    await fetchRecords(later, state)
    assert.equal(countCalls(), 2)
    const others = connector.open({ type: 'wallet', address }, chain.io)
    await fetchRecords(others, {})
    await fetchRecords(others, {})
    assert.equal(countCalls(), 4)
  })
})
