/**
 * Where prices come from: CoinGecko, through a budget that the whole fleet shares. Every request takes from it first;
 * when the source reports a rate limit, no process calls it again before the time it named.
 */
import {
  fetchCurrentPrices,
  fetchDailyPrices,
  fetchDailyRates,
  type CurrentPrices,
  type DailyAnswer,
  type DailyPrice,
  type PriceIo,
  type PriceKey,
} from '@assay/connectors'
import { SourceError, type Asset } from '@assay/core'

/** Coins by the source's own ids, currencies by their lower-case codes. All prices are US dollars for one. */
export interface PriceSource {
  name: string
  /** Entries without a price are left out. */
  fetchCurrent(coins: readonly string[], currencies: readonly string[]): Promise<CurrentPrices>
  fetchDaily(coin: string, fromMs: number, toMs: number): Promise<DailyAnswer<readonly DailyPrice[]>>
  fetchDailyRates(
    currencies: readonly string[],
    fromMs: number,
    toMs: number,
  ): Promise<DailyAnswer<ReadonlyMap<string, readonly DailyPrice[]>>>
}

export interface SourceBudget {
  /**
   * For one request. Throws a SourceError, rate_limited, when the wait is too long. Requests that a person waits for go
   * first.
   */
  take(who: { interactive: boolean }): Promise<void>
  recordLimitError(forMs: number): Promise<void>
}

export interface CoinGeckoDeps {
  fetch: typeof globalThis.fetch
  now(): number
  baseUrl: string | undefined
  /** The operator's own plan, if there is one. */
  priceKey?: PriceKey | undefined
  budget: SourceBudget
  /** How long to wait instead of `ms`: shorter in sandbox mode. */
  scaleWait(this: void, ms: number): number
}

/** Holdings wait for their prices, so a source that hangs must not delay them for long. */
const answerWithinMs = 8_000
/** Used when the source reports a rate limit without a duration: its limits are counted by the minute. */
const restMs = 60_000

export function createCoinGecko(deps: CoinGeckoDeps): PriceSource {
  async function metered<T>(who: { interactive: boolean }, ask: (io: PriceIo) => Promise<T>): Promise<T> {
    let refused = false
    const fetchOne: typeof globalThis.fetch = async (input, init) => {
      await deps.budget.take(who)
      const signals = [AbortSignal.timeout(answerWithinMs), init?.signal ?? undefined].filter(
        (one) => one !== undefined,
      )
      const response = await deps.fetch(input, { ...init, signal: AbortSignal.any(signals) })
      refused ||= response.status === 429
      return response
    }
    try {
      return await ask({ fetch: fetchOne, now: deps.now, baseUrl: deps.baseUrl, priceKey: deps.priceKey })
    } catch (error) {
      // Our own budget throws the same fault; only a refusal by the source empties it for the whole fleet.
      if (refused && error instanceof SourceError && error.fault === 'rate_limited') {
        await deps.budget.recordLimitError(error.retryAfterMs ?? deps.scaleWait(restMs))
      }
      throw error
    }
  }

  const [soon, later] = [{ interactive: true }, { interactive: false }]
  return {
    name: 'coingecko',
    fetchCurrent: (coins, currencies) => metered(soon, (io) => fetchCurrentPrices(io, coins, currencies)),
    fetchDaily: (coin, fromMs, toMs) => metered(later, (io) => fetchDailyPrices(io, coin, fromMs, toMs)),
    fetchDailyRates: (currencies, fromMs, toMs) =>
      metered(later, (io) => fetchDailyRates(io, currencies, fromMs, toMs)),
  }
}

/** The source's name for the asset; undefined when it has none, or for the dollar, which is one by definition. */
export function findQuote(asset: Asset): { coin: string } | { currency: string } | undefined {
  if (asset.kind === 'fiat') return asset.symbol === 'USD' ? undefined : { currency: asset.symbol.toLowerCase() }
  return asset.coingeckoId === null ? undefined : { coin: asset.coingeckoId }
}
