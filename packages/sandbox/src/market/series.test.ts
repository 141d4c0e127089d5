import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { coins } from './coins.ts'
import { dayOf, findCoin, priceInUsd, priceText } from './series.ts'

const usd = findCoin('usd')
const bitcoin = findCoin('bitcoin')
assert.ok(usd && bitcoin)

describe('daily prices', () => {
  it('are the same digits on every machine', () => {
    const days = ['2021-03-05', '2024-02-29', '2026-11-15'].map((date) => dayOf(Date.parse(date)))
    assert.deepEqual(
      days.map((day) => priceText(bitcoin, usd, day)),
      ['32321.65', '47412.09', '95276.12'],
    )
  })

  it('are above zero and within a quarter of the line between the yearly levels', () => {
    for (const coin of coins) {
      for (let day = dayOf(Date.UTC(2020, 0, 1)); day <= dayOf(Date.UTC(2026, 11, 31)); day += 5) {
        assert.ok(priceInUsd(coin, day) > 0n, coin.id)
      }
    }
    const newYear = priceInUsd(bitcoin, dayOf(Date.UTC(2024, 0, 1)))
    assert.ok(newYear > (42_300n * 10n ** 15n * 3n) / 4n && newYear < (42_300n * 10n ** 15n * 5n) / 4n)
  })

  it('keep a stablecoin near a dollar', () => {
    const tether = findCoin('tether')
    assert.ok(tether)
    for (let day = 18_300; day < 20_700; day += 1) {
      assert.match(priceText(tether, usd, day), /^(1(\.00\d*)?|0\.99\d*)$/)
    }
  })
})
