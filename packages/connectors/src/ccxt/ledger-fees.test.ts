/**
 * Fees inside what a ledger books. bybit-exchange.github.io/docs/v5, "Get Transaction Log": "change = cashFlow + funding -
 * fee". OKX's bills have a fee below zero where it was charged, and `balChg` is what is left after it.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { add, negate, zero, type Decimal, type TransactionDraft } from '@assay/core'
import type { StoredRecord } from '../kit/connector.ts'
import { toTransactions } from './transactions.ts'

const atMs = Date.parse('2025-05-01T10:00:00Z')

function entry(key: string, members: object): StoredRecord {
  const body = JSON.stringify({ ccxt: { id: key, timestamp: atMs, status: 'ok', ...members }, info: {} })
  return { stream: 'ledger', partition: '', key, occurredAtMs: atMs, body }
}

/** Inputs − outputs − fees of each asset. */
function changesOf({ inputs, outputs, fees }: TransactionDraft): Record<string, string> {
  const sums = new Map<string, Decimal>()
  const move = (symbol: string, amount: Decimal): void => void sums.set(symbol, add(sums.get(symbol) ?? zero, amount))
  for (const { symbol, amount } of inputs) move(symbol, amount)
  for (const { symbol, amount } of [...outputs, ...fees]) move(symbol, negate(amount))
  return Object.fromEntries(sums)
}

const fee = (currency: string, cost: string): object => ({ fee: { currency, cost } })

describe('the fee of an entry', () => {
  for (const [providerId, own] of [
    ['bybit', { ownType: 'CURRENCY_BUY' }],
    ['bybiteu', { ownType: 'CURRENCY_SELL' }],
    ['okx', { ownType: 'convert' }],
  ] as const) {
    it(`is in the amount at ${providerId}, and is charged once`, () => {
      const sides = [
        entry('a', { ...own, currency: 'BTC', amount: '0.5', direction: 'out', ...fee('BTC', '0') }),
        entry('b', { ...own, currency: 'USDT', amount: '29940', direction: 'in', ...fee('USDT', '60') }),
      ]
      const [draft] = toTransactions(providerId, sides)
      assert.ok(draft !== undefined)
      assert.deepEqual(changesOf(draft), { BTC: '-0.5', USDT: '29940' })
      assert.deepEqual(
        [draft.inputs, draft.fees].map((legs) => legs.map(({ amount, symbol }) => `${amount} ${symbol}`)),
        [['30000 USDT'], ['60 USDT']],
      )
    })
  }

  it('that was paid back is in the amount too', () => {
    const sides = [
      entry('a', { ownType: 'CURRENCY_BUY', currency: 'BTC', amount: '0.5', direction: 'out' }),
      entry('b', { ownType: 'CURRENCY_BUY', currency: 'USDT', amount: '101', direction: 'in', ...fee('USDT', '-1') }),
    ]
    const [draft] = toTransactions('bybit', sides)
    assert.ok(draft !== undefined)
    assert.deepEqual(changesOf(draft), { BTC: '-0.5', USDT: '101' })
  })

  it('may be more than what came in, or be all that left', () => {
    const more = { ownType: 'AIRDROP', currency: 'USDT', amount: '1', direction: 'out', ...fee('USDT', '3') }
    const all = { ownType: 'AIRDROP', currency: 'USDT', amount: '3', direction: 'out', ...fee('USDT', '3') }
    for (const [members, change] of [
      [more, '-1'],
      [all, '-3'],
    ] as const) {
      const [draft] = toTransactions('bybit', [entry('a', members)])
      assert.ok(draft !== undefined)
      assert.deepEqual(changesOf(draft), { USDT: change })
    }
  })

  it('is beside the amount where nothing else is documented', () => {
    const members = { type: 'reward', currency: 'USDT', amount: '10', direction: 'in', ...fee('USDT', '1') }
    const [draft] = toTransactions('bitget', [entry('a', members)])
    assert.ok(draft !== undefined)
    assert.deepEqual(changesOf(draft), { USDT: '9' })
  })
})
