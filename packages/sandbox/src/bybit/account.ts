/**
 * The unified account: what the key may do, what is held, executions, and the transaction log.
 * Sources: https://bybit-exchange.github.io/docs/v5/user/apikey-info, …/account/account-info, …/account/wallet-balance,
 * …/account/transaction-log, …/order/execution
 *
 * A spot execution makes two rows of the transaction log, one for each coin, and the fee is part of the row of its
 * coin.
 */
import { dayMs } from '@assay/core'
import { hexOf } from '../core/ids.ts'
import type { WireRequest } from '../core/serving/listener.ts'
import type { CallContext } from '../core/serving/provider-server.ts'
import { divideUnits, toShortText, toUnits } from '../core/units.ts'
import { decimals, getPair, toDollars } from '../spot/assets.ts'
import { listOf, toText, type Entry, type RowOf, type World } from '../spot/books.ts'
import type { SpotAccount } from '../spot/exchange.ts'
import { idBaseOf, uidOf, uuidOf } from '../spot/ids.ts'
import { pageAfter, pageAt, within } from '../spot/pages.ts'
import { headerOf } from './authentication.ts'
import { categoryOf, symbolOf } from './market.ts'
import { BybitRefusal, findNumber, sizeOf, type Answer } from './wire.ts'

const keptMs = 2 * 365 * dayMs
const longestMs = 7 * dayMs

/** Every group of the document's example; the permission names of the sandbox's keys are those inside. */
const groups = {
  ContractTrade: ['Order', 'Position'],
  Spot: ['SpotTrade'],
  Wallet: ['AccountTransfer', 'SubMemberTransfer', 'SubMemberTransferList', 'Withdraw'],
  Options: ['OptionsTrade'],
  Derivatives: ['DerivativesTrade'],
  CopyTrading: [],
  BlockTrade: [],
  Exchange: ['ExchangeHistory'],
  NFT: [],
  Affiliate: [],
  Earn: ['Earn'],
  FiatP2P: ['FiatP2POrder', 'Advertising'],
  FiatConvertBroker: ['FiatConvertBrokerOrder'],
  FiatGlobalPay: [],
  FiatBitPay: ['FaitPayOrder'],
  BitCard: ['BitCard'],
  ByXPost: ['ByXPost'],
} as const satisfies Record<string, readonly string[]>

export function queryApi(of: SpotAccount, request: WireRequest, { nowMs }: CallContext): Answer {
  const { permissions, validUntilMs } = of.key
  const { boundTo } = of.world().story
  const granted = Object.entries(groups).map(([group, names]: [string, readonly string[]]) => [
    group,
    names.filter((name) => permissions.includes(name)),
  ])
  // A key that is bound to no address ends three months after it was last renewed.
  const endMs = validUntilMs ?? Math.floor(nowMs / dayMs + 83) * dayMs
  const lasting = boundTo !== undefined && validUntilMs === undefined
  const result = {
    id: String(idBaseOf(of.id, 'key')),
    note: 'read by assay',
    apiKey: headerOf(request, 'x-bapi-api-key'),
    readOnly: permissions.includes('readOnly') ? 1 : 0,
    secret: '',
    permissions: Object.fromEntries(granted) as object,
    ips: boundTo ?? ['*'],
    type: 1,
    deadlineDay: lasting ? -2 : Math.floor((endMs - nowMs) / dayMs),
    expiredAt: toSeconds(lasting ? 0 : endMs),
    createdAt: '2025-01-05T10:00:00Z',
    unified: 0,
    uta: 1,
    userID: uidOf(of.id),
    inviterID: 0,
    vipLevel: 'No VIP',
    mktMakerLevel: '0',
    affiliateID: 0,
    rsaPublicKey: '',
    isMaster: true,
    parentUid: '0',
    kycLevel: 'LEVEL_1',
    kycRegion: 'DEU',
    userIDInt64: String(uidOf(of.id)),
    inviterIDInt64: '0',
    affiliateIDInt64: '0',
  }
  return { retMsg: '', result }
}

function toSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

export function accountInfo(): Answer {
  const result = {
    marginMode: 'REGULAR_MARGIN',
    updatedTime: String(Date.UTC(2025, 0, 5, 10)),
    unifiedMarginStatus: 5,
    dcpStatus: 'OFF',
    timeWindow: 0,
    smpGroup: 0,
    isMasterTrader: false,
    spotHedgingStatus: 'OFF',
  }
  return { retMsg: 'OK', result }
}

