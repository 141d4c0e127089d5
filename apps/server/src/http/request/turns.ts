/**
 * How many requests of one caller are worked on at once; the others of that caller wait. The connections to the
 * database are few and shared by all callers. Without turns, one caller whose requests are slow, or wait for each
 * other's locks, holds all of them, and every other caller is refused.
 */
import { Refusal } from '@assay/core'

export interface Turns {
  /** Runs `work` when it is its caller's turn. Refuses when too many requests of the caller wait already. */
  take<T>(caller: string, work: () => Promise<T>): Promise<T>
}

/** Runs `work` when it is the turn of one caller. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

interface TurnsOptions {
  atOnceMax: number
  waitingMax: number
}

interface Caller {
  running: number
  waiting: (() => void)[]
}

export function createTurns({ atOnceMax, waitingMax }: TurnsOptions): Turns {
  const callers = new Map<string, Caller>()

  return {
    async take(name, work) {
      const caller = callers.get(name) ?? { running: 0, waiting: [] }
      callers.set(name, caller)
      if (caller.running < atOnceMax) caller.running += 1
      else await wait(caller, waitingMax)
      try {
        return await work()
      } finally {
        const next = caller.waiting.shift()
        if (next === undefined) caller.running -= 1
        // The place is handed on.
        else next()
        if (caller.running === 0) callers.delete(name)
      }
    },
  }
}

async function wait({ waiting }: Caller, waitingMax: number): Promise<void> {
  if (waiting.length >= waitingMax) {
    const message = `More than ${waitingMax} requests of this caller wait already.`
    throw new Refusal('rate_limited', message, { retryAfterSeconds: 1 })
  }
  await new Promise<void>((resolve) => waiting.push(resolve))
}
