import type { ConnectedProvider } from '@assay/sdk'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createIcons } from '../icons.ts'
import { toView } from '../view.ts'
import { coveragePage } from './coverage.ts'
import { figure } from './layout.ts'
import { portfolioPage } from './portfolio.ts'

const kraken: ConnectedProvider = {
  connection_id: 'con_1',
  provider_id: 'kraken',
  name: 'Kraken',
  display_label: null,
  connection_type: 'api_key',
  status: 'syncing',
  status_cause: null,
  status_message: null,
  added_at: '2026-11-16T10:00:00.000Z',
  last_synced_at: null,
  next_sync_at: null,
  history_from: null,
  transaction_count: 0,
  record_count: 0,
  proof: null,
}

function showPortfolio(connection: ConnectedProvider): string {
  return portfolioPage({
    view: toView(new URLSearchParams()),
    connections: [connection],
    assets: [],
    values: [],
    transactions: { data: [], next: undefined, errors: [] },
    differences: new Map(),
    icons: createIcons('http://127.0.0.1:4000'),
    notice: undefined,
  })
}

describe('what the pages say before everything is read', () => {
  it('no sum is shown before the first balances are read; an empty account holds $0.00', () => {
    assert.doesNotMatch(showPortfolio(kraken), /\$0\.00/)
    assert.match(showPortfolio({ ...kraken, status: 'active' }), /\$0\.00/)
  })

  it('older entries that are being read are not shown as missing, nor their beginning as known', () => {
    const page = coveragePage([
      {
        connection: { ...kraken, record_count: 41_250 },
        streams: [
          {
            stream: 'ledger',
            windows: [{ start_time: '2026-09-17T00:00:00.000Z', end_time: '2026-11-16T00:00:00.000Z' }],
            holes: [
              {
                start_time: '2009-01-01T00:00:00.000Z',
                end_time: '2026-09-17T00:00:00.000Z',
                cause: 'sync_in_progress',
                message: 'This part is being read.',
              },
            ],
            provider_limit: null,
            remedy: null,
            partitions: { count: 1, incomplete: 1 },
          },
        ],
      },
    ])
    assert.match(page, /41,250 entries read so far/)
    assert.match(page, /ledger: read, from earlier to Nov 16, 2026/)
    assert.match(page, /class="reading"/)
    assert.doesNotMatch(page, /<rect\s+class="hole"/)
  })
})

describe('an amount in a column', () => {
  it('is one text, in two parts at the decimal point', () => {
    const { html } = figure('1,234.5', { sign: '+', symbol: 'BTC' })
    assert.equal(html.replaceAll(/<[^>]*>/g, ''), '+1,234.5\u00a0BTC')
    assert.match(html, /^<span class="figure">\+1,234<span class="rest-of">\.5/)
    assert.equal(figure('8,500').html.replaceAll(/<[^>]*>/g, ''), '8,500')
  })
})
