/**
 * How many requests of one line are worked on at once; the others of that line wait. The connections to the database are
 * few and shared by all callers. Without turns, one caller whose requests are slow, or wait for each other's locks, holds
 * all of them, and every other caller is refused.
 *
 * Several may send requests into one line: the applications of a user, the users of a tenant. Those who wait are taken
 * from each of them in turn, so a request waits behind one request of each other sender, however many they have.
 */
import { Refusal } from '@assay/core'

export interface Turns {
  /** Runs `work` when it is its turn in this line. Refuses when too many requests wait there already. */
  take<T>(line: string, work: () => Promise<T>, from?: string): Promise<T>
}

/** Runs `work` when it is the turn of one caller. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

export interface TurnsOptions {
  atOnceMax: number
  /** In one line. */
  waitingMax: number
  /** Of these, from the same sender. */
  waitingOfEachMax?: number
}

interface Line {
  running: number
  waitingCount: number
  /** By who sends them. The first is the next to have a turn. */
  waiting: Map<string, (() => void)[]>
}

export function createTurns({ atOnceMax, waitingMax, waitingOfEachMax = waitingMax }: TurnsOptions): Turns {
  const lines = new Map<string, Line>()

  async function wait(line: Line, from: string): Promise<void> {
    const ofThis = line.waiting.get(from) ?? []
    if (line.waitingCount >= waitingMax) throw refuse(waitingMax)
    if (ofThis.length >= waitingOfEachMax) throw refuse(waitingOfEachMax)
    line.waiting.set(from, ofThis)
    line.waitingCount += 1
    await new Promise<void>((resolve) => ofThis.push(resolve))
  }

  return {
    async take(name, work, from = '') {
      const line = lines.get(name) ?? { running: 0, waitingCount: 0, waiting: new Map() }
      lines.set(name, line)
      if (line.running < atOnceMax) line.running += 1
      else await wait(line, from)
      try {
        return await work()
      } finally {
        const next = takeNext(line)
        if (next === undefined) line.running -= 1
        // The place is handed on.
        else next()
        if (line.running === 0) lines.delete(name)
      }
    },
  }
}

function takeNext(line: Line): (() => void) | undefined {
  const [first] = line.waiting
  if (first === undefined) return undefined
  const [from, ofThis] = first
  const next = ofThis.shift()
  line.waitingCount -= 1
  // To the end, behind the others.
  line.waiting.delete(from)
  if (ofThis.length > 0) line.waiting.set(from, ofThis)
  return next
}

function refuse(waitingMax: number): Refusal {
  const message = `More than ${waitingMax} requests of this caller wait already.`
  return new Refusal('rate_limited', message, { retryAfterSeconds: 1 })
}
