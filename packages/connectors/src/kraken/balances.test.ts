import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SourceError } from '@assay/core'
import { parseJsonVerbatim } from '../kit/json.ts'
import { toBalances } from './connector.ts'

/** [symbol, liquid, staked] of a BalanceEx result. */
function holdings(result: string): string[][] {
  return toBalances(parseJsonVerbatim(result)).balances.map(({ symbol, liquid, staked }) => [symbol, liquid, staked])
}

describe('holdings', () => {
  it("match Kraken's documented example", () => {
    const result = `{"ZUSD":{"balance":"25435.21","hold_trade":"8249.76"},"XXBT":{"balance":"1.2435","hold_trade":"0.8423"}}`
    assert.deepEqual(holdings(result), [
      ['USD', '25435.21', '0'],
      ['BTC', '1.2435', '0'],
    ])
  })

  it('all wallets of an asset are one position, staked apart from liquid', () => {
    const result = `{"DOT":{"balance":"1.5"},"DOT.S":{"balance":"10"},"DOT28.S":{"balance":"20.25"},"DOT.P":{"balance":"3"},
      "DOT.F":{"balance":"0.5"},"DOT.B":{"balance":"7"},"DOT.M":{"balance":"2"},"XXBT":{"balance":"0"},"XBT.F":{"balance":"0.1"},
      "ZUSD":{"balance":"5"},"USD.HOLD":{"balance":"100"}}`
    assert.deepEqual(holdings(result), [
      ['DOT', '2', '42.25'],
      ['BTC', '0.1', '0'],
      ['USD', '105', '0'],
    ])
  })

  it('positions of zero are not listed, and the tiniest is', () => {
    const result = `{"XXLM":{"balance":"0.0000000000"},"FOO":{"balance":"0.000000000000000001"}}`
    assert.deepEqual(holdings(result), [['FOO', '0.000000000000000001', '0']])
  })

  it('digits survive when Kraken writes numbers instead of text', () => {
    const result = '{"FOO":{"balance":123456789012.123456789012345678,"hold_trade":1e-18}}'
    assert.deepEqual(holdings(result), [['FOO', '123456789012.123456789012345678', '0']])
  })

  it('an account that never held anything has no result', () =>
    assert.deepEqual(toBalances(undefined), { balances: [] }))

  it('a code that cannot be an asset’s is left out and named, and the others are read', () => {
    const long = 'X'.repeat(400)
    const { balances, unreadable } = toBalances({
      '': { balance: '1' },
      [long]: { balance: '2' },
      XXBT: { balance: '3' },
      [`${long}.S`]: { balance: '0' },
    })
    assert.deepEqual(
      balances.map(({ symbol, liquid }) => [symbol, liquid]),
      [['BTC', '3']],
    )
    assert.deepEqual(unreadable, ['an asset without a code', `${'X'.repeat(40)}…`])
  })

  it('are in doubt while a credit line is in use, because nothing says whether they have what was bought with it', () => {
    const readWith = (used: string) =>
      toBalances(parseJsonVerbatim(`{"ZUSD":{"balance":"5","credit":"100","credit_used":${used},"hold_trade":"0"}}`))
    assert.deepEqual([readWith('"0.0000"').isInDoubt, readWith('null').isInDoubt], [undefined, undefined])
    for (const used of ['"60.5"', '60.5', '"much"']) {
      const { balances, isInDoubt, unreadable } = readWith(used)
      assert.deepEqual([isInDoubt, unreadable], [true, ['a credit line that is in use']])
      assert.equal(balances[0]?.liquid, '5')
    }
  })

  it('an answer of another format is a provider failure, not an empty account', () => {
    for (const result of ['[]', '"x"', '{"XXBT":{"balance":"much"}}', '{"XXBT":{}}', 'null']) {
      assert.throws(
        () => holdings(result),
        (error: SourceError) => error.fault === 'unreadable_answer',
      )
    }
  })
})
