/**
 * The trading account: what the key may do, what is held, fills, and bills.
 * Sources: https://www.okx.com/docs-v5/en/#trading-account-rest-api-get-account-configuration, …-get-balance,
 * …-get-bills-details-last-7-days, …-get-bills-details-last-3-months,
 * …/#order-book-trading-trade-get-transaction-details-last-3-months
 *
 * A spot fill makes two bills, one for each coin, and the fee is part of the bill of its coin. A fee is negative when
 * it was charged and positive when it is a rebate. Not documented: `subType` is the direction of the bill's own coin,
 * and the amount of Auto Earn is the balance that earned. Interest comes once a day.
 */
import { dayMs } from '@assay/core'
import { hexOf } from '../core/ids.ts'
import type { CallContext } from '../core/serving/provider-server.ts'
import { getPair, toDollars } from '../spot/assets.ts'
import { listOf, toText, type Entry, type RowOf } from '../spot/books.ts'
import type { SpotAccount } from '../spot/exchange.ts'
import { idBaseOf, uidOf } from '../spot/ids.ts'
import { pageAfter, within } from '../spot/pages.ts'
import { instrumentOf, instrumentTypeOf } from './market.ts'
import { findNumber, OkxRefusal, sizeOf } from './wire.ts'

/** Seventeen digits, as OKX's are. */
export function publicIdOf({ id }: { id: string }): string {
  return `44705${String(uidOf(id)).padStart(12, '0')}`
}

export function accountConfig(of: SpotAccount): object[] {
  const uid = publicIdOf(of)
  const config = {
    acctLv: '1',
    acctStpMode: 'cancel_maker',
    autoLoan: false,
    ctIsoMode: 'automatic',
    enableSpotBorrow: false,
    greeksType: 'PA',
    feeType: '0',
    ip: (of.world().story.boundTo ?? []).join(','),
    type: '0',
    kycLv: '3',
    label: 'read by assay',
    level: 'Lv1',
    levelTmp: '',
    liquidationGear: '-1',
    mainUid: uid,
    mgnIsoMode: 'automatic',
    opAuth: '0',
    perm: of.key.permissions.join(','),
    posMode: 'net_mode',
    roleType: '0',
    spotBorrowAutoRepay: false,
    spotOffsetType: '',
    spotRoleType: '0',
    spotTraderInsts: [],
    stgyType: '0',
    traderInsts: [],
    uid,
    settleCcy: 'USDC',
    settleCcyList: ['USD', 'USDC', 'USDG'],
  }
  return [config]
}

/** Coins without a balance are left out. Fields that do not apply to the spot mode are empty. */
export function accountBalance(of: SpotAccount, query: URLSearchParams, { nowMs }: CallContext): object[] {
  const asked = query.get('ccy')?.split(',')
  const held = [...of.world().balances.trading].filter(
    ([ccy, units]) => units > 0n && (asked === undefined || asked.includes(ccy)),
  )
  const uTime = String(Math.floor(nowMs))
  const total = held.reduce((sum, [ccy, units]) => sum + toDollars(ccy, units, nowMs), 0n)
  const empty = Object.fromEntries(
    ['adjEq', 'availEq', 'borrowFroz', 'delta', 'deltaLever', 'deltaNeutralStatus', 'imr', 'isoEq', 'mgnRatio', 'mmr']
      .concat(['notionalUsd', 'notionalUsdForBorrow', 'notionalUsdForFutures', 'notionalUsdForOption'])
      .concat(['notionalUsdForSwap', 'ordFroz', 'upl'])
      .map((name) => [name, '']),
  )
  const details = held.map(([ccy, units]) => describeHolding(of, ccy, units, nowMs))
  return [{ ...empty, details, totalEq: toText(total), uTime }]
}

const emptyOfHolding = [
  ...['availEq', 'borrowFroz', 'crossLiab', 'imr', 'interest', 'isoEq', 'isoLiab', 'isoUpl', 'liab', 'maxLoan'],
  ...['mgnRatio', 'mmr', 'notionalLever', 'spotInUseAmt', 'clSpotInUseAmt', 'maxSpotInUse', 'twap', 'upl', 'uplLiab'],
  ...['openAvgPx', 'accAvgPx', 'spotUpl', 'spotUplRatio', 'totalPnl', 'totalPnlRatio', 'disEq', 'autoLendMtAmt'],
]

