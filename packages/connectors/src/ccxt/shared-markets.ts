/**
 * The lists of markets that a process keeps, one for each exchange. A list is several megabytes, hardly changes, and is
 * the same for all users. It is read before a key is tried, so anyone can have the lists of all exchanges read with
 * invented keys. All lists together have a limit, and those that were not used for the longest time go.
 */
import type { Exchange } from 'ccxt'

/** What has a list of markets; only their number counts here. */
type Listing = Partial<Pick<Exchange, 'markets'>>

export interface SharedMarkets<Lists extends Listing> {
  find(host: string): { source: Promise<Lists>; loadedAtMs: number } | undefined
  /** Where the list cannot be read, the one before it stays. */
  share(host: string, source: Promise<Lists>, loadedAtMs: number): Promise<Lists>
}

interface Kept<Lists> {
  source: Promise<Lists>
  loadedAtMs: number
  /** How many markets it has; until it is there, as many as the list before it. */
  size: number
}

export function createSharedMarkets<Lists extends Listing>(marketsMax: number): SharedMarkets<Lists> {
  /** Those that were used last come last. */
  const kept = new Map<string, Kept<Lists>>()

  function putLast(host: string, list: Kept<Lists>): void {
    kept.delete(host)
    kept.set(host, list)
  }

  /** The list that has just come stays, however long it is. */
  function dropOthers(host: string): void {
    let size = [...kept.values()].reduce((sum, list) => sum + list.size, 0)
    for (const [other, list] of kept) {
      if (size <= marketsMax) return
      if (other === host) continue
      kept.delete(other)
      size -= list.size
    }
  }

  return {
    find(host) {
      const found = kept.get(host)
      if (found !== undefined) putLast(host, found)
      return found
    },
    share(host, source, loadedAtMs) {
      const before = kept.get(host)
      const list = { source, loadedAtMs, size: before?.size ?? 0 }
      putLast(host, list)
      source.then(
        ({ markets = {} }) => {
          list.size = Object.keys(markets).length
          dropOthers(host)
        },
        () => {
          if (kept.get(host) !== list) return
          if (before === undefined) kept.delete(host)
          else kept.set(host, before)
        },
      )
      return source
    },
  }
}
