/**
 * Background jobs make room for people. A background job may take twenty seconds. A person who adds a key or presses
 * "refresh" would wait that long when every slot of every worker is taken, or when the background is using the same
 * key. So each worker looks for interactive jobs that cannot begin, and asks one of its own background jobs to end
 * early: its signal is aborted, it finishes the current page, queues the rest and returns.
 */
import type { Database } from '../db/index.ts'
import { listInteractive } from './queue-store.ts'

interface RunningJob {
  /** Null when it runs outside every lane. */
  laneId: number | null
  startedAtMs: number
  stop: AbortController
}

export interface Room {
  /** The signal of a job that can be asked to end early. */
  enter(jobId: string, laneId: number | null): AbortSignal
  leave(jobId: string): void
  /**
   * Checks the queue once. `isFull` says that this worker has no free slot; it takes no job that has one of the flags.
   */
  look(isFull: boolean, flags: readonly string[]): Promise<void>
}

/** More than the slots of a worker; the next check sees the rest. */
const looksAtMax = 50

export function createRoom(db: Database): Room {
  const running = new Map<string, RunningJob>()

  function ask(job: RunningJob | undefined): void {
    job?.stop.abort()
  }
  const inLane = (laneId: number): RunningJob | undefined => [...running.values()].find((job) => job.laneId === laneId)
  /** The job that has held its slot longest, among those not asked yet. */
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

    async look(isFull, flags) {
      if (running.size === 0) return
      const waiting = await listInteractive(db, looksAtMax, flags)
      // One slot for each of them, counting the slots that are about to become free.
      let places = [...running.values()].filter(({ stop }) => stop.signal.aborted).length
      for (const { laneId, blocked } of waiting) {
        if (blocked && laneId !== null) ask(inLane(laneId))
        else if (isFull && places > 0) places -= 1
        else if (isFull) ask(longest())
      }
    },
  }
}
