import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDecimal } from './decimal.ts'
import { isSpamAsset, isSpamTransfer } from './spam.ts'
import type { Leg, TransactionDraft } from './transactions.ts'

const unknown = (symbol: string, name?: string): Leg => ({
  assetId: `ethereum:0x${'1'.repeat(40)}`,
  symbol,
  amount: parseDecimal('1'),
  ...(name === undefined ? {} : { name }),
})
const advertised = unknown('AIR', 'Visit airdrop-usdc.com to claim rewards')

describe('an asset of a wallet is spam', () => {
  it('when its symbol or name is an advertisement', () => {
    const spam: [string, string?][] = [
      ['claim-eth.com'],
      ['ETH2.IO'],
      ['$ 1000 USDC', 'Visit usdc-bonus.net'],
      ['USDT', 'https://usdt.example'],
      ['FREE', 'www.gift.example'],
      ['TG', 'join t.me/freecoins'],
      ['TG', 'write @freecoins_bot'],
      ['AIRDROP'],
      ['NFT', 'Voucher for 5 ETH'],
    ]
    for (const [symbol, name] of spam) assert.ok(isSpamAsset(unknown(symbol, name)), `${symbol} ${name}`)
  })

  it('when it spells a known symbol in letters of another alphabet, or with invisible ones', () => {
    for (const symbol of ['UЅDT', 'USDТ', 'ЕТН', 'ＵＳＤＣ', 'U\u200BSDT', 'USDC\u00A0', 'USDC\u3164']) {
      assert.ok(isSpamAsset(unknown(symbol)), JSON.stringify(symbol))
    }
  })

  it('but not for being unknown, for a shared symbol, or for a name in another alphabet', () => {
    const honest: [string, string?][] = [
      ['WAGMI', 'We are all going to make it'],
      ['USDC', 'USD Coin (bridged)'],
      ['USDC.e'],
      ['YFX', 'yearn.finance fork'],
      ['ЛЕВ', 'Лев'],
      ['aUSDC', 'Aave interest bearing USDC'],
      ['PROCLAIM', 'Reclaim Protocol'],
      ['A.I', 'A.I. Coin'],
    ]
    for (const [symbol, name] of honest) assert.ok(!isSpamAsset(unknown(symbol, name)), `${symbol} ${name}`)
  })

  it('never when it is one of the known assets', () => {
    assert.ok(!isSpamAsset({ assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Visit bitcoin.org' }))
  })
})

describe('a transfer to a wallet is spam', () => {
  const draft: TransactionDraft = {
    naturalKey: 'k',
    type: 'receive',
    category: 'deposit',
    method: 'rule',
    confidence: 1,
    status: 'confirmed',
    occurredAtMs: 0,
    inputs: [advertised],
    outputs: [],
    fees: [],
    network: 'ethereum',
    hash: null,
    fromAddress: null,
    toAddress: null,
    spam: false,
    providerReference: null,
    description: null,
    incomplete: [],
  }

  it('when everything received is spam and nothing was given for it', () => {
    assert.ok(isSpamTransfer(draft))
  })

  it('but not when something was given or paid for it, or something else came with it', () => {
    const ether: Leg = { assetId: 'crypto:ethereum', symbol: 'ETH', amount: parseDecimal('0.1') }
    assert.ok(!isSpamTransfer({ ...draft, outputs: [ether] }))
    assert.ok(!isSpamTransfer({ ...draft, fees: [{ ...ether, kind: 'network' }] }))
    assert.ok(!isSpamTransfer({ ...draft, inputs: [advertised, ether] }))
    assert.ok(!isSpamTransfer({ ...draft, inputs: [], outputs: [advertised] }))
  })
})
