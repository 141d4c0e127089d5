/**
 * /api/v3: time, exchangeInfo, account, myTrades.
 * Source: https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md
 *
 * There is no list of all trades: myTrades requires a symbol. Without `fromId` and times it returns the newest, always
 * in order of increasing id. Balances list every asset, zero or not, and each flexible Earn position again as LD +
 * asset: LDBTC is bitcoin that earns, and LDO is a coin.
 */
import { dayMs } from '@assay/core'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { toFixedText } from '../../core/units.ts'
import type { BinanceAccount } from '../authentication.ts'
import { listOf, type World } from '../history.ts'
import { orderIdOf, tradeIdOf, uidOf, type RowOf } from '../rows.ts'
import { viewOf } from './pages.ts'
import { assets, decimals, findSymbol, isListed, symbols, type TradingPair } from './symbols.ts'
import { BinanceRefusal, findNumber, requireParameter, sizeOf } from '../wire.ts'

const rateLimits = [
  { rateLimitType: 'REQUEST_WEIGHT', interval: 'MINUTE', intervalNum: 1, limit: 6000 },
  { rateLimitType: 'ORDERS', interval: 'SECOND', intervalNum: 10, limit: 100 },
  { rateLimitType: 'ORDERS', interval: 'DAY', intervalNum: 1, limit: 200000 },
  { rateLimitType: 'RAW_REQUESTS', interval: 'MINUTE', intervalNum: 5, limit: 61000 },
]

export function exchangeInfo(query: URLSearchParams, { nowMs }: CallContext): object {
  const wanted = wantedSymbols(query)
  const found = wanted?.map(getListed) ?? symbols.filter(isListed)
  return {
    timezone: 'UTC',
    serverTime: Math.floor(nowMs),
    rateLimits,
    exchangeFilters: [],
    symbols: found.map(describeSymbol),
  }
}

/** `symbols` is a JSON array in one parameter. */
function wantedSymbols(query: URLSearchParams): string[] | undefined {
  const one = query.get('symbol')
  if (one !== null) return [one]
  const several = query.get('symbols')
  if (several === null) return undefined
  if (!/^\["[A-Z0-9]+"(,"[A-Z0-9]+")*\]$/.test(several)) throw new BinanceRefusal(-1100)
  return several.slice(2, -2).split('","')
}

function getListed(name: string): TradingPair {
  const symbol = findSymbol(name)
  if (symbol === undefined || !isListed(symbol)) throw new BinanceRefusal(-1121)
  return symbol
}

function describeSymbol(symbol: TradingPair): object {
  const step = toFixedText(10n ** BigInt(decimals - symbol.qtyDecimals), decimals)
  return {
    symbol: symbol.name,
    status: symbol.status,
    baseAsset: symbol.base,
    baseAssetPrecision: decimals,
    quoteAsset: symbol.quote,
    quotePrecision: decimals,
    quoteAssetPrecision: decimals,
    baseCommissionPrecision: decimals,
    quoteCommissionPrecision: decimals,
    orderTypes: ['LIMIT', 'LIMIT_MAKER', 'MARKET'],
    icebergAllowed: true,
    ocoAllowed: true,
    otoAllowed: true,
    opoAllowed: true,
    quoteOrderQtyMarketAllowed: true,
    allowTrailingStop: false,
    cancelReplaceAllowed: true,
    amendAllowed: false,
    pegInstructionsAllowed: true,
    isSpotTradingAllowed: symbol.status === 'TRADING',
    isMarginTradingAllowed: false,
    filters: [
      { filterType: 'PRICE_FILTER', minPrice: '0.00000001', maxPrice: '1000000.00000000', tickSize: '0.00000001' },
      { filterType: 'LOT_SIZE', minQty: step, maxQty: '9000000.00000000', stepSize: step },
    ],
    permissions: [],
    permissionSets: [['SPOT']],
    defaultSelfTradePreventionMode: 'NONE',
    allowedSelfTradePreventionModes: ['NONE'],
  }
}

