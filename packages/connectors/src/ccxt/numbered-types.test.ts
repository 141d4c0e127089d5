/**
 * A ledger whose types are numbers: the bills of OKX (www.okx.com/docs-v5, "Get bills details (last 3 months)"). Most of
 * them have no instrument type, and ccxt asks for those of one type alone.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs } from '@assay/core'
import type { Io, StoredRecord } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const window = { unit: 'ms' as const, start: nowMs - 3 * dayMs, end: nowMs }

/** Two days and some minutes ago: the two sides of a conversion have the same time. */
function toBill(type: number, minute: number, balChg: string, ccy = 'USDT', more: object = {}): object {
  return {
    ...{ bal: '1000', balChg, billId: `62395085${type}${ccy}${minute}`, ccy, fee: '0', from: '', instId: '' },
    ...{ instType: '', mgnMode: '', notes: '', ordId: '', pnl: '0', posBal: '0', posBalChg: '0', sz: '1', to: '' },
    ...{ subType: '1', ts: String(nowMs - 2 * dayMs + minute * 60_000), type: String(type), ...more },
  }
}

const bills = [
  toBill(1, 1, '900', 'USDT', { from: '6', to: '18' }),
  toBill(2, 2, '-900', 'USDT', { instType: 'SPOT', instId: 'BTC-USDT', ordId: '1' }),
  toBill(7, 3, '-0.25'),
  toBill(26, 4, '-100'),
  toBill(27, 5, '-50'),
  toBill(27, 5, '49.9', 'USDC'),
  toBill(28, 6, '-0.0001', 'DOGE'),
  toBill(28, 6, '0.001', 'OKB'),
  toBill(250, 7, '-1.5'),
  toBill(251, 8, '0.5'),
  toBill(381, 9, '0.0123', 'USDT', { earnAmt: '800', earnApr: '0.01' }),
  toBill(999, 10, '7'),
]

const derived = [
  'interest deduction: output_only fee',
  'structured products: uncategorized other',
  'convert: input_and_output convert',
  'easy convert: input_and_output convert',
  'profit sharing expenses: output_only fee',
  'profit sharing refund: input_only other',
  'auto earn: input_only interest',
  'type 999: uncategorized other',
]

describe('a ledger whose types are numbers', () => {
  it('is asked for without an instrument type, and every documented number has its meaning', async () => {
    const asked: URL[] = []
    const io: Io = {
      fetch: async (input) => {
        const url = new URL(input instanceof Request ? input.url : input)
        if (url.pathname.endsWith('/account/bills-archive')) asked.push(url)
        const data = url.pathname.endsWith('/account/bills-archive') ? bills : [market]
        return Response.json({ code: '0', msg: '', data })
      },
      ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
    }
    const connector = createCcxtConnector('okx')
    const credential = { type: 'api_key' as const, apiKey: 'account-k', secretKey: 's'.repeat(32), passphrase: 'p' }
    const reader = connector.open(credential, io)
    const list = { stream: 'ledger', partition: '' }
    const { records } = await reader.fetchPage({ ...list, window, pageMark: null, lastingMark: null, state: {} })
    assert.deepEqual(
      asked.map(({ searchParams }) => searchParams.has('instType')),
      [false],
    )
    const stored = records.map((record): StoredRecord => ({ ...record, ...list }))
    const stories = Map.groupBy(stored, (record) => connector.linkKeys(record)[0])
    const drafts = [...stories.values()].flatMap((story) =>
      connector.toTransactions(story, { addresses: new Set(), state: {} }),
    )
    assert.deepEqual(
      drafts
        .toSorted((a, b) => a.occurredAtMs - b.occurredAtMs)
        .map(({ description, type, category }) => `${description}: ${type} ${category}`),
      derived,
    )
  })
})

const market = {
  ...{ instType: 'SPOT', instId: 'BTC-USDT', baseCcy: 'BTC', quoteCcy: 'USDT', state: 'live', instFamily: '', uly: '' },
  ...{ ctVal: '', ctMult: '', ctType: '', settleCcy: '', expTime: '', listTime: '1606468572000', lever: '10' },
  ...{ lotSz: '0.00000001', minSz: '0.00001', tickSz: '0.1', maxLmtSz: '9999', maxMktSz: '', optType: '', stk: '' },
}
