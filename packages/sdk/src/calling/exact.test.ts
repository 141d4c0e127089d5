import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseExact } from './exact.ts'

const members = new Set(['asset_holdings', 'price_in_usd'])

describe('exact JSON', () => {
  it('keeps every digit of the chosen members, and the others as numbers', () => {
    const text =
      '[{"asset_holdings": 123456789012.123456789012345678,"price_in_usd":null,"count":3,"x":{"price_in_usd":-1e-18}}]'
    assert.deepEqual(parseExact(text, members), [
      {
        asset_holdings: '123456789012.123456789012345678',
        price_in_usd: null,
        count: 3,
        x: { price_in_usd: '-1e-18' },
      },
    ])
  })

  it('is not misled by texts that look like members', () => {
    const value = { name: '"asset_holdings":1', asset_holdings: 'asset_holdings', next: [1, 'price_in_usd', 2] }
    assert.deepEqual(parseExact(JSON.stringify(value), members), value)
  })

  it('is JSON.parse for every document without those members', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        assert.deepEqual(parseExact(text, members), JSON.parse(text))
      }),
    )
  })
})
