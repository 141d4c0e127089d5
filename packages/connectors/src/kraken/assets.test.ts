import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readAssetCode } from './assets.ts'

describe("Kraken's asset codes", () => {
  const readings: [code: string, assetId: string, walletKind: string][] = [
    ['XXBT', 'crypto:bitcoin', 'spot'],
    ['XBT', 'crypto:bitcoin', 'spot'],
    ['BTC', 'crypto:bitcoin', 'spot'],
    ['XBT.M', 'crypto:bitcoin', 'staked'],
    ['XBT.F', 'crypto:bitcoin', 'earning'],
    ['XXBT.F', 'crypto:bitcoin', 'earning'],
    ['XXDG', 'crypto:dogecoin', 'spot'],
    ['XETH', 'crypto:ethereum', 'spot'],
    ['ETH2', 'crypto:ethereum', 'staked'],
    ['ETH2.S', 'crypto:ethereum', 'staked'],
    ['ETH.B', 'crypto:ethereum', 'staked'],
    ['DOT', 'crypto:polkadot', 'spot'],
    ['DOT.S', 'crypto:polkadot', 'staked'],
    ['DOT28.S', 'crypto:polkadot', 'staked'],
    ['DOT.P', 'crypto:polkadot', 'staked'],
    ['SOL03.S', 'crypto:solana', 'staked'],
    ['1INCH.S', 'crypto:1inch', 'staked'],
    ['ZUSD', 'fiat:usd', 'spot'],
    ['USD.HOLD', 'fiat:usd', 'spot'],
    ['USD.M', 'fiat:usd', 'staked'],
    ['CHF', 'fiat:chf', 'spot'],
    ['LUNA', 'crypto:terra-luna-classic', 'spot'],
    ['LUNA2', 'crypto:terra', 'spot'],
    ['FOO', 'kraken:FOO', 'spot'],
    ['FOO28.S', 'kraken:FOO', 'staked'],
    ['C98.S', 'crypto:coin98', 'staked'],
    ['XMLN', 'crypto:melon', 'spot'],
    ['ZMXN', 'fiat:mxn', 'spot'],
    ['ZARS', 'fiat:ars', 'spot'],
    ['KFEE', 'kraken:KFEE', 'spot'],
    ['TSLAx', 'kraken:TSLAx', 'spot'],
    ['TSLAx.T', 'kraken:TSLAx', 'spot'],
    ['BRK.Bx', 'kraken:BRK.Bx', 'spot'],
    ['FLOWH', 'kraken:FLOWH', 'spot'],
    ['FLOWH.S', 'kraken:FLOWH', 'staked'],
    ['ETH.INK', 'crypto:ethereum', 'spot'],
    ['USDT0.TEMPO', 'crypto:usdt0', 'spot'],
    ['HYPER.CORE', 'crypto:hyperlane', 'spot'],
  ]
  for (const [code, assetId, walletKind] of readings) {
    it(`${code} is ${assetId}, ${walletKind}`, () => {
      const reading = readAssetCode(code)
      assert.deepEqual([reading.asset.assetId, reading.walletKind, reading.verified], [assetId, walletKind, true])
    })
  }

  it('a wallet that we do not know makes a separate asset, marked as unverified', () => {
    const { asset, verified } = readAssetCode('DOT.Q')
    assert.deepEqual([asset.assetId, verified], ['kraken:DOT.Q', false])
  })

  it('a network behind the dot of a coin that we do not know makes a separate asset', () => {
    const { asset, verified } = readAssetCode('FOO.INK')
    assert.deepEqual([asset.assetId, verified], ['kraken:FOO.INK', false])
  })

  it('tokenised shares are shares', () => {
    for (const code of ['TSLAx', 'TSLAx.T', 'AAPLx', 'BRK.Bx'])
      assert.equal(readAssetCode(code).asset.kind, 'share', code)
    assert.equal(readAssetCode('ZMXN').asset.kind, 'fiat')
  })

  it('a tokenised share does not become the coin that has its ticker', () => {
    assert.equal(readAssetCode('LINK.T').asset.assetId, 'kraken:LINK.T')
  })

  it('members of Object.prototype are not codes', () => {
    assert.equal(readAssetCode('constructor').asset.assetId, 'kraken:constructor')
    assert.equal(readAssetCode('DOT.constructor').verified, false)
  })
})
