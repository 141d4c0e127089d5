/** An index that is behind its node, against a chain on loopback (test-chain.ts). */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { SourceError } from '@assay/core'
import { encodeFunctionData, erc20Abi, type Address } from 'viem'
import type { AccountReader, ConnectorState, Page } from '../kit/connector.ts'
import { connector } from './connector.ts'
import { readState } from './state.ts'
import { startChain, timeOf } from './test-chain.ts'

const address = '0x52908400098527886e0f7030069857d2e4169ee7'
const other = '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
const first = '0x1111111111111111111111111111111111111111'
const second = '0x2222222222222222222222222222222222222222'
const picture = '0x3333333333333333333333333333333333333333'
const balanceOf = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [address as Address] })
const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`

function row(block: number, contractAddress: string, more: object = { value: '1000000' }) {
  return {
    ...{ blockNumber: String(block), timeStamp: String(timeOf(block)), hash: word(block), from: other, to: address },
    ...{ contractAddress, tokenName: 'A Coin', tokenSymbol: 'COIN', tokenDecimal: '6', ...more },
  }
}

/** The node is at block 20,000. */
async function openWallet(t: TestContext, ...rows: ReturnType<typeof row>[]) {
  const chain = await startChain(t)
  chain.lists.set('tokentx', rows)
  for (const contract of [first, second]) chain.calls.set(`${contract} ${balanceOf}`, word(1_000_000))
  const open = (): AccountReader => connector.open({ type: 'wallet', address }, chain.io)
  const { state = {} } = await open().fetchBalances({})
  return { chain, open, state }
}

async function fetchPage(reader: AccountReader, state: ConnectorState, end: number, stream = 'erc20'): Promise<Page> {
  const window = { unit: 'block', start: 0, end } as const
  const request = { stream, partition: '1', window, lastingMark: null, state }
  const records: Page['records'] = []
  let learned: ConnectorState | undefined
  for (let pageMark: string | null = null; ;) {
    const page: Page = await reader.fetchPage({ ...request, state: learned ?? state, pageMark })
    records.push(...page.records)
    learned = page.state ?? learned
    if (page.next === null) return { ...page, records, ...(learned === undefined ? {} : { state: learned }) }
    pageMark = page.next
  }
}

async function listHeld(reader: AccountReader, state: ConnectorState): Promise<string[]> {
  return (await reader.fetchBalances(state)).balances.map(({ assetId }) => assetId).toSorted()
}

describe('an index that is behind its node', () => {
  for (const form of ['etherscan', 'blockscout', 'proxy'] as const) {
    it(`says so in the form of ${form}: the lists end with its newest block, or with that of the node`, async (t) => {
      const { chain, open, state } = await openWallet(t, row(10, first))
      chain.heightForm = form
      for (const [indexHeight, expected] of [
        [19_990, 19_990],
        [20_000, 20_000],
        [Infinity, 20_000],
      ] as const) {
        chain.indexHeight = indexHeight
        assert.equal((await open().fetchHeight?.('erc20', '1', state))?.height, expected)
      }
    })
  }

  it('and does not say how far it is, is not read: the list is reported', async (t) => {
    const { chain, open, state } = await openWallet(t, row(10, first))
    chain.heightForm = 'none'
    await assert.rejects(
      async () => open().fetchHeight?.('erc20', '1', state),
      (error) => error instanceof SourceError && error.fault === 'data_hole',
    )
  })

  it('covers the time up to its newest block, and not up to the present', async (t) => {
    const { chain, open, state } = await openWallet(t, row(10, first))
    chain.indexHeight = 19_900
    const reader = open()
    const { height = 0 } = (await reader.fetchHeight?.('erc20', '1', state)) ?? {}
    const { times } = await fetchPage(reader, state, height + 1)
    assert.equal(times?.endMs, timeOf(19_901) * 1000)
  })

  it('by more than an hour is reported', async (t) => {
    const { chain, open, state } = await openWallet(t, row(10, first))
    const ask = async () => (await open().fetchHeight?.('erc20', '1', state))?.behind
    chain.indexHeight = 20_000 - 300
    assert.equal(await ask(), undefined)
    chain.indexHeight = 20_000 - 302
    assert.match((await ask()) ?? '', /Ethereum: the index ends 302 blocks before the node/)
  })

  it('hides no token once it has caught up, however far it was behind', async (t) => {
    const { chain, open } = await openWallet(t, row(10, first), row(15_100, second))
    chain.indexHeight = 15_000
    const { state = {}, balances } = await open().fetchBalances({})
    assert.deepEqual(
      balances.map(({ assetId }) => assetId),
      [`evm:1:${first}`],
    )
    chain.indexHeight = Infinity
    assert.deepEqual(await listHeld(open(), state), [`evm:1:${first}`, `evm:1:${second}`])
  })

  it('is asked once for all lists of a chain, and so is the node', async (t) => {
    const { chain, open, state } = await openWallet(t, row(10, first))
    const reader = open()
    chain.questions.length = 0
    chain.methods.length = 0
    for (const stream of ['transactions', 'internal', 'erc20']) await reader.fetchHeight?.(stream, '1', state)
    assert.deepEqual(
      chain.questions.map((query) => query.get('action')),
      ['getblocknobytime'],
    )
    assert.deepEqual(chain.methods, ['eth_chainId', 'eth_blockNumber', 'eth_getBlockByNumber'])
  })
})

describe('the contracts whose balances are asked for', () => {
  it('are also those that only the history shows, because the index listed them late', async (t) => {
    const { chain, open, state } = await openWallet(t, row(10, first), row(18_000, first))
    assert.equal(readState(state).chains['1']?.scannedTo, 20_000 - 128)
    chain.lists.set('tokentx', [row(10, first), row(17_000, second), row(18_000, first)])
    chain.lists.set('token1155tx', [row(17_001, picture, { tokenID: '7', tokenValue: '1' })])
    assert.deepEqual(await listHeld(open(), state), [`evm:1:${first}`])
    const { state: learned = {} } = await fetchPage(open(), state, 20_001)
    assert.deepEqual(await listHeld(open(), learned), [`evm:1:${first}`, `evm:1:${second}`])
    const { state: both = {} } = await fetchPage(open(), learned, 20_001, 'erc1155')
    assert.deepEqual(
      readState(both).chains['1']?.nfts.map((nft) => nft.address),
      [picture],
    )
    // A page that shows nothing new does not write the state.
    assert.equal((await fetchPage(open(), both, 20_001)).state, undefined)
  })

  it('are searched from the beginning again if they were searched above the present height', async (t) => {
    const { chain, open, state } = await openWallet(t, row(10, first))
    const { chains } = readState(state)
    const tooFar = { ...state, chains: { '1': { ...chains['1'], scannedTo: 5_000_000 } } }
    chain.lists.set('tokentx', [row(10, first), row(17_000, second)])
    const { balances, state: mended = {} } = await open().fetchBalances(tooFar)
    assert.equal(balances.length, 2)
    assert.equal(readState(mended).chains['1']?.scannedTo, 20_000 - 128)
  })
})