/** Coins without a balance are left out, unless they are requested. */
export function walletBalance(of: SpotAccount, query: URLSearchParams, { nowMs }: CallContext): Answer {
  const accountType = query.get('accountType') ?? ''
  if (accountType !== 'UNIFIED') throw new BybitRefusal(10001, 'accountType only support UNIFIED.')
  const asked = query.get('coin')?.split(',')
  const world = of.world()
  const held = world.balances.trading
  const shown = asked ?? [...held].filter(([, units]) => units > 0n).map(([asset]) => asset)
  const coin = shown.map((asset) => describeCoin(world, asset, nowMs))
  const total = toText([...held].reduce((sum, [asset, units]) => sum + toDollars(asset, units, nowMs), 0n))
  const whole = {
    totalEquity: total,
    accountIMRate: '0',
    accountIMRateByMp: '0',
    totalMarginBalance: total,
    totalInitialMargin: '0',
    totalInitialMarginByMp: '0',
    accountType,
    totalAvailableBalance: total,
    accountMMRate: '0',
    accountMMRateByMp: '0',
    totalPerpUPL: '0',
    totalWalletBalance: total,
    accountLTV: '0',
    totalMaintenanceMargin: '0',
    totalMaintenanceMarginByMp: '0',
    coin,
  }
  return { retMsg: 'OK', result: { list: [whole] } }
}

function describeCoin(world: World, asset: string, nowMs: number): object {
  const units = world.balances.trading.get(asset) ?? 0n
  return {
    availableToBorrow: '',
    bonus: '0',
    accruedInterest: '0',
    availableToWithdraw: '',
    totalOrderIM: '0',
    equity: toText(units),
    totalPositionMM: '0',
    usdValue: toText(toDollars(asset, units, nowMs)),
    spotHedgingQty: '0',
    unrealisedPnl: '0',
    collateralSwitch: false,
    borrowAmount: '0',
    totalPositionIM: '0',
    walletBalance: toText(units),
    cumRealisedPnl: '0',
    locked: toText(world.story.inOrders.get(asset) ?? 0n),
    marginCollateral: true,
    coin: asset,
    spotBorrow: '0',
  }
}

/** If only one bound is given, the endpoint's usual length completes the range. Two bounds may be seven days apart. */
function spanOf(
  of: SpotAccount,
  query: URLSearchParams,
  usualMs: number,
  nowMs: number,
): [fromMs: number, toMs: number] {
  const start = findNumber(query, 'startTime')
  const end = findNumber(query, 'endTime')
  const toMs = end ?? (start === undefined ? nowMs : start + usualMs)
  const fromMs = start ?? toMs - usualMs
  if (toMs < fromMs || toMs - fromMs > longestMs) {
    throw new BybitRefusal(10001, 'The time range between startTime and endTime cannot exceed 7 days.')
  }
  return [of.world().story.forgets ? Math.max(fromMs, nowMs - keptMs) : fromMs, toMs]
}

/**
 * "132766%3A2%2C132766%3A2", including the percent signs: it may come back unchanged or encoded once more. A page with
 * rows always has a cursor, so the last page is the empty one; the documents do not contradict this.
 */
function cursorOf(page: readonly { number: number }[]): string {
  const last = page.at(-1)
  return last === undefined ? '' : `${last.number}%3A1%2C${last.number}%3A1`
}

function afterCursor(query: URLSearchParams): number | undefined {
  const cursor = (query.get('cursor') ?? '').replaceAll('%3A', ':').replaceAll('%2C', ',')
  if (cursor === '') return undefined
  const match = /^(\d{1,12}):1,\1:1$/.exec(cursor)
  if (match === null) throw new BybitRefusal(10001, 'params error: cursor invalid')
  return Number(match[1])
}

export function executions(of: SpotAccount, query: URLSearchParams, context: CallContext): Answer {
  const category = categoryOf(query)
  const [fromMs, toMs] = spanOf(of, query, longestMs, context.nowMs)
  const symbol = query.get('symbol')
  const wanted = within(category === 'spot' ? listOf(of.world(), 'trade') : [], fromMs, toMs).filter(
    ({ event }) =>
      (symbol === null || symbolOf(getPair(event.pair)) === symbol) && (query.get('execType') ?? 'Trade') === 'Trade',
  )
  const page = pageAfter(wanted, afterCursor(query), sizeOf(query, 50, 100), context)
  const list = page.map((row) => describeExecution(of.id, row))
  return { retMsg: 'OK', result: { nextPageCursor: cursorOf(page), category, list } }
}

export function describeExecution(accountId: string, row: RowOf<'trade'>): object {
  const { event } = row
  return {
    symbol: symbolOf(getPair(event.pair)),
    orderType: event.maker ? 'Limit' : 'Market',
    underlyingPrice: '',
    orderLinkId: '',
    side: event.side === 'buy' ? 'Buy' : 'Sell',
    indexPrice: '',
    orderId: orderIdOf(accountId, row),
    stopOrderType: '',
    leavesQty: '0',
    execTime: String(row.atMs),
    feeCurrency: event.feeAsset,
    isMaker: event.maker,
    execFee: event.fee,
    feeRate: feeRateOf(event.fee),
    execId: tradeIdOf(accountId, row),
    tradeIv: '',
    blockTradeId: '',
    markPrice: event.price,
    execPrice: event.price,
    markIv: '',
    orderQty: event.qty,
    orderPrice: event.price,
    execValue: event.cost,
    execType: 'Trade',
    execQty: event.qty,
    closedSize: '',
    extraFees: '',
    seq: idBaseOf(accountId, 'seq') + row.number,
  }
}

