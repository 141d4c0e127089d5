/**
 * Markets that an exchange no longer lists. ccxt reads a trade with the list of markets of the moment; a trade of any
 * other market has no base, no quote and often no currency of its fee. Exchanges delist pairs every week, and the
 * trades of the last days are read again: they must not lose their amounts then. So a process remembers the markets of
 * earlier lists, an account's state those of its trades, and ccxt is given the ones that the list lacks.
 *
 * This is for lists of trades over all pairs. Where each pair has its own list, only listed pairs are read.
 */
import type { Exchange } from 'ccxt'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { ConnectorState } from '../kit/connector.ts'
import type { ExchangeFacts } from './catalogue/facts.ts'
import type { Row } from './answers.ts'

/** The members of a coin market that ccxt's parsers of trades use. Those that are false or unknown are left out. */
const memberNames = ['id', 'symbol', 'base', 'quote', 'baseId', 'quoteId', 'type', 'spot']
const marketSchema = z.object({ id: z.string(), symbol: z.string() }).catchall(z.union([z.string(), z.literal(true)]))

/** A market in ccxt's words. */
export type KnownMarket = z.infer<typeof marketSchema>

const stateSchema = z.object({ markets: z.array(marketSchema).optional() })

/** The state has a size limit. This is room for more than a thousand markets. */
const lengthMax = 200_000
/** An exchange delists some hundred markets a year, and ccxt makes some kilobytes of each. */
const unlistedMax = 5_000

export function isOverAllPairs({ lists }: ExchangeFacts): boolean {
  return lists.some(({ stream, by }) => stream === 'trades' && by === null)
}

/** Undefined for a market without a name or an id. */
export function findKnownMarket(market: Row): KnownMarket | undefined {
  const members = memberNames.flatMap((name) => {
    const value = market[name]
    return value === true || typeof value === 'string' ? [[name, value]] : []
  })
  return marketSchema.safeParse(Object.fromEntries(members)).data
}

export function listKnownMarkets(state: ConnectorState): readonly KnownMarket[] {
  return stateSchema.parse(state).markets ?? []
}

/** Returns the state with these markets, or undefined when it has them all or has no room for them. */
export function withMarkets(state: ConnectorState, markets: readonly KnownMarket[]): ConnectorState | undefined {
  const bySymbol = new Map(listKnownMarkets(state).map((market) => [market.symbol, market]))
  const added = markets.filter((market) => !isDeepStrictEqual(market, bySymbol.get(market.symbol)))
  for (const market of added) bySymbol.set(market.symbol, market)
  const all = [...bySymbol.values()]
  return added.length === 0 || JSON.stringify(all).length > lengthMax ? undefined : { ...state, markets: all }
}

/** Adds those markets to the exchange object that it does not list. */
export function addUnlisted(exchange: Exchange, markets: readonly Row[]): void {
  const { markets: bySymbol = {}, markets_by_id: byId = {} } = exchange
  // At some exchanges (XT) a coin pair and a contract share an id.
  const listWithId = (id: unknown): readonly Row[] => (Object.hasOwn(byId, String(id)) ? byId[String(id)] : []) as Row[]
  const isListed = ({ id, symbol, type }: Row): boolean =>
    Object.hasOwn(bySymbol, String(symbol)) || listWithId(id).some((market) => market['type'] === type)
  const unlisted = markets.filter((market) => !isListed(market)).slice(0, unlistedMax)
  if (unlisted.length === 0) return
  const added = unlisted.map((market) => exchange.safeMarketStructure(market) as unknown as Row)
  // All exchange objects share these tables, so this one gets its own.
  exchange.markets = { ...bySymbol, ...Object.fromEntries(added.map((market) => [String(market['symbol']), market])) }
  const withId = Map.groupBy(added, ({ id }) => String(id))
  const joined = [...withId].map(([id, ofId]): [string, Row[]] => [id, [...listWithId(id), ...ofId]])
  exchange.markets_by_id = { ...byId, ...Object.fromEntries(joined) }
}
