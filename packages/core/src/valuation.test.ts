import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compare, divide, multiply, parseDecimal, subtract, absolute, type Decimal } from './decimal.ts'
import { valueTransaction, type LegsToValue } from './valuation.ts'

const d = parseDecimal
const leg = (assetId: string, amount: string): { assetId: string; amount: Decimal } => ({ assetId, amount: d(amount) })
const bitcoin = 'crypto:bitcoin'
const prices = new Map<string, Decimal>([
  ['fiat:usd', d('1')],
  ['fiat:eur', d('1.08')],
  ['crypto:tether', d('0.9991')],
  [bitcoin, d('90000')],
  ['crypto:ethereum', d('3000')],
])
const priceOf = (assetId: string): Decimal | undefined => prices.get(assetId)
const trade = (input: [string, string], output: [string, string], fees: [string, string][] = []): LegsToValue => ({
  type: 'input_and_output',
  inputs: [leg(...input)],
  outputs: [leg(...output)],
  fees: fees.map(([assetId, amount]) => leg(assetId, amount)),
})

describe('the value of a transaction', () => {
  it('gives both sides of a trade for dollars the amount that was paid', () => {
    const { inputs, outputs, method, dailyAssets } = valueTransaction(
      trade(['fiat:usd', '1144.888'], [bitcoin, '0.0125']),
      priceOf,
    )
    assert.equal(method, 'execution')
    assert.equal(inputs[0]?.value, '1144.888')
    assert.equal(outputs[0]?.value, '1144.888')
    assert.equal(outputs[0]?.price, '91591.04')
    assert.deepEqual(dailyAssets, ['fiat:usd'])
  })

  it('other money counts at the rate of its day, and stablecoins when neither side is money', () => {
    const euros = valueTransaction(trade([bitcoin, '0.01'], ['fiat:eur', '800']), priceOf)
    assert.equal(euros.inputs[0]?.value, '864')
    assert.equal(euros.outputs[0]?.value, '864')
    const tether = valueTransaction(trade([bitcoin, '0.01'], ['crypto:tether', '900']), priceOf)
    assert.equal(tether.inputs[0]?.value, '899.19')
  })

  it('dollars measure euros and tether, not the other way round', () => {
    assert.equal(valueTransaction(trade(['fiat:eur', '100'], ['fiat:usd', '110']), priceOf).inputs[0]?.value, '110')
    assert.equal(valueTransaction(trade(['fiat:usd', '99'], ['crypto:tether', '100']), priceOf).outputs[0]?.value, '99')
  })

  it('two coins have the prices of their day', () => {
    const { inputs, outputs, method, dailyAssets } = valueTransaction(
      trade([bitcoin, '0.1'], ['crypto:ethereum', '3']),
      priceOf,
    )
    assert.equal(method, 'daily')
    assert.deepEqual([inputs[0]?.value, outputs[0]?.value], ['9000', '9000'])
    assert.deepEqual(dailyAssets, [bitcoin, 'crypto:ethereum'])
  })

  it('dust sold for an amount rounded to zero has the price of its day', () => {
    const { outputs } = valueTransaction(trade(['fiat:eur', '0'], [bitcoin, '0.0000000007']), priceOf)
    assert.deepEqual(outputs[0], { price: '90000', value: '0.000063' })
  })

  it('a coin without any price gets one from a trade for money', () => {
    const { inputs } = valueTransaction(trade(['kraken:FOO', '4'], ['fiat:usd', '10']), priceOf)
    assert.deepEqual(inputs[0], { price: '2.5', value: '10' })
  })

  it('a fee in the traded asset has the price that was paid; a fee without a price leaves the total unknown', () => {
    const sold = trade(['fiat:usd', '1000'], [bitcoin, '0.01'], [[bitcoin, '0.0001']])
    assert.equal(valueTransaction(sold, priceOf).feeTotal, '10')
    const { feeTotal, unpricedFees } = valueTransaction(
      trade(
        ['fiat:usd', '1000'],
        [bitcoin, '0.01'],
        [
          ['fiat:usd', '1'],
          ['kraken:KFEE', '5'],
        ],
      ),
      priceOf,
    )
    assert.equal(feeTotal, undefined)
    assert.deepEqual(unpricedFees, ['kraken:KFEE'])
  })

  it('moves inside an account, and sides with several legs, have the prices of the day', () => {
    const lock = trade([bitcoin, '1'], [bitcoin, '1'])
    assert.equal(valueTransaction(lock, priceOf).method, 'daily')
    const two: LegsToValue = {
      ...trade(['fiat:usd', '5'], [bitcoin, '1']),
      inputs: [leg('fiat:usd', '5'), leg('fiat:eur', '1')],
    }
    assert.equal(valueTransaction(two, priceOf).method, 'daily')
    const dust = trade(['fiat:usd', '0.01'], [bitcoin, '0'])
    assert.equal(valueTransaction(dust, priceOf).method, 'daily')
  })

  it('property: price × amount is the value, but for the last digit kept', () => {
    const amount = fc.bigInt({ min: 1n, max: 10n ** 24n }).map((units) => divide(d(String(units)), d('1000000000'), 9))
    fc.assert(
      fc.property(amount, amount, (dollars, coins) => {
        if (dollars === undefined || coins === undefined || coins === '0') return
        const { outputs } = valueTransaction(trade(['fiat:usd', dollars], [bitcoin, coins]), priceOf)
        const [only] = outputs
        assert.ok(only?.price !== undefined && only.value !== undefined)
        const error = absolute(subtract(multiply(only.price, coins), only.value))
        const step = compare(dollars, coins) < 0 ? '0.000000000000000001' : '0.00000001'
        assert.ok(compare(error, multiply(coins, d(step))) <= 0)
      }),
    )
  })
})
