/**
 * /sapi/v1: deposits, withdrawals, dividends, dust, the coins there are, and what the key may do.
 * Sources: https://developers.binance.com/docs/wallet (capital, asset, account), and the recorded answers in
 * https://github.com/binance/binance-connector-typescript/tree/master/tests/mock_values/restful/wallet
 */
import { dayMs } from '@assay/core'
import { hexOf } from '../../core/ids.ts'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { toFixedText, toShortText, toUnits } from '../../core/units.ts'
import { findCoin } from '../../market/series.ts'
import type { BinanceAccount } from '../authentication.ts'
import { listOf } from '../history.ts'
import { depositIdOf, numericIdOf, textIdOf, type RowOf } from '../rows.ts'
import { ninetyDays, viewOf, within } from './pages.ts'
import { spotBalances } from './spot.ts'
import { assets, decimals } from './symbols.ts'
import { BinanceRefusal, findNumber, sizeOf } from '../wire.ts'

const dribbletsMax = 100
const dribbletsFromMs = Date.UTC(2020, 11, 1)

export function depositHistory(of: BinanceAccount, query: URLSearchParams, context: CallContext): object[] {
  const rows = wanted(listOf(of.world(), 'deposit'), query, context)
  return context.cutPage(viewOf(rows), ...pageOf(query)).map((row) => describeDeposit(of.id, row))
}

export function withdrawHistory(of: BinanceAccount, query: URLSearchParams, context: CallContext): object[] {
  const rows = wanted(listOf(of.world(), 'withdrawal'), query, context)
  return context.cutPage(viewOf(rows), ...pageOf(query)).map((row) => describeWithdrawal(of.id, row))
}

function pageOf(query: URLSearchParams): [offset: number, limit: number] {
  return [findNumber(query, 'offset') ?? 0, sizeOf(query, 'limit', 1000, 1000)]
}

function wanted<R extends RowOf<'deposit' | 'withdrawal'>>(
  rows: readonly R[],
  query: URLSearchParams,
  { nowMs }: CallContext,
): R[] {
  const coin = query.get('coin')
  const status = findNumber(query, 'status')
  return within(rows, ninetyDays(query, nowMs)).filter(
    ({ event }) => (coin === null || event.coin === coin) && (status === undefined || event.status === status),
  )
}

export function describeDeposit(accountId: string, row: RowOf<'deposit'>): object {
  const { event, number } = row
  const confirmed = event.status === 0 ? '0/2' : '2/2'
  return {
    id: depositIdOf(accountId, row),
    amount: short(event.amount),
    coin: event.coin,
    network: event.network,
    status: event.status,
    address: addressOf(accountId, event.network, 0),
    addressTag: '',
    txId:
      event.internal === true
        ? `Internal transfer ${numericIdOf(accountId, row)}`
        : hashOf(accountId, event.network, number),
    insertTime: row.atMs,
    transferType: event.internal === true ? 1 : 0,
    confirmTimes: confirmed,
    unlockConfirm: 0,
    walletType: 0,
  }
}

export function describeWithdrawal(accountId: string, row: RowOf<'withdrawal'>): object {
  const { event, number } = row
  const ended = event.status === 6
  const txId =
    event.internal === true
      ? `Internal transfer ${numericIdOf(accountId, row)}`
      : hashOf(accountId, event.network ?? '', number)
  return {
    id: textIdOf(accountId, row),
    amount: short(event.amount),
    transactionFee: short(event.fee),
    coin: event.coin,
    status: event.status,
    address: addressOf(accountId, event.network ?? '', 1 + (number % 3)),
    ...(ended && event.withoutTxId !== true && { txId }),
    // Withdrawals have the only times that Binance writes as text: UTC, in whole seconds.
    applyTime: timeText(row.atMs),
    ...(event.network !== undefined && { network: event.network }),
    transferType: event.internal === true ? 1 : 0,
    info: event.status === 5 ? 'The address is not valid. Please confirm with the recipient' : '',
    confirmNo: ended ? 3 : 0,
    walletType: 0,
    txKey: '',
    ...(ended && { completeTime: timeText(row.atMs + 240_000) }),
  }
}

/** Gives the newest rows of at most 180 days; there are no pages. The error for a longer range is not documented. */
export function assetDividend(of: BinanceAccount, query: URLSearchParams, context: CallContext): object {
  const toMs = findNumber(query, 'endTime') ?? context.nowMs
  const fromMs = findNumber(query, 'startTime') ?? toMs - 180 * dayMs
  if (toMs - fromMs > 180 * dayMs) {
    throw new BinanceRefusal(-1130, "Data sent for parameter 'startTime' is not valid.")
  }
  const asset = query.get('asset')
  const rows = within(listOf(of.world(), 'dividend'), { fromMs, toMs }).filter(
    ({ event }) => asset === null || event.asset === asset,
  )
  const page = context.cutPage(viewOf(rows), 0, sizeOf(query, 'limit', 20, 500))
  return { rows: page.map((row) => describeDividend(of.id, row)), total: rows.length }
}

