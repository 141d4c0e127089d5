/**
 * Entries of a ledger that share an id. Crypto.com's journal (exchange-docs.crypto.com, private/get-transactions) has an
 * id for each entry (`journal_id`), but ccxt takes that of the order, which all entries of an order have.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hourMs } from '@assay/core'
import type { Io, RawRecord, StoredRecord } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const window = { unit: 'ms' as const, start: nowMs - 24 * hourMs, end: nowMs }
const connector = createCcxtConnector('cryptocom')
const list = { stream: 'ledger', partition: '' }

function toEntry(journal_id: number, journal_type: string, instrument_name: string, transaction_qty: string, ms = 0) {
  return {
    ...{
      journal_id: String(journal_id),
      journal_type,
      instrument_name,
      transaction_qty,
      order_id: '6530219477766741833',
    },
    ...{ account_id: 'a', event_date: '2026-03-02', event_timestamp_ms: nowMs - hourMs + ms, side: 'BUY' },
  }
}

async function read(entries: readonly object[]): Promise<readonly RawRecord[]> {
  const market = { symbol: 'BTC_USD', inst_type: 'CCY_PAIR', base_ccy: 'BTC', quote_ccy: 'USD', tradable: true }
  const io: Io = {
    fetch: async (input) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      const data = pathname.endsWith('get-transactions') ? entries : [market]
      return Response.json({ id: 1, code: 0, result: { data } })
    },
    ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
  }
  const reader = connector.open({ type: 'api_key', apiKey: 'k', secretKey: 's'.repeat(32) }, io)
  return (await reader.fetchPage({ ...list, window, pageMark: null, lastingMark: null, state: {} })).records
}

const journalIdsOf = (records: readonly RawRecord[]): unknown[] =>
  records.map(({ body }) => (JSON.parse(body) as { info: { journal_id: unknown } }).info.journal_id).toSorted()

describe('entries of a ledger with one id', () => {
  it('are records of their own when they differ in their amount, direction or time', async () => {
    const records = await read([
      toEntry(1, 'TRADING', 'USD', '-50000'),
      toEntry(2, 'TRADING', 'BTC', '1'),
      toEntry(3, 'TRADING', 'BTC', '1', 1),
      toEntry(4, 'TRADE_FEE', 'USD', '-1'),
    ])
    assert.deepEqual(journalIdsOf(records), ['1', '2', '3', '4'])
    assert.equal(new Set(records.map(({ key }) => key)).size, 4)
  })

  it('make a whole conversion', async () => {
    const records = await read([
      toEntry(1, 'MANUAL_CONVERSION', 'USDT', '-100'),
      toEntry(2, 'MANUAL_CONVERSION', 'USDC', '100'),
    ])
    const stored = records.map((record): StoredRecord => ({ ...record, ...list }))
    const [draft] = connector.toTransactions(stored, { addresses: new Set(), state: {} })
    const { type, inputs = [], outputs = [] } = draft ?? {}
    assert.deepEqual(
      [type, ...[inputs, outputs].map((legs) => legs.map(({ symbol, amount }) => `${amount} ${symbol}`).join())],
      ['input_and_output', '100 USDC', '100 USDT'],
    )
  })

  it('are one record when they say the same, however many zeros the amount ends with', async () => {
    const pages = await Promise.all(['0.1', '0.100'].map((amount) => read([toEntry(1, 'TRADING', 'BTC', amount)])))
    assert.equal(new Set(pages.flatMap((records) => records.map(({ key }) => key))).size, 1)
  })
})
