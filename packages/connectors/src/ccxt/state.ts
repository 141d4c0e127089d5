/**
 * What we remember about an account: every asset it has held, and the symbols that the exchange has refused.
 * The partitions of lists that exist only by symbol or by code are derived from it, as in the Binance connector, so
 * users do not have to say what they traded.
 */
import { dayMs, hourMs } from '@assay/core'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { ConnectorState, Partition } from '../kit/connector.ts'
import type { Market } from './client.ts'
import type { ReadList } from './catalogue/lists.ts'

/** Until a connection is this old, every market of a known asset is read, except in slow lists. */
const newForMs = 6 * hourMs
/** After that, a market with only one known side is read once in this many days. */
const rotationDays = 28

/** A refused symbol is asked for again after this pause, which doubles with every refusal. */
const lostPauseMs = hourMs
const lostPauseMaxMs = 14 * dayMs

const stateSchema = z.object({
  assets: z.array(z.string()).optional(),
  lost: z.record(z.string(), z.object({ refusals: z.number(), atMs: z.number() })).optional(),
  connectedAtMs: z.number().optional(),
})

/** Longer codes are not asset codes. The state has a size limit. */
const codeLengthMax = 40
const assetsMax = 10_000
const lostMax = 5_000

/** Returns the state with these assets added, or undefined when it has them all. */
export function withAssets(state: ConnectorState, codes: Iterable<string>): ConnectorState | undefined {
  const { assets = [] } = stateSchema.parse(state)
  const known = new Set(assets)
  for (const code of codes) if (code.length <= codeLengthMax && known.size < assetsMax) known.add(code)
  return known.size === assets.length ? undefined : { ...state, assets: [...known].toSorted() }
}

export function withConnectedAt(state: ConnectorState, nowMs: number): ConnectorState {
  return stateSchema.parse(state).connectedAtMs === undefined ? { ...state, connectedAtMs: Math.round(nowMs) } : state
}

/**
 * The exchange has refused this symbol. That does not mean that it was delisted: several exchanges call a symbol unknown
 * while its trading is halted.
 */
export function withLost(state: ConnectorState, symbol: string, nowMs: number): ConnectorState {
  const { lost = {} } = stateSchema.parse(state)
  const isKept = Object.hasOwn(lost, symbol) || Object.keys(lost).length < lostMax
  if (symbol.length > 2 * codeLengthMax || !isKept) return state
  const refusals = (lost[symbol]?.refusals ?? 0) + 1
  return { ...state, lost: { ...lost, [symbol]: { refusals, atMs: Math.round(nowMs) } } }
}

/** The exchange has answered for this symbol. Returns undefined when it was not lost. */
export function withFound(state: ConnectorState, symbol: string): ConnectorState | undefined {
  const { lost = {} } = stateSchema.parse(state)
  if (!Object.hasOwn(lost, symbol)) return undefined
  return { ...state, lost: Object.fromEntries(Object.entries(lost).filter(([name]) => name !== symbol)) }
}

export function listPartitions(
  lists: readonly Pick<ReadList, 'stream' | 'by' | 'isSlow'>[],
  markets: ReadonlyMap<string, Market>,
  state: ConnectorState,
  nowMs: number,
): Partition[] {
  const { assets = [] } = stateSchema.parse(state)
  const symbolsOf = (isSlow: boolean): string[] => listSymbols(markets, state, nowMs, { isSlow })
  const partitioned = new Set(lists.filter(({ by }) => by !== null).map(({ stream }) => stream))
  return lists.flatMap(({ stream, by, isSlow }) => {
    if (by === null) return partitioned.has(stream) ? [{ stream, partition: '' }] : []
    return (by === 'code' ? assets : symbolsOf(isSlow)).map((partition) => ({ stream, partition }))
  })
}

function listSymbols(
  markets: ReadonlyMap<string, Market>,
  state: ConnectorState,
  nowMs: number,
  { isSlow }: { isSlow: boolean },
): string[] {
  const { assets = [], lost = {}, connectedAtMs = nowMs } = stateSchema.parse(state)
  const seen = new Set(assets)
  const isNew = !isSlow && nowMs - connectedAtMs < newForMs
  const turn = Math.floor(nowMs / dayMs) % rotationDays
  return [...markets.values()]
    .filter(({ symbol, base, quote }) => {
      const isBoth = seen.has(base) && seen.has(quote)
      if (!isBoth && !seen.has(base) && !seen.has(quote)) return false
      return (isBoth || isNew || turnOf(symbol) === turn) && !isPaused(lost[symbol], nowMs)
    })
    .map(({ symbol }) => symbol)
}

/** A symbol is never away for much longer than twice the time for which the exchange refused it. */
function isPaused(lost: { refusals: number; atMs: number } | undefined, nowMs: number): boolean {
  if (lost === undefined) return false
  return nowMs < lost.atMs + Math.min(lostPauseMaxMs, lostPauseMs * 2 ** (lost.refusals - 1))
}

function turnOf(symbol: string): number {
  return createHash('sha256').update(symbol).digest().readUInt32BE() % rotationDays
}
