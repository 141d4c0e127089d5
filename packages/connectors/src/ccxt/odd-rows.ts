/**
 * Keeps rows that ccxt leaves out or fails at. When it is asked for the rows since a moment, it drops those without a
 * time and those whose time is in another unit. And one row with a number that it cannot compute with stops a page.
 *
 * Such rows stay in their list, and records.ts marks them as unreadable. ccxt still decides which rows a list has: of an
 * endpoint that several lists share, it picks the rows by their kind and market, as it does for a list without a start.
 */
import { SourceError } from '@assay/core'
import type { Exchange } from 'ccxt'
import { isPossibleTime } from '../kit/records.ts'
import type { Row } from './answers.ts'

export interface Unparsed {
  /** Forgets the rows of the call before. */
  clear(): void
  /** Throws ccxt's error if one of the rows that it could not parse is not in the list. */
  assertIn(rows: readonly Row[]): void
}

export function keepOddRows(exchange: Exchange): Unparsed {
  keepUndated(exchange)
  keepUnknownNetworks(exchange)
  return keepUnparsed(exchange)
}

/** Whether ccxt found no time in a row, or one that no exchange can have. */
export function isUndated({ timestamp }: Row): boolean {
  return timestamp === undefined || timestamp === null || !isPossibleTime(Number(timestamp))
}

type Filter = (rows: unknown, ...rest: unknown[]) => Row[]

function keepUndated(exchange: Exchange): void {
  const filters = exchange as unknown as Record<'filterBySinceLimit' | 'filterByValueSinceLimit', Filter>
  const bySince = filters.filterBySinceLimit.bind(exchange)
  const byValue = filters.filterByValueSinceLimit.bind(exchange)
  filters.filterBySinceLimit = (rows, since, limit, key, tail) => {
    const { dated, undated } = split(exchange, rows, since)
    return [...bySince(dated, since, limit, key, tail), ...undated]
  }
  filters.filterByValueSinceLimit = (rows, field, value, since, limit, key, tail) => {
    const { dated, undated } = split(exchange, rows, since)
    return [...byValue(dated, field, value, since, limit, key, tail), ...byValue(undated, field, value)]
  }
}

function split(exchange: Exchange, rows: unknown, since: unknown): { dated: unknown; undated: readonly Row[] } {
  // Without a start ccxt leaves out nothing.
  if (since === undefined || since === null || rows === undefined) return { dated: rows, undated: [] }
  const all = exchange.toArray(rows) as Row[]
  const isOdd = (row: Row): boolean => isObject(row['info']) && isUndated(row)
  return { dated: all.filter((row) => !isOdd(row)), undated: all.filter(isOdd) }
}

/** HTX's parser looks a network up in a list that ccxt makes of the currencies, which we do not ask for. */
function keepUnknownNetworks(exchange: Exchange): void {
  const toCode = exchange.networkIdToCode.bind(exchange)
  exchange.networkIdToCode = (networkId, currencyCode) => {
    try {
      return toCode(networkId, currencyCode)
    } catch {
      return networkId
    }
  }
}

type Parser = (row: unknown, of?: Row) => unknown

function keepUnparsed(exchange: Exchange): Unparsed {
  const failed = new Map<object, unknown>()
  const parsers = exchange as unknown as Record<'parseTrade' | 'parseTransaction' | 'parseLedgerEntry', Parser>
  for (const name of ['parseTrade', 'parseTransaction', 'parseLedgerEntry'] as const) {
    const parse = parsers[name].bind(exchange)
    parsers[name] = (row, of) => {
      try {
        return parse(row, of)
      } catch (error) {
        if (!isObject(row) || !isOfNumber(error)) throw error
        failed.set(row, error)
        // With the market or currency that was asked for, by which ccxt picks the rows of a list.
        return { info: row, symbol: of?.['symbol'], currency: of?.['code'] }
      }
    }
  }
  return {
    clear: () => failed.clear(),
    assertIn(rows) {
      if (failed.size === 0) return
      const kept = new Set(rows.map(({ info }) => info))
      for (const [row, error] of failed) if (!kept.has(row)) throw error
    },
  }
}

/**
 * What BigInt throws for a text that is not a number, and kit/ccxt.ts for one that is too long. A parser that fails
 * otherwise may fail at every row.
 */
function isOfNumber(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof RangeError || error instanceof SourceError
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
