/**
 * The funding account: balances, bills, deposits, withdrawals, conversions.
 * Source: https://www.okx.com/docs-v5/en/#funding-account-rest-api-get-balance, …-asset-bills-details,
 * …-asset-bills-history, …-get-deposit-history, …-get-withdrawal-history, …-get-convert-history
 *
 * These lists page by time: `after` asks for rows earlier than a time, `before` for later ones, and neither includes
 * the time itself. Not documented: the bill of a withdrawal has its fee in it, and a conversion between the trading
 * account's coins shows up here as well as in the trading account's bills.
 */
import type { CallContext } from '../core/serving/provider-server.ts'
import { divideUnits, toShortText, toUnits } from '../core/units.ts'
import { decimals } from '../spot/assets.ts'
import { listOf, toText, type Entry, type RowOf } from '../spot/books.ts'
import type { SpotAccount } from '../spot/exchange.ts'
import { addressOf, hashOf, idBaseOf } from '../spot/ids.ts'
import { pageAt, within } from '../spot/pages.ts'
import { chainOf, instrumentOf } from './market.ts'
import { findNumber, sizeOf } from './wire.ts'

/** Coins without a balance are left out. */
export function assetBalances(of: SpotAccount, query: URLSearchParams): object[] {
  const asked = query.get('ccy')?.split(',')
  return [...of.world().balances.funding]
    .filter(([ccy, units]) => units > 0n && (asked === undefined || asked.includes(ccy)))
    .map(([ccy, units]) => ({ availBal: toText(units), bal: toText(units), ccy, frozenBal: '0' }))
}

function pageOf<R extends { number: number; atMs: number }>(
  rows: readonly R[],
  query: URLSearchParams,
  context: CallContext,
  oldestMs = 0,
): R[] {
  const toMs = (findNumber(query, 'after') ?? Number.MAX_SAFE_INTEGER) - 1
  const fromMs = Math.max((findNumber(query, 'before') ?? -1) + 1, oldestMs)
  return pageAt(within(rows, fromMs, toMs), 0, sizeOf(query), context)
}

/** `keptMs`: how far back this endpoint looks, at an exchange that drops old rows. */
export function assetBills(
  of: SpotAccount,
  query: URLSearchParams,
  context: CallContext,
  keptMs = Number.POSITIVE_INFINITY,
): object[] {
  const [ccy, type] = [query.get('ccy') || undefined, query.get('type') || undefined]
  const world = of.world()
  const rows = world.entries.funding.filter(
    (entry) => (ccy === undefined || entry.asset === ccy) && (type === undefined || typeOf(entry) === type),
  )
  const oldestMs = world.story.forgets ? Math.max(0, context.nowMs - keptMs) : 0
  return pageOf(rows, query, context, oldestMs).map((entry) => describeAssetBill(of.id, entry))
}

function typeOf({ row, change }: Entry): string {
  switch (row.event.kind) {
    case 'deposit':
      return '1'
    case 'withdrawal':
      return '2'
    case 'reward':
      return row.event.source === 'airdrop' ? '229' : '89'
    default:
      return change > 0n ? '130' : '131'
  }
}

export function describeAssetBill(accountId: string, entry: Entry): object {
  return {
    billId: String(idBaseOf(accountId, 'asset bill') + entry.number),
    ccy: entry.asset,
    clientId: '',
    balChg: toText(entry.change),
    bal: toText(entry.after),
    type: typeOf(entry),
    ts: String(entry.atMs),
    notes: '',
  }
}

type Movement = RowOf<'deposit'> | RowOf<'withdrawal'>

/** By coin, state, way (3: within OKX, 4: on chain) and hash. */
function isWanted(of: SpotAccount, row: Movement, state: string, query: URLSearchParams): boolean {
  const [ccy, asked, type, txId] = ['ccy', 'state', 'type', 'txId'].map((name) => query.get(name) || undefined)
  return (
    (ccy === undefined || row.event.asset === ccy) &&
    (asked === undefined || asked === state) &&
    (type === undefined || type === (row.event.internal === true ? '3' : '4')) &&
    (txId === undefined || txId === hashOf(of.id, row.event.network, row.number))
  )
}