export function account(of: BinanceAccount, query: URLSearchParams): object {
  const world = of.world()
  const all = spotBalances(world)
  const shown = query.get('omitZeroBalances') === 'true' ? all.filter(({ free, locked }) => free + locked > 0n) : all
  const last = world.rows.at(-1)
  return {
    makerCommission: 10,
    takerCommission: 10,
    buyerCommission: 0,
    sellerCommission: 0,
    commissionRates: { maker: '0.00100000', taker: '0.00100000', buyer: '0.00000000', seller: '0.00000000' },
    canTrade: true,
    canWithdraw: true,
    canDeposit: true,
    brokered: false,
    requireSelfTradePrevention: false,
    preventSor: false,
    updateTime: last?.atMs ?? 0,
    accountType: 'SPOT',
    balances: shown.map(({ asset, free, locked }) => ({
      asset,
      free: toFixedText(free, decimals),
      locked: toFixedText(locked, decimals),
    })),
    permissions: ['SPOT'],
    uid: uidOf(of.id),
  }
}

export interface SpotBalance {
  asset: string
  free: bigint
  locked: bigint
}

export function spotBalances(world: World): SpotBalance[] {
  const held = world.balances.get('spot')
  const earning = world.balances.get('flexible') ?? new Map<string, bigint>()
  // Assets that a test invented are shown once they are held.
  const names = new Set([...assets.map(({ name }) => name), ...(held?.keys() ?? [])])
  return [
    ...[...names].map((name) => {
      const total = held?.get(name) ?? 0n
      const locked = world.inOrders.get(name) ?? 0n
      return { asset: name, free: total - locked, locked }
    }),
    ...[...earning].filter(([, units]) => units > 0n).map(([name, free]) => ({ asset: `LD${name}`, free, locked: 0n })),
  ]
}

export function myTrades(of: BinanceAccount, query: URLSearchParams, context: CallContext): object[] {
  const symbol = findSymbol(requireParameter(query, 'symbol'))
  if (symbol === undefined || symbol.status === 'erased') throw new BinanceRefusal(-1121)
  const limit = sizeOf(query, 'limit', 500, 1000)
  const { rows, oldestFirst } = wantedTrades(of, symbol, query)
  const view = viewOf(rows)
  const offset = oldestFirst ? Math.max(0, view.count - limit) : 0
  const page = context.cutPage(view, offset, Math.min(limit, view.count))
  return page.reverse().map((row) => describeTrade(of.id, row))
}

function wantedTrades(
  of: BinanceAccount,
  symbol: TradingPair,
  query: URLSearchParams,
): { rows: readonly RowOf<'trade'>[]; oldestFirst: boolean } {
  const all = listOf(of.world(), 'trade', symbol.name)
  const fromId = findNumber(query, 'fromId')
  const orderId = findNumber(query, 'orderId')
  const startMs = findNumber(query, 'startTime')
  const endMs = findNumber(query, 'endTime')
  const hasTimes = startMs !== undefined || endMs !== undefined
  // The supported combinations are listed; every other one is refused.
  if (hasTimes && (fromId !== undefined || orderId !== undefined)) throw new BinanceRefusal(-1128)
  if (startMs !== undefined && endMs !== undefined && endMs - startMs > dayMs) throw new BinanceRefusal(-1127)
  const rows = all.filter(
    (row) =>
      (fromId === undefined || tradeIdOf(of.id, row) >= fromId) &&
      (orderId === undefined || orderIdOf(of.id, row) === orderId) &&
      (startMs === undefined || row.atMs >= startMs) &&
      (endMs === undefined || row.atMs <= endMs),
  )
  return { rows, oldestFirst: fromId !== undefined || startMs !== undefined }
}

export function describeTrade(accountId: string, row: RowOf<'trade'>): object {
  const { event } = row
  return {
    symbol: event.symbol,
    id: tradeIdOf(accountId, row),
    orderId: orderIdOf(accountId, row),
    orderListId: -1,
    price: event.price,
    qty: event.qty,
    quoteQty: event.quoteQty,
    commission: event.commission,
    commissionAsset: event.commissionAsset,
    time: row.atMs,
    isBuyer: event.side === 'buy',
    isMaker: event.maker,
    isBestMatch: true,
  }
}
