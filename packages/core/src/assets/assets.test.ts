import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { contractsFile, toContracts, toTokens, tokensFile } from '../../../../tools/generators/build-assets.ts'
import { toTable } from './codes.ts'
import { assetOf, findAssetByContract, getAsset, knownAssets } from './index.ts'
import { curatedAssets } from './known-assets.ts'

const anyTime = Date.parse('2026-01-01')

describe('assets', () => {
  it('ids and price ids are unique, and symbols among the curated', () => {
    const priced = knownAssets.flatMap(({ coingeckoId }) => coingeckoId ?? [])
    assert.equal(new Set(knownAssets.map(({ assetId }) => assetId)).size, knownAssets.length)
    assert.equal(new Set(curatedAssets.map(({ symbol }) => symbol)).size, curatedAssets.length)
    assert.equal(new Set(priced).size, priced.length)
    assert.ok(knownAssets.length > 1_900, `only ${knownAssets.length} assets`)
  })

  it('every known crypto asset can be priced, and fiat has no coin', () => {
    for (const { assetId, kind, coingeckoId } of knownAssets) {
      assert.equal(coingeckoId === null, kind === 'fiat', assetId)
      assert.match(assetId, kind === 'fiat' ? /^fiat:[a-z]{3}$/ : /^crypto:[a-z0-9-]+$/)
    }
  })

  it('bitcoin and the dollar have their usual ids and symbols', () => {
    assert.equal(getAsset('crypto:bitcoin').symbol, 'BTC')
    assert.equal(getAsset('fiat:usd').symbol, 'USD')
  })

  it("a provider's code means the asset in its own table", () => {
    assert.equal(assetOf('kraken', 'XBT', anyTime).assetId, 'crypto:bitcoin')
    assert.equal(assetOf('kraken', 'LUNA', anyTime).assetId, 'crypto:terra-luna-classic')
    assert.equal(assetOf('kraken', 'MXN', anyTime).kind, 'fiat')
  })

  it('Binance: RON is the Romanian leu, and the coin Ronin is RONIN', () => {
    assert.equal(assetOf('binance', 'RON', anyTime).assetId, 'binance:RON')
    assert.equal(assetOf('binance', 'RONIN', anyTime).assetId, 'crypto:ronin')
  })

  it('a code outside the table is never matched by ticker', () => {
    const asset = assetOf('kraken', 'BTCB', anyTime)
    assert.deepEqual(asset, { assetId: 'kraken:BTCB', symbol: 'BTCB', name: 'BTCB', coingeckoId: null, kind: 'crypto' })
    assert.equal(assetOf('nowhere', 'BTC', anyTime).assetId, 'nowhere:BTC')
  })

  it('a code may mean another asset from a given day', () => {
    const table = toTable({ same: 'BTC', other: 'LUNA:LUNC<2022-05-28 LUNA:LUNA>2022-05-28' })
    const meanings = table.get('LUNA') ?? []
    const at = (day: string): string | undefined =>
      meanings.find(({ fromMs, untilMs }) => fromMs <= Date.parse(day) && Date.parse(day) < untilMs)?.assetId
    assert.equal(at('2022-05-27'), 'crypto:terra-luna-classic')
    assert.equal(at('2022-05-28'), 'crypto:terra')
  })

  it('a tokenised share is a share, not the coin with the same ticker', () => {
    assert.equal(assetOf('kraken', 'TSLAx', anyTime).kind, 'share')
    assert.equal(assetOf('kraken', 'TSLAx', anyTime).assetId, 'kraken:TSLAx')
  })

  it('a token on a chain is identified only by its contract', () => {
    const found = findAssetByContract('evm:1', '0x5A3E6A77BA2F983EC0D371EA3B475F8BC0811AD5')
    assert.equal(found?.assetId, 'crypto:0x0-ai-ai-smart-contract')
    assert.equal(findAssetByContract('evm:10', '0x5a3e6a77ba2f983ec0d371ea3b475f8bc0811ad5'), undefined)
  })

  it('a curated asset is also identified by its contracts, and each contract is one asset', async () => {
    const idsOf = (address: string): (string | undefined)[] =>
      ['evm:1', 'evm:8453'].map((network) => findAssetByContract(network, address)?.assetId)
    assert.deepEqual(idsOf('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'), ['crypto:usd-coin', undefined])
    assert.deepEqual(idsOf('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'), [undefined, 'crypto:usd-coin'])
    assert.deepEqual(idsOf('0x4200000000000000000000000000000000000006'), [undefined, 'crypto:weth'])
    const rows = [tokensFile, contractsFile].map((file) => readFile(file, 'utf8'))
    const addresses = (await Promise.all(rows))
      .flatMap((text) => JSON.parse(text) as unknown[][])
      .flatMap((row) => Object.entries(row.at(-1) as Record<string, string>))
      .map(([network, address]) => `${network} ${network === 'solana' ? address : address.toLowerCase()}`)
    assert.equal(new Set(addresses).size, addresses.length)
  })

  it('a scoped asset is the same when found again by its id, whatever its code looks like', () => {
    for (const code of ['FOO', 'TSLAx', 'A:B', 'FOO.X']) {
      const asset = assetOf('kraken', code, anyTime)
      assert.equal(asset.symbol, code)
      assert.deepEqual(getAsset(asset.assetId), asset)
    }
  })

  it('a piece of a collection is distinguished from a token', () => {
    const contract = `evm:1:0x${'ab'.repeat(20)}`
    assert.deepEqual([getAsset(contract).kind, getAsset(`${contract}:7`).kind], ['crypto', 'nft'])
  })

  it('an unknown id is refused', () => {
    for (const id of ['', 'bitcoin', 'crypto:nonsense', 'fiat:xxx', ':FOO', 'kraken:']) {
      assert.throws(() => getAsset(id), RangeError, id)
    }
  })

  it('the lists of tokens and of contracts are what their generator writes', async () => {
    assert.equal(await readFile(tokensFile, 'utf8'), toTokens())
    assert.equal(await readFile(contractsFile, 'utf8'), toContracts())
  })
})
