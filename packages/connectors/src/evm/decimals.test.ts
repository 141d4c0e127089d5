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
import type { AccountReader, ConnectorState, RawRecord } from '../kit/connector.ts'
import { connector } from './connector.ts'
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
  const window = { unit: 'block', start: 0, end: 20_001 } as const
  const request = { stream: 'erc20', partition: '1', window, pageMark: null, lastingMark: null, state }
  return (await reader.fetchPage(request)).records
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

  it('are asked again one by one when a contract has used up the gas of its group', async (t) => {
    const second = '0x2222222222222222222222222222222222222222'
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
