/**
 * Statuses of transfers that ccxt mistakes. At the Crypto.com Exchange (exchange-docs.crypto.com), it takes a withdrawal
 * for a deposit unless it has a `client_wid`, which is there "if a Client withdrawal ID was provided in the request". Of
 * MEXC's statuses of a deposit it knows seven (mexc.com/api-docs, "Deposit History").
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs } from '@assay/core'
import type { Io } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')

interface Exchange {
  id: string
  stream: 'deposits' | 'withdrawals'
  path: string
  wrap(rows: object[]): unknown
  other: unknown
  toRow(status: number): object
  statuses: Readonly<Record<number, string>>
}

const exchanges: readonly Exchange[] = [
  {
    ...{ id: 'cryptocom', stream: 'withdrawals', path: '/get-withdrawal-history' },
    wrap: (withdrawal_list) => ({ id: 1, code: 0, result: { withdrawal_list } }),
    other: {
      ...{ id: 1, code: 0 },
      result: {
        data: [{ symbol: 'BTC_USDT', inst_type: 'CCY_PAIR', base_ccy: 'BTC', quote_ccy: 'USDT', tradable: true }],
      },
    },
    toRow: (status) => ({
      ...{ id: String(status), currency: 'BTC', amount: 1, fee: 0.1, address: '2NBqqD5GRJ8wHy1PYyCXTe9ke5226FhavBf' },
      ...{ create_time: nowMs - dayMs + status, status: String(status), txid: '' },
    }),
    statuses: { 0: 'pending', 1: 'pending', 2: 'failed', 3: 'pending', 4: 'failed', 5: 'confirmed', 6: 'failed' },
  },
  {
    ...{ id: 'mexc', stream: 'deposits', path: '/capital/deposit/hisrec' },
    wrap: (rows) => rows,
    other: {
      symbols: [
        { symbol: 'BTCUSDT', status: '1', baseAsset: 'BTC', quoteAsset: 'USDT', orderTypes: [], permissions: [] },
      ],
    },
    toRow: (status) => ({
      ...{ amount: '1', coin: 'BTC', network: 'BTC', status, address: 'x', txId: `x${status}` },
      insertTime: nowMs - dayMs + status,
    }),
    statuses: {
      4: 'pending',
      5: 'confirmed',
      7: 'failed',
      8: 'failed',
      9: 'pending',
      10: 'failed',
      11: 'pending',
      12: 'confirmed',
    },
  },
]

describe('the statuses of a list', () => {
  for (const { id, stream, path, wrap, other, toRow, statuses } of exchanges) {
    it(`are those of the exchange: ${stream} of ${id}`, async () => {
      const io: Io = {
        fetch: async (input) => {
          const { pathname } = new URL(input instanceof Request ? input.url : input)
          const rows = Object.keys(statuses).map((status) => toRow(Number(status)))
          return Response.json(pathname.endsWith(path) ? wrap(rows) : other)
        },
        ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
      }
      const connector = createCcxtConnector(id)
      const reader = connector.open({ type: 'api_key', apiKey: 'account-k', secretKey: 's'.repeat(32) }, io)
      const window = { unit: 'ms' as const, start: nowMs - 3 * dayMs, end: nowMs }
      const asked = { stream, partition: '' }
      const { records } = await reader.fetchPage({ ...asked, window, pageMark: null, lastingMark: null, state: {} })
      const found = records.map((record) => {
        const [draft] = connector.toTransactions([{ ...record, ...asked }], { addresses: new Set(), state: {} })
        return [record.occurredAtMs - nowMs + dayMs, draft?.status]
      })
      assert.deepEqual(Object.fromEntries(found), statuses)
    })
  }
})
