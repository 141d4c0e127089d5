import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assetOf, findKnownAsset, getAsset } from './assets.ts'
import { knownAssets } from './known-assets.ts'

describe('assets', () => {
  it('known ids, symbols and price ids are unique', () => {
    const priced = knownAssets.flatMap(({ coingeckoId }) => coingeckoId ?? [])
    assert.equal(new Set(knownAssets.map(({ assetId }) => assetId)).size, knownAssets.length)
    assert.equal(new Set(knownAssets.map(({ symbol }) => symbol)).size, knownAssets.length)
    assert.equal(new Set(priced).size, priced.length)
  })

  it('every known crypto asset can be priced, and fiat has no coin', () => {
    for (const { assetId, kind, coingeckoId } of knownAssets) {
      assert.equal(coingeckoId === null, kind === 'fiat', assetId)
      assert.match(assetId, kind === 'fiat' ? /^fiat:[a-z]{3}$/ : /^crypto:[a-z0-9-]+$/)
    }
  })

  it('bitcoin and the dollar are who one thinks', () => {
    assert.equal(findKnownAsset('BTC')?.assetId, 'crypto:bitcoin')
    assert.equal(getAsset('fiat:usd').symbol, 'USD')
    assert.equal(findKnownAsset('btc'), undefined)
  })

  it("a venue's code is the known asset that its own table names", () => {
    const table = new Map([['XBT', 'crypto:bitcoin']])
    assert.equal(assetOf('kraken', 'XBT', table).assetId, 'crypto:bitcoin')
  })

  it('a code outside the table is never matched by ticker', () => {
    const asset = assetOf('kraken', 'BTC', new Map())
    assert.deepEqual(asset, { assetId: 'kraken:BTC', symbol: 'BTC', name: 'BTC', coingeckoId: null, kind: 'crypto' })
    assert.notEqual(asset.assetId, assetOf('gemini', 'BTC', new Map()).assetId)
  })

  it('a scoped asset is the same when found again by its id, whatever its code looks like', () => {
    for (const code of ['FOO', 'TSLAx', 'A:B', 'FOO.X']) {
      const asset = assetOf('kraken', code, new Map())
      assert.equal(asset.symbol, code)
      assert.deepEqual(getAsset(asset.assetId), asset)
    }
  })

  it('an id that nobody gave out is refused', () => {
    for (const id of ['', 'bitcoin', 'crypto:nonsense', 'fiat:xxx', ':FOO', 'kraken:']) {
      assert.throws(() => getAsset(id), RangeError, id)
    }
  })
})
