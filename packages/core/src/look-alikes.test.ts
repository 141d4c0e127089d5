import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDisguised, toShortAddress, withDistinctName } from './look-alikes.ts'

const onEthereum = `evm:1:0xdead${'0'.repeat(32)}beef`
const onSolana = 'solana:DecXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'

describe('a token whose contract is not in the registry', () => {
  it('is shown with its address when it takes the symbol of a known asset, on every chain', () => {
    const shown = [onEthereum, `${onEthereum}:7`, onSolana].map(
      (assetId) => withDistinctName({ assetId, symbol: 'USDC' }).symbol,
    )
    assert.deepEqual(shown, ['USDC (0xdead…beef)', 'USDC (0xdead…beef)', 'USDC (DecX…B263)'])
  })

  it('so is one that takes the name, and a symbol that is a name or a name that is a symbol', () => {
    assert.deepEqual(withDistinctName({ assetId: onEthereum, symbol: 'Tether', name: 'USD Coin' }), {
      assetId: onEthereum,
      symbol: 'Tether (0xdead…beef)',
      name: 'USD Coin (0xdead…beef)',
    })
    assert.equal(withDistinctName({ assetId: onEthereum, symbol: 'XYZ', name: 'BTC' }).name, 'BTC (0xdead…beef)')
  })

  it('in any case, in letters of another alphabet, and with characters that nothing shows', () => {
    for (const symbol of [
      'usdc',
      'Usdc',
      'UЅDC',
      'ＵＳＤＣ',
      'US\u200BDC',
      'USDC\u3164',
      'USDC\u2800',
      'U\u0000SDC',
      'STETH',
    ]) {
      const shown = withDistinctName({ assetId: onEthereum, symbol }).symbol
      assert.equal(shown, `${symbol} (0xdead…beef)`)
    }
  })

  it('in letters of any alphabet, also where the table of look-alikes has no such letter', () => {
    for (const symbol of ['ꓐꓔꓚ', 'ᎬᎢᎻ', 'ꓢꓳꓡ', 'USDϹ', 'DAӀ', 'ꓑAXG', 'USᴅC', 'USDÇ', 'USD₮', 'UꙄDC', '泰达币']) {
      const { symbol: shown, name } = withDistinctName({ assetId: onEthereum, symbol, name: symbol })
      assert.deepEqual([shown, name], [`${symbol} (0xdead…beef)`, `${symbol} (0xdead…beef)`])
    }
  })

  it('keeps a symbol and a name of its own, and everything else about it', () => {
    for (const token of [
      { assetId: onEthereum, symbol: 'MYOWN', name: 'A token with a name of its own' },
      { assetId: onEthereum, symbol: 'USDC.e', name: 'Bridged USDC' },
      { assetId: onSolana, symbol: 'DecX…B263', amount: '1' },
    ]) {
      assert.deepEqual(withDistinctName(token), token)
    }
  })
})

describe('a symbol', () => {
  it('is disguised when it looks like a known one in letters of another alphabet', () => {
    for (const symbol of [
      'ꓐꓔꓚ',
      'ᎬᎢᎻ',
      'ꓢꓳꓡ',
      'USDϹ',
      'DAӀ',
      'ꓑAXG',
      'USᴅC',
      'USDÇ',
      'UꙄDC',
      'U\u200BSDC',
      'ＵＳＤＣ',
      // One letter of three may stand for any, unless it is known to look like that one.
      'ĐAI',
      'ÐAI',
      'ɃTC',
      'ETĦ',
      'SØŁ',
      'eŧh',
    ]) {
      assert.ok(isDisguised(symbol), symbol)
    }
  })

  it('is not disguised when it is plain, or when it only has letters of its own alphabet', () => {
    for (const symbol of ['USDC', 'usdc', 'USDC.e', '泰达币', 'USD币', '龙DOGE', 'ЖЩЯ', 'Ω', 'πAI', 'MØ', 'ЖAI']) {
      assert.ok(!isDisguised(symbol), symbol)
    }
  })
})

it('a known asset keeps its symbol and name', () => {
  const dollar = { assetId: 'crypto:usd-coin', symbol: 'USDC', name: 'USD Coin' }
  assert.deepEqual(withDistinctName(dollar), dollar)
})

it('an address is shortened as wallets show it', () => {
  assert.equal(toShortAddress(`0xdead${'0'.repeat(32)}beef`), '0xdead…beef')
  assert.equal(toShortAddress('DecXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'), 'DecX…B263')
})
