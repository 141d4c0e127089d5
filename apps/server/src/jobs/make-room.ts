/**
 * Background jobs make room for people. A job of the background may take twenty seconds; a person who adds a key or presses
 * "refresh" would wait that long when every place of every worker is taken, or when the background reads with the very
 * key. So a worker that runs such jobs looks for interactive ones that cannot begin, and asks one of its own to end
 * early: its signal is aborted, it finishes the page under way, queues the rest and returns.
 */
import type { Database } from '../db/index.ts'
import { listInteractive } from './queue-store.ts'

interface RunningJob {
  /** Null when it runs outside of any lane. */
  laneId: number | null
  startedAtMs: number
  stop: AbortController
}

export interface Room {
  /** The signal of a job that can be asked to end early. */
  enter(jobId: string, laneId: number | null): AbortSignal
  leave(jobId: string): void
  /** One look at the queue. `isFull`: no place of this worker is free. */
  look(isFull: boolean): Promise<void>
}

/** More than a worker has places; the rest is seen at the next look. */
const looksAtMax = 50

export function createRoom(db: Database): Room {
  const running = new Map<string, RunningJob>()

  function ask(job: RunningJob | undefined): void {
    job?.stop.abort()
  }
  const inLane = (laneId: number): RunningJob | undefined => [...running.values()].find((job) => job.laneId === laneId)
  /** The one that has had its place for longest, of those not asked yet. */
  const longest = (): RunningJob | undefined =>
    [...running.values()]
      .filter(({ stop }) => !stop.signal.aborted)
      .toSorted((a, b) => a.startedAtMs - b.startedAtMs)[0]

  return {
    enter(jobId, laneId) {
      const stop = new AbortController()
      running.set(jobId, { laneId, startedAtMs: performance.now(), stop })
      return stop.signal
    },
    leave: (jobId) => void running.delete(jobId),

    async look(isFull) {
      if (running.size === 0) return
      const waiting = await listInteractive(db, looksAtMax)
      // One place for each of them, counting those already on their way to be free.
      let places = [...running.values()].filter(({ stop }) => stop.signal.aborted).length
      for (const { laneId, blocked } of waiting) {
        if (blocked && laneId !== null) ask(inLane(laneId))
        else if (isFull && places > 0) places -= 1
        else if (isFull) ask(longest())
      }
    },
  }
}