function describeHolding(of: SpotAccount, ccy: string, units: bigint, nowMs: number): object {
  const reserved = of.world().story.inOrders.get(ccy) ?? 0n
  return {
    ...Object.fromEntries(emptyOfHolding.map((name) => [name, ''])),
    autoLendStatus: 'off',
    availBal: toText(units - reserved),
    cashBal: toText(units),
    ccy,
    colRes: '0',
    collateralEnabled: false,
    collateralRestrict: false,
    colBorrAutoConversion: '0',
    eq: toText(units),
    eqUsd: toText(toDollars(ccy, units, nowMs)),
    smtSyncEq: '0',
    spotCopyTradingEq: '0',
    fixedBal: '0',
    frozenBal: toText(reserved),
    frpType: '0',
    ordFrozen: toText(reserved),
    rewardBal: '0',
    spotIsoBal: '0',
    stgyEq: '0',
    uTime: String(Math.floor(nowMs)),
    spotBal: toText(units),
  }
}

/** Eighteen digits, the last ten of them from the number of the entry. */
function billIdOf(accountId: string, entryNumber: number): string {
  return `62395085${String(idBaseOf(accountId, 'bill') + entryNumber).padStart(10, '0')}`
}

function entryNumberOf(of: SpotAccount, query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  const match = /^62395085(\d{10})$/.exec(text)
  if (match === null) throw new OkxRefusal(51000, `Parameter ${name} error`)
  return Number(match[1]) - idBaseOf(of.id, 'bill')
}

interface Numbered {
  number: number
  atMs: number
}

/**
 * `after` asks for bills older than the given one, `before` for newer ones; `begin` and `end` are times. Newest first.
 */
function pageOf<R extends Numbered>(
  of: SpotAccount,
  rows: readonly R[],
  query: URLSearchParams,
  context: CallContext,
  how: { keptMs: number; toRow: (entryNumber: number) => number },
): R[] {
  const [after, before] = ['after', 'before'].map((name) => {
    const number = entryNumberOf(of, query, name)
    return number === undefined ? undefined : how.toRow(number)
  })
  const oldestMs = of.world().story.forgets ? context.nowMs - how.keptMs : 0
  const from = Math.max(findNumber(query, 'begin') ?? 0, oldestMs)
  const wanted = within(rows, from, findNumber(query, 'end') ?? Number.MAX_SAFE_INTEGER - 1)
  const newer = before === undefined ? wanted : wanted.slice(wanted.findIndex(({ number }) => number === before) + 1)
  return pageAfter(newer, after, sizeOf(query), context)
}

// Four entries belong to a row, so that a fill's bill leads back to its row.
const entriesOfRow = 4

export function fillsHistory(of: SpotAccount, query: URLSearchParams, context: CallContext): object[] {
  const spot = instrumentTypeOf(query) === 'SPOT'
  const instId = query.get('instId') || undefined
  const rows = (spot ? listOf(of.world(), 'trade') : []).filter(
    ({ event }) => instId === undefined || instrumentOf(getPair(event.pair)) === instId,
  )
  const toRow = (entryNumber: number): number => Math.floor(entryNumber / entriesOfRow)
  return pageOf(of, rows, query, context, { keptMs: 90 * dayMs, toRow }).map((row) => describeFill(of.id, row))
}

