import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StoredRecord } from '../kit/connector.ts'
import { toTransactions } from './transactions.ts'

const atMs = Date.parse('2026-03-02T10:00:00Z')

function entry(id: string, kind: string, asset: string, amount: string, more: object = {}): StoredRecord {
  const body = { id, reference: 'r_1', kind, asset, amount, fee: '0', hash: null, address: null, ...more }
  return { stream: 'entries', partition: '', key: id, occurredAtMs: atMs, body: JSON.stringify(body) }
}

describe('Harbor’s entries', () => {
  it('two sides of a trade are one transaction, whatever order they came in', () => {
    const sides = [entry('e_1', 'trade', 'USD', '-64000.5', { fee: '1.02' }), entry('e_2', 'trade', 'BTC', '1')]
    const [draft, ...others] = toTransactions(sides)
    assert.deepEqual(others, [])
    assert.deepEqual(toTransactions(sides.toReversed()), [draft])
    assert.deepEqual([draft?.type, draft?.category], ['input_and_output', 'trade'])
    assert.deepEqual(draft?.inputs, [{ assetId: 'crypto:bitcoin', symbol: 'BTC', amount: '1' }])
    assert.deepEqual(draft?.outputs, [{ assetId: 'fiat:usd', symbol: 'USD', amount: '64000.5' }])
    assert.deepEqual(draft?.fees, [{ assetId: 'fiat:usd', symbol: 'USD', amount: '1.02', kind: 'trading' }])
  })

  it('deposits, withdrawals and rewards are what they are called, with every digit, hash and address', () => {
    const [sent] = toTransactions([
      entry('e_1', 'withdrawal', 'ETH', '-0.000000000000000001', { fee: '0.1', hash: '0xab', address: '0xcd' }),
    ])
    assert.deepEqual([sent?.type, sent?.category, sent?.hash, sent?.toAddress], ['send', 'withdrawal', '0xab', '0xcd'])
    assert.equal(sent?.outputs[0]?.amount, '0.000000000000000001')
    assert.equal(sent?.fees[0]?.kind, 'withdrawal')
    assert.equal(toTransactions([entry('e_1', 'deposit', 'ETH', '1')])[0]?.type, 'receive')
    assert.equal(toTransactions([entry('e_1', 'reward', 'DOT', '1')])[0]?.category, 'staking_reward')
  })

  it('what Harbor does not tell of a transfer on a chain is null and named; a bank’s lacks nothing', () => {
    const incompleteOf = (...of: Parameters<typeof entry>): unknown => toTransactions([entry(...of)])[0]?.incomplete
    const chain = { hash: '0xab', address: '0xcd' }
    assert.deepEqual(incompleteOf('e_1', 'withdrawal', 'ETH', '-1', chain), ['network', 'from_address'])
    assert.deepEqual(incompleteOf('e_1', 'deposit', 'ETH', '1', chain), ['network', 'from_address'])
    assert.deepEqual(incompleteOf('e_1', 'deposit', 'SOL', '3'), ['network', 'hash', 'from_address', 'to_address'])
    assert.deepEqual(incompleteOf('e_1', 'deposit', 'EUR', '600'), [])
    assert.deepEqual(incompleteOf('e_1', 'reward', 'ETH', '1'), [])
  })

  it('a kind that is not known, and half a trade, are kept and said to be incomplete', () => {
    for (const record of [entry('e_1', 'liquidation', 'BTC', '-1'), entry('e_1', 'trade', 'BTC', '1')]) {
      const [draft] = toTransactions([record])
      assert.deepEqual([draft?.type, draft?.incomplete], ['uncategorized', ['type']])
      assert.equal((draft?.inputs.length ?? 0) + (draft?.outputs.length ?? 0), 1)
    }
  })

  it('an asset that Harbor alone knows stays Harbor’s', () => {
    assert.equal(toTransactions([entry('e_1', 'deposit', 'XYZ', '1')])[0]?.inputs[0]?.assetId, 'harbor:XYZ')
  })

  it('an amount that is no number is not guessed at', () => {
    assert.throws(() => toTransactions([entry('e_1', 'deposit', 'BTC', 'a lot')]))
  })
})