function feeRateOf(fee: string): string {
  return fee.startsWith('-') ? '-0.0001' : '0.001'
}

/** Nineteen digits: more than a binary float holds. */
export function tradeIdOf(accountId: string, { number }: { number: number }): string {
  return `2100000000${idBaseOf(accountId, 'trade') + number}`
}

/** Fills of one pair, side and millisecond are parts of one order. */
function orderIdOf(accountId: string, { atMs, event }: RowOf<'trade'>): string {
  return uuidOf(accountId, `order/${event.pair}/${event.side}`, atMs)
}

export function transactionLog(of: SpotAccount, query: URLSearchParams, context: CallContext): Answer {
  const [fromMs, toMs] = spanOf(of, query, dayMs, context.nowMs)
  const [category, currency, type] = ['category', 'currency', 'type'].map((name) => query.get(name) || undefined)
  const wanted = within(of.world().entries.trading, fromMs, toMs).filter(
    (entry) =>
      (currency === undefined || entry.asset === currency) &&
      (category === undefined || (category === 'spot' && entry.row.event.kind === 'trade')) &&
      (type === undefined || typeOf(entry) === type),
  )
  const page = pageAfter(wanted, afterCursor(query), sizeOf(query, 20, 50), context)
  const list = page.map((entry) => describeLog(of.id, entry))
  return { retMsg: 'OK', result: { nextPageCursor: cursorOf(page), list } }
}

function typeOf({ row, change }: Entry): string {
  switch (row.event.kind) {
    case 'trade':
      return 'TRADE'
    case 'convert':
      return change < 0n ? 'CURRENCY_SELL' : 'CURRENCY_BUY'
    case 'reward':
      return 'AIRDROP'
    case 'charge':
      return 'INTEREST'
    case 'product':
      return change < 0n ? 'FLEXIBLE_STAKING_SUBSCRIPTION' : 'FLEXIBLE_STAKING_REDEMPTION'
    default:
      return change < 0n ? 'TRANSFER_OUT' : 'TRANSFER_IN'
  }
}

export function describeLog(accountId: string, entry: Entry): object {
  const { row, asset, change, fee } = entry
  const trade = row.event.kind === 'trade' ? (row as RowOf<'trade'>) : undefined
  const symbol = trade === undefined ? '' : symbolOf(getPair(trade.event.pair))
  const cashFlow = toText(change + fee)
  return {
    transSubType: '',
    id: `${uidOf(accountId)}_${symbol || asset}_${idBaseOf(accountId, 'log') + entry.number}`,
    symbol,
    side: trade === undefined ? 'None' : trade.event.side === 'buy' ? 'Buy' : 'Sell',
    funding: '',
    orderLinkId: '',
    orderId: trade === undefined ? uuidOf(accountId, row.event.kind, row.number) : orderIdOf(accountId, trade),
    fee: toText(fee),
    change: toText(change),
    cashFlow,
    transactionTime: String(entry.atMs),
    type: typeOf(entry),
    feeRate: trade !== undefined && fee !== 0n ? feeRateOf(trade.event.fee) : '0',
    bonusChange: '',
    size: '0',
    qty: cashFlow,
    cashBalance: toText(entry.after),
    currency: asset,
    category: trade === undefined ? '' : 'spot',
    tradePrice: trade?.event.price ?? '0',
    tradeId: trade === undefined ? '' : tradeIdOf(accountId, trade),
    extraFees: '',
  }
}

/** Pages are numbered from one, and there is no range of time. */
export function convertHistory(of: SpotAccount, query: URLSearchParams, context: CallContext): Answer {
  const size = sizeOf(query, 20, 100)
  const index = Math.max(1, findNumber(query, 'index') ?? 1)
  const types = query.get('accountType')?.split(',')
  const rows = types === undefined || types.includes('eb_convert_uta') ? listOf(of.world(), 'convert') : []
  const page = pageAt(rows, (index - 1) * size, size, context)
  return { retMsg: 'ok', result: { list: page.map((row) => describeConvert(of.id, row)) } }
}

export function describeConvert(accountId: string, { event, atMs, number }: RowOf<'convert'>): object {
  const [given, taken] = [toUnits(event.fromAmount, decimals), toUnits(event.toAmount, decimals)]
  return {
    accountType: 'eb_convert_uta',
    exchangeTxId: `23070eb_convert_uta${hexOf(accountId, 'convert', number, 18)}`,
    userId: String(uidOf(accountId)),
    fromCoin: event.fromAsset,
    fromCoinType: 'crypto',
    fromAmount: event.fromAmount,
    toCoin: event.toAsset,
    toCoinType: 'crypto',
    toAmount: event.toAmount,
    exchangeStatus: 'success',
    extInfo: {},
    convertRate: toShortText(divideUnits(taken, decimals, given, decimals, decimals), decimals),
    createdAt: String(atMs),
  }
}