// Waiting for confirmations; done; the deposit is frozen.
const depositState = { pending: '0', done: '2', failed: '12' } as const

export function depositHistory(of: SpotAccount, query: URLSearchParams, context: CallContext): object[] {
  const depId = query.get('depId') || undefined
  const rows = listOf(of.world(), 'deposit').filter(
    (row) =>
      isWanted(of, row, depositState[row.event.status], query) &&
      (depId === undefined || depId === String(idBaseOf(of.id, 'deposit') + row.number)),
  )
  return pageOf(rows, query, context).map((row) => describeDeposit(of.id, row))
}

export function describeDeposit(accountId: string, { event, number, atMs }: RowOf<'deposit'>): object {
  const internal = event.internal === true
  return {
    actualDepBlkConfirm: event.status === 'pending' ? '1' : '12',
    amt: event.amount,
    areaCodeFrom: '',
    ccy: event.asset,
    chain: chainOf(event.asset, event.network),
    depId: String(idBaseOf(accountId, 'deposit') + number),
    from: internal ? 'fri***@example.com' : '',
    fromWdId: internal ? String(idBaseOf(`${accountId}/friend`, 'withdrawal') + number) : '',
    state: depositState[event.status],
    to: internal ? '' : addressOf(accountId, event.network, 0),
    ts: String(atMs),
    txId: internal ? '' : hashOf(accountId, event.network, number),
  }
}

const withdrawalState = { pending: '0', done: '2', cancelled: '-2', failed: '-1' } as const

export function withdrawalHistory(of: SpotAccount, query: URLSearchParams, context: CallContext): object[] {
  const wdId = query.get('wdId') || undefined
  const rows = listOf(of.world(), 'withdrawal').filter(
    (row) =>
      isWanted(of, row, withdrawalState[row.event.status], query) &&
      (wdId === undefined || wdId === String(idBaseOf(of.id, 'withdrawal') + row.number)),
  )
  return pageOf(rows, query, context).map((row) => describeWithdrawal(of.id, row))
}

export function describeWithdrawal(accountId: string, { event, number, atMs }: RowOf<'withdrawal'>): object {
  const internal = event.internal === true
  const broadcast = event.status === 'done' && !internal
  return {
    note: '',
    chain: chainOf(event.asset, event.network),
    fee: toText(toUnits(event.fee, decimals)),
    feeCcy: event.asset,
    ccy: event.asset,
    clientId: '',
    toAddrType: '1',
    amt: event.amount,
    txId: broadcast ? hashOf(accountId, event.network, number) : '',
    from: 'rem***@example.com',
    areaCodeFrom: '',
    to: internal ? 'fri***@example.com' : addressOf(accountId, event.network, 1 + (number % 3)),
    areaCodeTo: '',
    state: withdrawalState[event.status],
    ts: String(atMs),
    nonTradableAsset: false,
    wdId: String(idBaseOf(accountId, 'withdrawal') + number),
  }
}

export function convertHistory(of: SpotAccount, query: URLSearchParams, context: CallContext): object[] {
  // Dust has a list of its own.
  const rows = listOf(of.world(), 'convert').filter(({ event }) => event.dust !== true)
  return pageOf(rows, query, context).map((row) => describeConvert(of.id, row))
}

export function describeConvert(accountId: string, { event, number, atMs }: RowOf<'convert'>): object {
  const [given, taken] = [toUnits(event.fromAmount, decimals), toUnits(event.toAmount, decimals)]
  return {
    clTReqId: '',
    instId: instrumentOf({ base: event.toAsset, quote: event.fromAsset }),
    side: 'buy',
    fillPx: toShortText(divideUnits(given, decimals, taken, decimals, decimals), decimals),
    baseCcy: event.toAsset,
    quoteCcy: event.fromAsset,
    fillBaseSz: event.toAmount,
    state: 'fullyFilled',
    tradeId: `trader${idBaseOf(accountId, 'convert') + number}`,
    fillQuoteSz: event.fromAmount,
    ts: String(atMs),
  }
}
