import type { AssetHistoryPoint, ConnectedProvider, Transaction } from '@assay/sdk'
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

function showPortfolio(
  connection: ConnectedProvider,
  rows: readonly Transaction[] = [],
  values: readonly AssetHistoryPoint[] = [],
): string {
  return portfolioPage({
    view: toView(new URLSearchParams()),
    connections: [connection],
    assets: [],
    values,
    transactions: { data: [...rows], next: undefined, errors: [] },
    differences: new Map(),
    icons: createIcons('http://127.0.0.1:4000'),
    manageUrl: 'http://127.0.0.1:4000/connect/manage?client_id=cli_demo',
    notice: undefined,
  })
}

describe('the pages before everything has been read', () => {
  it('no sum is shown before the first balances are read; an empty account holds $0.00', () => {
    assert.doesNotMatch(showPortfolio(kraken), /\$0\.00/)
    assert.match(showPortfolio({ ...kraken, status: 'active' }), /\$0\.00/)
  })

  it('older entries that are still being read are not shown as missing, and no beginning is shown for them', () => {
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

const valueOf = (day: number): AssetHistoryPoint => ({
  date: new Date(Date.UTC(2025, 10, 19 + day)).toISOString().slice(0, 10),
  value_in_usd: String(100 + day),
  incomplete: [],
  method: 'derived',
})

describe('the change of the total', () => {
  const active: ConnectedProvider = { ...kraken, status: 'active' }
  const year = Array.from({ length: 366 }, (_, day) => valueOf(day))

  const changeWords = (values: readonly AssetHistoryPoint[]): string | undefined =>
    /(?:in|since) [^<]*(?=<\/span>)/.exec(showPortfolio(active, [], values))?.[0]

  it('is that of the chosen time, or since the first day that has a value', () => {
    assert.equal(changeWords(year), 'in 1 year')
    assert.equal(changeWords(year.slice(276)), 'since Aug 22, 2026')
  })
})

describe('the chart', () => {
  it('says what some of its days lack, and only that', () => {
    const days = [1, 2].map((day) => ({ ...valueOf(day), incomplete: ['coverage' as const] }))
    const page = showPortfolio({ ...kraken, status: 'active' }, [], days)
    assert.match(page, /your transactions do not explain everything/)
    assert.doesNotMatch(page, /the price of an asset/)
  })
})

describe('the kind of a transaction', () => {
  const reward: Transaction = {
    id: 'txn_1',
    provider_id: 'coinbase',
    connection_id: 'con_1',
    updated_at: '2026-10-06T10:00:00.000Z',
    type: 'input_only',
    status: 'confirmed',
    timestamp: '2026-10-06T10:00:00.000Z',
    categorization: { category: 'staking_reward', method: 'venue', confidence: 1 },
    inputs: [
      { asset_symbol: 'ETH', asset_id: 'crypto:ethereum', amount: '0.08', price_in_usd: null, value_in_usd: null },
    ],
    outputs: [],
    fees: { total_in_usd: '0', items: [] },
    network: null,
    hash: null,
    from_address: null,
    to_address: null,
    counterpart: null,
    spam: false,
    provider_reference: null,
    description: null,
    incomplete: [],
  }

  it('a reward is earned; a purchase whose other side is not connected is bought', () => {
    assert.match(showPortfolio(kraken, [reward]), /Earned\s+<div[^]*staking reward/)
    const purchase = { ...reward, categorization: { ...reward.categorization, category: 'buy' } } as const
    assert.match(showPortfolio(kraken, [purchase]), /Bought\s+<div/)
    assert.doesNotMatch(showPortfolio(kraken, [purchase]), /Earned\s+<div/)
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
