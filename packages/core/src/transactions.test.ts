import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDecimal } from './decimal.ts'
import { withTypeOfLegs, type TransactionDraft, type TransactionType } from './transactions.ts'

const leg = { assetId: 'crypto:bitcoin', symbol: 'BTC', amount: parseDecimal('1') }

function draftOf(type: TransactionType, inputs: number, outputs: number): TransactionDraft {
  return {
    ...{ naturalKey: 'k', type, category: 'trade', method: 'venue', confidence: 1, status: 'confirmed' },
    ...{ occurredAtMs: 0, network: null, hash: null, fromAddress: null, toAddress: null, spam: false },
    ...{ providerReference: null, description: null, incomplete: [], fees: [{ ...leg, kind: 'trading' }] },
    inputs: Array.from({ length: inputs }, () => leg),
    outputs: Array.from({ length: outputs }, () => leg),
  }
}

describe('the type of a draft', () => {
  it('is that of its legs, where it says what came and what left', () => {
    for (const type of ['input_only', 'output_only', 'input_and_output'] as const) {
      assert.equal(withTypeOfLegs(draftOf(type, 1, 0)).type, 'input_only')
      assert.equal(withTypeOfLegs(draftOf(type, 0, 2)).type, 'output_only')
      assert.equal(withTypeOfLegs(draftOf(type, 1, 1)).type, 'input_and_output')
    }
  })

  it('stays where it says more than the legs do, or the legs are not all there', () => {
    for (const type of ['send', 'receive', 'uncategorized'] as const) {
      assert.equal(withTypeOfLegs(draftOf(type, 1, 1)).type, type)
    }
    const trade = draftOf('input_and_output', 0, 1)
    const kept: TransactionDraft[] = [
      { ...trade, status: 'pending' },
      { ...trade, status: 'failed' },
      { ...trade, incomplete: ['inputs'] },
      draftOf('input_and_output', 0, 0),
    ]
    for (const draft of kept) assert.equal(withTypeOfLegs(draft).type, 'input_and_output')
  })
})
