/**
 * Private endpoints about the past: Ledgers, QueryLedgers, TradesHistory.
 * Sources: https://docs.kraken.com/api-reference/account-data/get-ledgers-info, …/query-ledgers, …/get-trades-history
 *
 * 50 rows at a time, newest first, in an object keyed by id. `start` excludes, `end` includes; each is a Unix time
 * (with decimals) or an id. `ofs` counts from the newest of what is left. `count` is the total, though real answers
 * have been too low and too high (https://github.com/rotki/rotki/issues/116); `Story.countShort` makes it too low.
 *
 * The cursor of Ledgers is a hypothesis: `with_cursor=true` adds `next_cursor` to the answer, `cursor` sends it back,
 * and the last page has none. The copies of the documents that we could read know only `ofs`; the shape follows the
 * cursor of DepositStatus, and it is anchored on an entry, so entries booked meanwhile do not move the pages.
 */
import { ticksPerSecond, type Range, type View } from '../../core/timeline.ts'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { findAsset, getAsset } from '../assets.ts'
import type { KrakenAccount } from '../authentication.ts'
import { findNumber, idOf, ledgerId, type LedgerRow, type TradeRow } from '../rows.ts'
import { isTrue, KrakenRefusal, wholeNumber } from '../wire.ts'

const pageSize = 50
const queriedIdsMax = 20

// The filter's name for what the app buys and sells; no entry has that type.
const typesBehind: ReadonlyMap<string, readonly string[]> = new Map([['sale', ['spend', 'receive']]])

export function ledgers(account: KrakenAccount, sent: URLSearchParams, context: CallContext): object {
  const cursor = sent.get('cursor') ?? ''
  const mark = cursor === '' ? undefined : readCursor(cursor)
  const parameters = mark?.parameters ?? sent
  const world = account.world()
  const range = rangeOf(account, parameters, 'L')
  const whole = world.ledger.view(range, ledgerFilter(parameters))
  const view = mark === undefined ? whole : world.ledger.view(upTo(range, mark.atTicks), ledgerFilter(parameters))
  const offset = mark === undefined ? wholeNumber(parameters, 'ofs', 0) : countThrough(view, mark)
  const rows = context.cutPage(view, offset, pageSize)
  const last = rows.at(-1)
  const more = last !== undefined && offset + pageSize < view.count
  const count = context.tellCount(Math.max(0, whole.count - world.countShort))
  return {
    ledger: Object.fromEntries(rows.map((row) => [ledgerId(account.id, row.number), describeEntry(account, row)])),
    ...(!isTrue(parameters, 'without_count') && { count }),
    ...(isTrue(parameters, 'with_cursor') && more && { next_cursor: writeCursor(last, parameters) }),
  }
}

interface Mark {
  atTicks: number
  number: number
}

function upTo(range: Range, ticks: number): Range {
  return { ...range, untilTicks: Math.min(range.untilTicks ?? ticks, ticks) }
}

/** How many entries at the head of the view were on the page before: those of its last moment, up to its last entry. */
function countThrough(view: View<LedgerRow>, mark: Mark): number {
  let offset = 0
  for (;;) {
    const [row] = view.cut(offset, 1)
    if (row === undefined || row.atTicks < mark.atTicks || row.number < mark.number) return offset
    offset += 1
  }
}

/** Opaque to the reader: the last entry that was shown, and the query that it belongs to. */
function writeCursor({ atTicks, number }: Mark, parameters: URLSearchParams): string {
  const kept = new URLSearchParams()
  for (const name of ['type', 'asset', 'start', 'end', 'without_count', 'with_cursor']) {
    const value = parameters.get(name)
    if (value !== null) kept.set(name, value)
  }
  return Buffer.from(`${atTicks}.${number}?${kept.toString()}`).toString('base64')
}

function readCursor(cursor: string): Mark & { parameters: URLSearchParams } {
  const [mark = '', question = ''] = Buffer.from(cursor, 'base64').toString().split('?')
  if (!/^\d{1,17}\.\d{1,9}$/.test(mark)) throw new KrakenRefusal('EGeneral:Invalid arguments:cursor')
  const [atTicks, number] = mark.split('.')
  return { atTicks: Number(atTicks), number: Number(number), parameters: new URLSearchParams(question) }
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
  return isTrue(parameters, 'without_count') ? { trades } : { count: context.tellCount(view.count), trades }
}

export function describeEntry(account: KrakenAccount, row: LedgerRow): object {
  return {
    aclass: getAsset(row.code).class,
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
