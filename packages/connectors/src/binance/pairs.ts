/**
 * Which pairs to read trades of. Binance lists trades by pair alone, and the user is not asked which pairs they traded:
 * every asset that any list or balance has named is kept in the connector's state, and the pairs follow from
 * exchangeInfo.
 *
 * A pair of two seen assets is read in every run. A pair of one seen asset may have been traded as well (bought and
 * sold again between two looks, or long ago): reading all of them costs 20 of 6,000 weight each, so it is done while a
 * connection is new, and then for a share of them each day.
 */
import { dayMs } from '@assay/core'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { ConnectorState, Partition } from '../kit/connector.ts'
import { parseJson, readAnswer } from '../kit/json.ts'

const newForMs = 2 * dayMs
const rotationDays = 28

interface BinanceState {
  /** Codes of all assets that were ever seen, sorted. */
  assets: readonly string[]
  /** Partitions that Binance no longer answers for, sorted. */
  lost: readonly string[]
  connectedAtMs: number | undefined
}

const stateSchema = z.object({
  assets: z.array(z.string()).optional(),
  lost: z.array(z.string()).optional(),
  connectedAtMs: z.number().optional(),
})

export function readState(state: ConnectorState): BinanceState {
  const { assets = [], lost = [], connectedAtMs } = stateSchema.parse(state)
  return { assets, lost, connectedAtMs }
}

/** A code longer than this is not an asset of Binance's; the state has a limit. */
const codeLengthMax = 40
const assetsMax = 20_000

/** The state with these assets in it; undefined when it knows them all. */
export function withAssets(state: ConnectorState, codes: Iterable<string>): ConnectorState | undefined {
  const { assets } = readState(state)
  const known = new Set(assets)
  for (const code of codes) if (code.length <= codeLengthMax && known.size < assetsMax) known.add(code)
  return known.size === assets.length ? undefined : { ...state, assets: [...known].toSorted() }
}

export interface Pair {
  symbol: string
  base: string
  quote: string
}

const exchangeInfo = z.object({
  symbols: z.array(
    z.object({ symbol: z.string().min(1), baseAsset: z.string().min(1), quoteAsset: z.string().min(1) }),
  ),
})

/** Pairs that are halted or delisted (`BREAK`) are listed too, and mostly still have their trades. */
export function toPairs(text: string): Pair[] {
  const { symbols } = readAnswer('exchangeInfo', exchangeInfo, parseJson(text))
  return symbols.map(({ symbol, baseAsset: base, quoteAsset: quote }) => ({ symbol, base, quote }))
}

/** Base and quote are part of a partition's name, because a trade does not name them: `BTC/USDT`. */
export function toPartition({ symbol, base, quote }: Pair): string {
  return symbol === `${base}${quote}` ? `${base}/${quote}` : `${base}/${quote}/${symbol}`
}

export function readPartition(partition: string): Pair {
  const [base = '', quote = '', symbol = `${base}${quote}`] = partition.split('/')
  return { symbol, base, quote }
}

/** The state with this list among the lost ones; undefined when it is there already. */
export function withLost(state: ConnectorState, partition: string): ConnectorState | undefined {
  const { lost } = readState(state)
  return lost.includes(partition) ? undefined : { ...state, lost: [...lost, partition].toSorted() }
}

/** Assets and lost lists are only ever added. */
export function joinStates(one: ConnectorState, other: ConnectorState): ConnectorState {
  const { assets, lost } = readState(other)
  const joined = lost.reduce((state, partition) => withLost(state, partition) ?? state, withAssets(one, assets) ?? one)
  return { ...other, ...joined }
}

/** `pairs` as exchangeInfo lists them now; `gone` are those with trades that it no longer lists. */
export function listPartitions(
  pairs: readonly Pair[],
  gone: readonly Pair[],
  state: ConnectorState,
  nowMs: number,
): Partition[] {
  const { assets, lost, connectedAtMs } = readState(state)
  const seen = new Set(assets)
  const silent = new Set(lost)
  const isNew = connectedAtMs === undefined || nowMs - connectedAtMs < newForMs
  const turn = Math.floor(nowMs / dayMs) % rotationDays
  const guessed = listLostPairs(pairs, assets)
  const all = new Map([...pairs, ...gone, ...guessed].map((pair) => [toPartition(pair), pair]))
  return [...all]
    .filter(([partition, pair]) => {
      const isBoth = seen.has(pair.base) && seen.has(pair.quote)
      if (!isBoth && !seen.has(pair.base) && !seen.has(pair.quote)) return false
      // A delisted pair is requested once per rotation, in case Binance lists it again.
      const isUrgent = !silent.has(partition) && (isBoth || isNew)
      return isUrgent || turnOf(pair.symbol) === turn
    })
    .map(([partition]) => ({ stream: 'trades', partition }))
}

/** The quotes that nearly every asset was traded against. */
const commonQuotes = ['USDT', 'BTC', 'ETH', 'BNB']

/**
 * Pairs that exchangeInfo no longer knows. An asset that was seen and is in no pair has been delisted; Binance still
 * lists the trades of some such pairs.
 */
function listLostPairs(pairs: readonly Pair[], assets: readonly string[]): Pair[] {
  const listed = new Set(pairs.flatMap(({ base, quote }) => [base, quote]))
  const lost = assets.filter((asset) => !listed.has(asset))
  return lost.flatMap((base) => {
    const quotes = commonQuotes.filter((quote) => listed.has(quote) && assets.includes(quote))
    return quotes.map((quote) => ({ symbol: `${base}${quote}`, base, quote }))
  })
}

function turnOf(symbol: string): number {
  return createHash('sha256').update(symbol).digest().readUInt32BE() % rotationDays
}
