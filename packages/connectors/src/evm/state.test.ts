/** What strangers send to a wallet never makes its state larger than the 1 MiB that the engine stores. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConnectorState } from '../kit/connector.ts'
import { chains } from './chains.ts'
import { connector } from './connector.ts'
import { readState, withRoom, type ChainState, type Nft, type Token } from './state.ts'
import { startChain, timeOf } from './test-chain.ts'

const stateBytesMax = 2 ** 20
const address = '0x52908400098527886e0f7030069857d2e4169ee7'
const usdc = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const contractOf = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`
const largestId = '9'.repeat(77)

const bytesOf = (state: unknown): number => Buffer.byteLength(JSON.stringify(state))

describe('the size of the state', () => {
  it('has room for the tokens and collectibles that a stranger gave the longest names', async (t) => {
    const chain = await startChain(t)
    const row = (number: number, more: object) => ({
      ...{ blockNumber: String(1 + number), timeStamp: String(timeOf(1 + number)), hash: `0x${'ab'.repeat(32)}` },
      ...{ from: contractOf(1), to: address, contractAddress: contractOf(number), tokenDecimal: '18' },
      ...{ tokenSymbol: '\u0001'.repeat(32), tokenName: '\u0001'.repeat(64) },
      ...more,
    })
    const numbers = Array.from({ length: 1_600 }, (_, index) => 1_000 + index)
    const known = row(9_000, { contractAddress: usdc, tokenSymbol: 'USDC', tokenName: 'USD Coin', value: '1' })
    chain.lists.set('tokentx', [...numbers.map((number) => row(number, { value: '1' })), known])
    chain.lists.set(
      'token1155tx',
      numbers.map((number) => row(number, { tokenID: largestId, tokenValue: '1' })),
    )
    const reader = connector.open({ type: 'wallet', address }, chain.io)
    let state: ConnectorState = {}
    for (let isPartial = true; isPartial;) {
      const answer = await reader.fetchBalances(state)
      state = answer.state ?? state
      isPartial = answer.isPartial === true
      assert.ok(bytesOf(state) < stateBytesMax, `${bytesOf(state)} bytes`)
    }
    const { tokens = [], nfts = [] } = readState(state).chains['1'] ?? {}
    assert.ok(tokens.some((token) => token.address === usdc))
    assert.ok(tokens.length > 500 && nfts.length > 100, `${tokens.length} tokens and ${nfts.length} collectibles`)
  })

  it('is shared by the chains: a chain with few tokens loses none to the floods on the others', () => {
    const token = (number: number): Token => ({
      ...{ address: contractOf(number), symbol: '\u{1f4a9}'.repeat(32), name: '\u{1f4a9}'.repeat(64), decimals: 18 },
    })
    const nft = (number: number): Nft => ({ ...token(number), tokenId: largestId, standard: 'erc1155' })
    const flooded = {
      ...{ isUsed: true, checkedAtMs: null, scannedTo: 1 },
      tokens: Array.from({ length: 1_500 }, (_, index) => token(index)),
      nfts: Array.from({ length: 600 }, (_, index) => nft(index)),
    }
    const units = {
      native: '1',
      tokens: Object.fromEntries(flooded.tokens.map((one) => [one.address, largestId])),
      nfts: Object.fromEntries(flooded.nfts.map((one) => [`${one.address}:${one.tokenId}`, largestId])),
    }
    const few = { ...flooded, tokens: flooded.tokens.slice(0, 20), nfts: flooded.nfts.slice(0, 5) }
    const full = (): ChainState => ({ ...flooded, held: structuredClone(units) })
    const ids = chains.map(({ id }) => String(id))
    const round = {
      startedAtMs: 1,
      chains: Object.fromEntries(ids.map((id) => [id, { height: 1, scans: {}, units: structuredClone(units) }])),
    }
    const kept = withRoom({ chains: Object.fromEntries(ids.map((id) => [id, id === '1' ? few : full()])), round })
    assert.deepEqual(kept['1'], few)
    assert.ok(ids.every((id) => (kept[id]?.tokens.length ?? 0) >= 20))
    round.chains['1'] = { height: 1, scans: {}, units: { native: '1', tokens: {}, nfts: {} } }
    assert.ok(bytesOf({ address, chains: kept, round }) < stateBytesMax)
    assert.deepEqual(withRoom({ chains: kept, round }), kept)
  })
})
