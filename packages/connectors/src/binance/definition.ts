/**
 * Binance (spot) as plain data. The names of the rights are those of Binance's "API Management" page; limits of windows
 * and pages are from developers.binance.com.
 */
import { hourMs, dayMs } from '@assay/core'
import type { Stream } from '../kit/connector.ts'
import type { ProviderDefinition } from '../kit/definition.ts'
import { costOf, endpoints, type Endpoint } from './endpoints.ts'

/** HMAC keys. Both parts are 64 letters and digits in all of Binance's examples. */
const key64 = { alphabet: 'A-Za-z0-9', pattern: '[A-Za-z0-9]{64}', length_min: 64, length_max: 64 }

export const binanceDefinition = {
  metadata: {
    provider_id: 'binance',
    name: 'Binance',
    aliases: ['Binance.com', 'BNB', 'Binance Spot', 'Binance Earn'],
    kind: 'exchange',
    connection_types: ['api_key'],
    permission_check: 'full',
    credential_fields: [
      {
        name: 'api_key',
        label: 'API Key',
        secret: false,
        required: true,
        hint: 'Binance: Account, API Management, Create API, System generated. 64 characters. Keys of Binance.US do not work here.',
        shape: key64,
      },
      {
        name: 'secret_key',
        label: 'Secret Key',
        secret: true,
        required: true,
        hint: 'Shown once, right after the key was made. 64 characters.',
        shape: key64,
      },
    ],
    required_permissions: ['Enable Reading'],
    guide: {
      page: 'https://www.binance.com/en/my/settings/api-management',
      menu: ['Account', 'API Management', 'Create API', 'System generated'],
      leave_empty: [
        'Enable Spot & Margin Trading',
        'Enable Withdrawals',
        'Permits Universal Transfer',
        'Restrict access to trusted IPs only',
      ],
      shown_once: 'Secret Key',
    },
    features: { holdings: true, staking: true, transactions: true },
    known_limits: [
      'Binance lists trades by pair only. Trades of a pair that Binance no longer answers for cannot be read.',
      'A pair whose two assets were never seen together is checked when you connect, and then about every four weeks.',
      'Binance lists at most the last 100 conversions of small balances, and none before December 2020.',
      'Fiat deposits and withdrawals can be requested twice a minute: a first history takes about half an hour.',
      'Only the spot wallet and Simple Earn are read: funding wallet, margin, futures, P2P and Binance Pay are not.',
      'Balances at Binance are not proved while a part of Simple Earn is the collateral of a loan.',
      'Only system generated (HMAC) keys are supported. Binance.US is another exchange: its keys are refused as unknown.',
    ],
    status: 'available',
    website: 'https://www.binance.com',
    brand: { color: '#f0b90b', short_name: 'Bi' },
    popularity_rank: 3,
  },
  // The order is the order of reading. Trades come late, because the other lists show which pairs to read; fiat orders
  // come last, because an account may ask for them only twice a minute. Dividends repeat some rewards of Simple Earn, which
  // are therefore known before.
  streams: [
    // Deposits and withdrawals change until they are over. Unfinished ones are marked as pending and read again however
    // old they are; the overlap is for rows that were booked late.
    listStream('deposits', endpoints.deposits, { overlap: dayMs }),
    listStream('withdrawals', endpoints.withdrawals, { overlap: dayMs }),
    listStream('converts', endpoints.convert, {}),
    listStream('dust', endpoints.dust, {
      providerLimit: 'Binance lists at most the last 100 conversions of small balances, and none before December 2020.',
    }),
    listStream('earn_flexible', endpoints.flexibleRewards, {}),
    listStream('earn_locked', endpoints.lockedRewards, {}),
    listStream('dividends', endpoints.dividends, {}),
    listStream('fiat_buys', endpoints.fiatPayments, { overlap: dayMs }),
    listStream('fiat_sells', endpoints.fiatPayments, { overlap: dayMs }),
    {
      ...listStream('trades', endpoints.myTrades, {
        providerLimit: 'Binance lists no trades of some pairs that it has delisted.',
        remedy: 'Binance’s own export (Orders, Spot Order, Trade History, Export) has the trades of delisted pairs.',
      }),
      partitioned: true,
      walkedWhole: true,
    },
    listStream('fiat_deposits', endpoints.fiatOrders, { overlap: dayMs }),
    listStream('fiat_withdrawals', endpoints.fiatOrders, { overlap: dayMs }),
  ],
  // The fills of one order. A limit order may stay open longer; its later fills then form a separate transaction.
  storySpanMs: 7 * dayMs,
  // Fiat orders take half an hour, and nothing else has to wait for them. A dividend that repeats a reward is complete
  // without it.
  storiesStayInLists: true,
  countsInClaims: true,
  settlesMs: 60_000,
  // Flexible products, which count as liquid here, grow in the Earn wallet every minute
  // (binance.com/en/earn/simple-earn, "What rewards can I earn"). The list of rewards has one row for each day.
  accrues: 'held',
  // 2: a dividend that repeats a reward of Simple Earn does not count.
  connectorVersion: 2,
  baseUrl: 'https://api.binance.com',
} as const satisfies ProviderDefinition

/**
 * `windowMax` is null although Binance limits all windows: pages are requested in pieces that Binance accepts, so that
 * years in which Binance did not exist cost no request.
 */
function listStream<const Name extends string>(
  name: Name,
  endpoint: Endpoint,
  special: Partial<Stream>,
): Stream & { name: Name } {
  return {
    unit: 'ms',
    partitioned: false,
    windowMax: null,
    retentionMs: null,
    overlap: hourMs,
    cost: costOf(endpoint),
    required: true,
    providerLimit: null,
    remedy: null,
    ...special,
    name,
  }
}

export type StreamName = (typeof binanceDefinition.streams)[number]['name']
