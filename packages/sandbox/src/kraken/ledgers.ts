/**
 * Private endpoints about the past: Ledgers, QueryLedgers, TradesHistory.
 * Truth: https://docs.kraken.com/api-reference/account-data/get-ledgers-info, …/query-ledgers, …/get-trades-history
 *
 * 50 rows at a time, newest first, in an object keyed by id. `start` excludes, `end` includes; each is a Unix time (with
 * decimals) or an id. `ofs` counts from the newest of what is left. `count` is how many there are in all.
 */
import { ticksPerSecond, type Range } from '../core/timeline.ts'
import type { CallContext } from '../core/provider-server.ts'
import { findAsset } from './assets.ts'
import type { KrakenAccount } from './authentication.ts'
import type { LedgerRow, TradeRow } from './rows.ts'
import { findNumber, idOf, ledgerId } from './ids.ts'
import { isTrue, KrakenRefusal, wholeNumber } from './wire.ts'

const pageSize = 50
const queriedIdsMax = 20

// The filter's name for what the app buys and sells; no entry has that type.
const typesBehind: ReadonlyMap<string, readonly string[]> = new Map([['sale', ['spend', 'receive']]])

export function ledgers(account: KrakenAccount, parameters: URLSearchParams, context: CallContext): object {
  const filter = ledgerFilter(parameters)
  const view = account.world().ledger.view(rangeOf(account, parameters, 'L'), filter)
  const rows = context.cutPage(view, wholeNumber(parameters, 'ofs', 0), pageSize)
  const ledger = Object.fromEntries(rows.map((row) => [ledgerId(account.id, row.number), describeEntry(account, row)]))
  return isTrue(parameters, 'without_count') ? { ledger } : { ledger, count: view.count }
}

export function queryLedgers(account: KrakenAccount, parameters: URLSearchParams): object {
  const ids = (parameters.get('id') ?? '').split(',').filter((id) => id !== '')
  if (ids.length === 0 || ids.length > queriedIdsMax) throw new KrakenRefusal('EGeneral:Invalid arguments:id')
  const found = ids.map((id) => {
    const number = findNumber(account.id, 'L', id)
    const row = number === undefined ? undefined : account.world().ledger.find(number)
    if (row === undefined) throw new KrakenRefusal('EGeneral:Invalid arguments:id')
    return [id, describeEntry(account, row)]
  })
  return Object.fromEntries(found) as object
}

export function tradesHistory(account: KrakenAccount, parameters: URLSearchParams, context: CallContext): object {
  const view = account.world().trades.view(rangeOf(account, parameters, 'T'))
  const rows = context.cutPage(view, wholeNumber(parameters, 'ofs', 0), pageSize)
  const withLedgers = isTrue(parameters, 'ledgers')
  const trades = Object.fromEntries(
    rows.map((row) => [tradeId(account, row), describeTrade(account, row, withLedgers)]),
  )
  return isTrue(parameters, 'without_count') ? { trades } : { count: view.count, trades }
}

export function describeEntry(account: KrakenAccount, row: LedgerRow): object {
  return {
    aclass: 'currency',
    amount: row.amount,
    asset: row.code,
    balance: row.balance,
    fee: row.fee,
    refid: idOf(account.id, row.reference),
    time: row.atTicks / ticksPerSecond,
    type: row.type,
    subtype: row.subtype,
  }
}

export function tradeId(account: KrakenAccount, row: TradeRow): string {
  return idOf(account.id, { letter: 'T', number: row.number })
}

export function describeTrade(account: KrakenAccount, row: TradeRow, withLedgers: boolean): object {
  const { number } = row
  return {
    ordertxid: idOf(account.id, { letter: 'O', number }),
    postxid: idOf(account.id, { letter: 'P', number }),
    pair: row.pair.name,
    aclass: 'forex',
    time: row.atTicks / ticksPerSecond,
    type: row.side,
    ordertype: row.maker ? 'limit' : 'market',
    price: row.price,
    cost: row.cost,
    fee: row.fee,
    vol: row.volume,
    margin: '0.00000',
    leverage: '0',
    misc: '',
    trade_id: number,
    maker: row.maker,
    ...(withLedgers && { ledgers: ledgersOf(account, row) }),
  }
}

/** A trade's entries are booked right after it, so their numbers follow its own. */
function ledgersOf(account: KrakenAccount, trade: TradeRow): string[] {
  const { ledger } = account.world()
  const ids: string[] = []
  for (let number = trade.number + 1; ; number += 1) {
    const row = ledger.find(number)
    if (row?.reference.letter !== 'T' || row.reference.number !== trade.number) return ids
    ids.push(ledgerId(account.id, number))
  }
}

function ledgerFilter(parameters: URLSearchParams): { name: string; keep: (row: LedgerRow) => boolean } | undefined {
  const type = parameters.get('type') ?? 'all'
  const names = parameters.get('asset') ?? 'all'
  const types = type === 'all' ? undefined : new Set(typesBehind.get(type) ?? [type])
  const codes = names === 'all' ? undefined : new Set(names.split(',').map(codeOf))
  if (types === undefined && codes === undefined) return undefined
  return {
    name: `${type}|${names}`,
    keep: (row) => (types?.has(row.type) ?? true) && (codes?.has(row.code) ?? true),
  }
}

function codeOf(name: string): string {
  const asset = findAsset(name)
  if (asset === undefined) throw new KrakenRefusal('EQuery:Unknown asset')
  return asset.code
}

function rangeOf(account: KrakenAccount, parameters: URLSearchParams, letter: string): Range {
  const start = boundOf(account, parameters, 'start', letter)
  const end = boundOf(account, parameters, 'end', letter)
  return {
    ...(start?.ticks !== undefined && { afterTicks: start.ticks }),
    ...(start?.number !== undefined && { afterNumber: start.number }),
    ...(end?.ticks !== undefined && { untilTicks: end.ticks }),
    ...(end?.number !== undefined && { untilNumber: end.number }),
  }
}

function boundOf(
  account: KrakenAccount,
  parameters: URLSearchParams,
  name: 'start' | 'end',
  letter: string,
): { ticks?: number; number?: number } | undefined {
  const text = parameters.get(name)
  if (text === null || text === '') return undefined
  if (/^\d{1,12}(\.\d{1,12})?$/.test(text)) return { ticks: ticksOf(text) }
  const number = findNumber(account.id, letter, text)
  if (number === undefined) throw new KrakenRefusal(`EGeneral:Invalid arguments:${name}`)
  return { number }
}

/** Digit by digit: a time such as 1688464484.1787 has no exact binary form, and edges must be exact. */
function ticksOf(text: string): number {
  const [whole = '', fraction = ''] = text.split('.')
  return Number(whole) * ticksPerSecond + Number(fraction.slice(0, 4).padEnd(4, '0'))
}
