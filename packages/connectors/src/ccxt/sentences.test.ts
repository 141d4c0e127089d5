/**
 * A ledger that tells its types in sentences: docs.bitfinex.com, rest-auth-ledgers, and the sentences of bfx-reports
 * (github.com/bitfinexcom). Each ends with the wallet, which is called "exchange" where others say "spot".
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs } from '@assay/core'
import type { Io, StoredRecord } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')

/** What becomes of an entry with this sentence; undefined when it moves nothing. */
async function derive(sentence: string, amount: number): Promise<string | undefined> {
  const row = [2_531_822_314, 'BTC', null, nowMs - dayMs, null, amount, 5, null, sentence]
  const io: Io = {
    fetch: async (input) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      if (pathname.includes('/ledgers/')) return Response.json([row])
      const isOfPairs = pathname.includes('/conf/pub:info:pair')
      const pair = ['BTCUSD', [null, null, null, '0.00004', '2000', null, null, null, 0.2, 0.1, null, null]]
      return Response.json(isOfPairs ? [[pair], []] : [[]])
    },
    ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
  }
  const connector = createCcxtConnector('bitfinex')
  const reader = connector.open({ type: 'api_key', apiKey: 'key', secretKey: 's'.repeat(32) }, io)
  const list = { stream: 'ledger', partition: '' }
  const window = { unit: 'ms' as const, start: nowMs - 3 * dayMs, end: nowMs }
  const { records } = await reader.fetchPage({ ...list, window, pageMark: null, lastingMark: null, state: {} })
  assert.equal(records.length, 1)
  const stored = records.map((record): StoredRecord => ({ ...record, ...list }))
  const [draft] = connector.toTransactions(stored, { addresses: new Set(), state: {} })
  return draft && `${draft.type} ${draft.category}`
}

describe('an entry in the wallet "exchange"', () => {
  for (const [sentence, expected] of [
    ['XYZ airdrop on wallet exchange', 'input_only airdrop'],
    ['Token Distribution on wallet exchange', 'input_only airdrop'],
    ['Staking reward on wallet exchange', 'input_only staking_reward'],
    ['Account adjustment on wallet exchange', 'uncategorized other'],
    ['Margin Funding Payment on wallet funding', 'input_only interest'],
  ] as const) {
    it(`is not a trade because of the wallet: ${sentence}`, async () => {
      assert.equal(await derive(sentence, 0.5), expected)
    })
  }

  for (const sentence of [
    'Earned fees from user 123456 on wallet exchange',
    'Earned fees from user 123456 on wallet trading',
    'Affiliate Rebate (lev:1,rebate:18.0%) on wallet exchange',
  ]) {
    it(`is income where the trades of another account are charged: ${sentence}`, async () => {
      assert.equal(await derive(sentence, 0.5), 'input_only other')
    })
  }

  for (const sentence of [
    'Exchange 57.35 STAKE for BTC @ 0.00082 on wallet exchange',
    'Trading fees for 0.5 BTC (BTCUSD) @ 9000.0 on BFX (0.2%) on wallet exchange',
    'Trading rebate for 0.5 BTC (BTCUSD) @ 9000.0 on BFX (0.01%) on wallet exchange',
    'Deposit (BITCOIN) #13105603 on wallet exchange',
    'Crypto Withdrawal fee on wallet exchange',
    'Transfer of 0.5 BTC from wallet Exchange to Deposit on wallet exchange',
    'Position #168174072 funding cost on wallet exchange',
  ]) {
    it(`that another list has, or that stays in the account, does not count: ${sentence}`, async () => {
      assert.equal(await derive(sentence, 0.5), undefined)
    })
  }

  it('that goes to another account, or comes from one, leaves or enters this one', async () => {
    const sentence = 'Transfer of 0.5 BTC from wallet Exchange to Exchange SA(main->second) on wallet exchange'
    assert.equal(await derive(sentence, -0.5), 'send transfer')
    assert.equal(await derive(sentence, 0.5), 'receive transfer')
  })
})