function negated(amount: string): string {
  if (amount === '0') return amount
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

export function describeFill(accountId: string, row: RowOf<'trade'>): object {
  const { event, atMs, number } = row
  const { quote } = getPair(event.pair)
  return {
    side: event.side,
    fillSz: event.qty,
    fillPx: event.price,
    fillPxVol: '',
    fillFwdPx: '',
    fee: negated(event.fee),
    fillPnl: '0',
    ordId: orderIdOf(accountId, row),
    feeRate: event.fee.startsWith('-') ? '0.0001' : '-0.001',
    instType: 'SPOT',
    fillPxUsd: '',
    instId: instrumentOf(getPair(event.pair)),
    clOrdId: '',
    posSide: 'net',
    billId: billIdOf(accountId, number * entriesOfRow),
    subType: event.side === 'buy' ? '1' : '2',
    fillMarkVol: '',
    tag: '',
    fillTime: String(atMs),
    execType: event.maker ? 'M' : 'T',
    fillIdxPx: '',
    tradeId: tradeIdOf(accountId, row),
    fillMarkPx: '',
    feeCcy: event.feeAsset,
    ts: String(atMs),
    tradeQuoteCcy: quote,
  }
}

function tradeIdOf(accountId: string, { number }: Numbered): string {
  return String(idBaseOf(accountId, 'trade') + number)
}

/** Eighteen digits. Fills of one pair, side and millisecond are parts of one order. */
function orderIdOf(accountId: string, { atMs, event }: RowOf<'trade'>): string {
  const digits = BigInt(`0x${hexOf(accountId, `order/${event.pair}/${event.side}`, atMs, 12)}`) % 10n ** 15n
  return `680${digits.toString().padStart(15, '0')}`
}

export function bills(of: SpotAccount, query: URLSearchParams, context: CallContext, keptMs: number): object[] {
  const [ccy, type, subType, instType] = ['ccy', 'type', 'subType', 'instType'].map(
    (name) => query.get(name) || undefined,
  )
  const rows = of.world().entries.trading.filter((entry) => {
    const kind = kindOf(entry)
    return (
      (ccy === undefined || entry.asset === ccy) &&
      (type === undefined || kind.type === type) &&
      (subType === undefined || kind.subType === subType) &&
      (instType === undefined || (instType === 'SPOT' && entry.row.event.kind === 'trade'))
    )
  })
  return pageOf(of, rows, query, context, { keptMs, toRow: (number) => number }).map((entry) =>
    describeBill(of.id, entry),
  )
}

function kindOf({ row, change }: Entry): { type: string; subType: string } {
  const gained = change > 0n
  switch (row.event.kind) {
    case 'trade':
      return { type: '2', subType: gained ? '1' : '2' }
    case 'convert':
      if (row.event.dust === true) return { type: '28', subType: gained ? '236' : '237' }
      return { type: '27', subType: gained ? '318' : '319' }
    case 'reward':
      return { type: '381', subType: '381' }
    case 'charge':
      return { type: '250', subType: '280' }
    case 'product':
      return { type: '26', subType: gained ? '298' : '297' }
    default:
      return { type: '1', subType: gained ? '11' : '12' }
  }
}

export function describeBill(accountId: string, entry: Entry): object {
  const { row, asset, change, fee, atMs } = entry
  const trade = row.event.kind === 'trade' ? (row as RowOf<'trade'>) : undefined
  const moved = row.event.kind === 'transfer'
  const earned = row.event.kind === 'reward'
  const flow = change + fee
  return {
    bal: toText(entry.after),
    balChg: toText(change),
    billId: billIdOf(accountId, entry.number),
    ccy: asset,
    clOrdId: '',
    earnAmt: earned ? toText(entry.after - change) : '',
    earnApr: earned ? '0.01' : '',
    execType: trade === undefined ? '' : trade.event.maker ? 'M' : 'T',
    fee: toText(-fee),
    fillFwdPx: '',
    fillIdxPx: trade?.event.price ?? '',
    fillMarkPx: '',
    fillMarkVol: '',
    fillPxUsd: '',
    fillPxVol: '',
    fillTime: trade === undefined ? '' : String(atMs),
    from: moved ? (change > 0n ? '6' : '18') : '',
    instId: trade === undefined ? '' : instrumentOf(getPair(trade.event.pair)),
    instType: trade === undefined ? '' : 'SPOT',
    interest: '0',
    mgnMode: trade === undefined ? '' : 'cash',
    notes: '',
    ordId: trade === undefined ? '' : orderIdOf(accountId, trade),
    pnl: '0',
    posBal: '0',
    posBalChg: '0',
    px: trade?.event.price ?? '',
    subType: kindOf(entry).subType,
    sz: toText(flow < 0n ? -flow : flow),
    tag: '',
    to: moved ? (change > 0n ? '18' : '6') : '',
    tradeId: trade === undefined ? '' : tradeIdOf(accountId, trade),
    ts: String(atMs),
    type: kindOf(entry).type,
  }
}
