/**
 * Counts per key within a window that begins with the key's first request. The map holds a fixed number of keys: when
 * it is full, the oldest key is dropped. A flood of addresses therefore costs a bounded amount of memory, and can only
 * loosen the limit of another caller.
 */
export interface Window {
  /** Counts one request and returns the new state. */
  add(key: string): WindowState
  /** Returns the state without counting. */
  get(key: string): WindowState
  /** How long ago the last request of this window was. */
  quietMs(key: string): number
  size(): number
}

interface WindowState {
  count: number
  resetMs: number
}

interface Entry {
  count: number
  endsAt: number
  lastAt: number
}

export function createWindow(options: { windowMs: number; keysMax: number; now: () => number }): Window {
  const { windowMs, keysMax, now } = options
  const entries = new Map<string, Entry>()

  // One that ends much later than a new one would was begun before the clock was set back, and could last for hours. The
  // processes that share a port are some milliseconds apart.
  const isOpen = ({ endsAt }: Entry, at: number): boolean => endsAt > at && endsAt < at + 2 * windowMs
  const findOpen = (key: string, at: number): Entry | undefined => {
    const found = entries.get(key)
    return found !== undefined && isOpen(found, at) ? found : undefined
  }

  // All windows are equally long, so the order of insertion is the order in which they end.
  const dropEnded = (at: number): void => {
    for (const [key, entry] of entries) {
      if (isOpen(entry, at) && entries.size < keysMax) return
      entries.delete(key)
    }
  }

  return {
    add(key) {
      const at = now()
      const found = findOpen(key, at)
      if (found !== undefined) {
        found.count += 1
        found.lastAt = at
        return { count: found.count, resetMs: found.endsAt - at }
      }
      entries.delete(key)
      dropEnded(at)
      entries.set(key, { count: 1, endsAt: at + windowMs, lastAt: at })
      return { count: 1, resetMs: windowMs }
    },
    get(key) {
      const at = now()
      const found = findOpen(key, at)
      if (found === undefined) return { count: 0, resetMs: windowMs }
      return { count: found.count, resetMs: found.endsAt - at }
    },
    quietMs(key) {
      const at = now()
      const found = findOpen(key, at)
      return found === undefined ? Infinity : Math.max(at - found.lastAt, 0)
    },
    size: () => entries.size,
  }
}
