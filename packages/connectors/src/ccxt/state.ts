/**
 * What we remember about an account: every asset it has held, and the symbols that the exchange does not answer for.
 * The partitions of lists that exist only by symbol or by code are derived from it, as in the Binance connector, so
 * users do not have to say what they traded.
 */
import { dayMs } from '@assay/core'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { ConnectorState, Partition } from '../kit/connector.ts'
import type { Market } from './client.ts'
import type { ListFacts } from './catalogue/facts.ts'

/** Until a connection is this old, every market of a known asset is read. */
const newForMs = 6 * 3_600_000
/** After that, a market with only one known side is read once in this many days. */
const rotationDays = 28

const stateSchema = z.object({
  assets: z.array(z.string()).optional(),
  lost: z.array(z.string()).optional(),
  connectedAtMs: z.number().optional(),
})

/** Longer codes are not asset codes. The state has a size limit. */
const codeLengthMax = 40
const assetsMax = 10_000

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

/** Returns the state with this symbol added to the lost ones, or undefined when it is there already. */
export function withLost(state: ConnectorState, symbol: string): ConnectorState | undefined {
  const { lost = [] } = stateSchema.parse(state)
  return lost.includes(symbol) ? undefined : { ...state, lost: [...lost, symbol].toSorted() }
}

export function listPartitions(
  lists: readonly Pick<ListFacts, 'stream' | 'by'>[],
  markets: ReadonlyMap<string, Market>,
  state: ConnectorState,
  nowMs: number,
): Partition[] {
  const { assets = [] } = stateSchema.parse(state)
  const symbols = listSymbols(markets, state, nowMs)
  return lists.flatMap(({ stream, by }) =>
    by === null ? [] : (by === 'code' ? assets : symbols).map((partition) => ({ stream, partition })),
  )
}

function listSymbols(markets: ReadonlyMap<string, Market>, state: ConnectorState, nowMs: number): string[] {
  const { assets = [], lost = [], connectedAtMs = nowMs } = stateSchema.parse(state)
  const seen = new Set(assets)
  const gone = new Set(lost)
  const isNew = nowMs - connectedAtMs < newForMs
  const turn = Math.floor(nowMs / dayMs) % rotationDays
  return [...markets.values()]
    .filter(({ symbol, base, quote }) => {
      const isBoth = seen.has(base) && seen.has(quote)
      if (!isBoth && !seen.has(base) && !seen.has(quote)) return false
      // A delisted symbol is requested once per rotation, in case it is listed again.
      return (!gone.has(symbol) && (isBoth || isNew)) || turnOf(symbol) === turn
    })
    .map(({ symbol }) => symbol)
}

function turnOf(symbol: string): number {
  return createHash('sha256').update(symbol).digest().readUInt32BE() % rotationDays
}