export function describeDividend(accountId: string, row: RowOf<'dividend'>): object {
  const { event } = row
  return {
    id: numericIdOf(accountId, row),
    amount: fixed(event.amount),
    asset: event.asset,
    divTime: row.atMs,
    enInfo: event.info,
    tranId: numericIdOf(accountId, row) + 2_000_000_000,
    direction: event.direction,
  }
}

/** Binance gives only the newest hundred sweeps, and none from before December 2020. */
export function dustLog(of: BinanceAccount, query: URLSearchParams, context: CallContext): object {
  const fromMs = Math.max(dribbletsFromMs, findNumber(query, 'startTime') ?? 0)
  const toMs = findNumber(query, 'endTime') ?? context.nowMs
  const rows = within(listOf(of.world(), 'dust'), { fromMs, toMs })
  const page = context.cutPage(viewOf(rows), 0, dribbletsMax)
  return { total: rows.length, userAssetDribblets: page.map((row) => describeDust(of.id, row)) }
}

export function describeDust(accountId: string, row: RowOf<'dust'>): object {
  const { details } = row.event
  const total = (pick: (detail: (typeof details)[number]) => string): string =>
    toShortText(
      details.reduce((sum, detail) => sum + toUnits(pick(detail), decimals), 0n),
      decimals,
    )
  return {
    operateTime: row.atMs,
    totalTransferedAmount: total(({ received }) => received),
    totalServiceChargeAmount: total(({ charge }) => charge),
    transId: numericIdOf(accountId, row) + 40_000_000_000,
    userAssetDribbletDetails: details.map(({ asset, amount, received, charge }, index) => ({
      transId: numericIdOf(accountId, row) * 10 + index,
      serviceChargeAmount: short(charge),
      amount: short(amount),
      operateTime: row.atMs,
      transferedAmount: short(received),
      fromAsset: asset,
    })),
  }
}

export function apiRestrictions(of: BinanceAccount): object {
  const may = (right: string): boolean => of.key.permissions.includes(right)
  return {
    ipRestrict: false,
    createTime: Date.UTC(2021, 1, 20, 8, 30),
    enableWithdrawals: may('enableWithdrawals'),
    enableInternalTransfer: may('enableInternalTransfer'),
    permitsUniversalTransfer: may('permitsUniversalTransfer'),
    enableVanillaOptions: may('enableVanillaOptions'),
    enableReading: may('enableReading'),
    enableFutures: may('enableFutures'),
    enableMargin: may('enableMargin'),
    enableSpotAndMarginTrading: may('enableSpotAndMarginTrading'),
    enablePortfolioMarginTrading: may('enablePortfolioMarginTrading'),
    // Binance reports this only for keys that may trade and are not bound to an IP address.
    ...(may('enableSpotAndMarginTrading') && { tradingAuthorityExpirationTime: Date.UTC(2027, 1, 20) }),
  }
}

export function coins(of: BinanceAccount): object[] {
  const balances = new Map(spotBalances(of.world()).map((balance) => [balance.asset, balance]))
  const zero = toFixedText(0n, decimals)
  return assets.map(({ name, coin, isFiat }) => {
    const { free = 0n, locked = 0n } = balances.get(name) ?? {}
    return {
      coin: name,
      depositAllEnable: true,
      free: toFixedText(free, decimals),
      freeze: zero,
      ipoable: zero,
      ipoing: zero,
      isLegalMoney: isFiat,
      locked: toFixedText(locked, decimals),
      name: findCoin(coin ?? '')?.name ?? name,
      networkList: [],
      storage: zero,
      trading: true,
      withdrawAllEnable: true,
      withdrawing: zero,
    }
  })
}

function hashOf(accountId: string, network: string, number: number): string {
  const hex = hexOf(accountId, 'tx', number, 64)
  return network === 'ETH' || network === 'BSC' ? `0x${hex}` : hex
}

/** It looks like an address of its network, but no wallet has it. */
function addressOf(accountId: string, network: string, which: number): string {
  const hex = hexOf(accountId, `address/${network}`, which, 40)
  if (network === 'ETH' || network === 'BSC') return `0x${hex}`
  return network === 'BTC' ? `bc1qsandbox${hex.slice(0, 31)}` : `sandbox1${hex.slice(0, 32)}`
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}

function short(amount: string): string {
  return toShortText(toUnits(amount, decimals), decimals)
}

function fixed(amount: string): string {
  return toFixedText(toUnits(amount, decimals), decimals)
}
