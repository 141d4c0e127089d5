/**
 * Background jobs make room for people. A background job may take twenty seconds. A person who adds a key or presses
 * "refresh" would wait that long when every slot of every worker is taken, or when the background is using the same
 * key. So each worker looks for interactive jobs that cannot begin, and asks one of its own background jobs to end
 * early: its signal is aborted, it finishes the current page, queues the rest and returns. Where the share of a user is
 * used up, one of that user's own jobs is asked.
 */
import type { Database } from '../db/index.ts'
import { listInteractive } from './queue-store.ts'
import { isOfUser } from './shares.ts'

interface RunningJob {
  /** Null when it runs outside every lane. */
  laneId: number | null
  flags: readonly string[]
  isInteractive: boolean
  startedAtMs: number
  stop: AbortController
}

export interface Room {
  /** The signal of a job that can be asked to end early. */
  enter(jobId: string, job: Pick<RunningJob, 'laneId' | 'flags' | 'isInteractive'>): AbortSignal
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
  /**
   * Finds places: those that are about to become free first, then that of the job that has held its own longest, the
   * background before what people wait for.
   */
  function startAsking(isCounted: (job: RunningJob) => boolean): () => void {
    const counted = [...running.values()]
      .filter(isCounted)
      .toSorted((a, b) => Number(a.isInteractive) - Number(b.isInteractive) || a.startedAtMs - b.startedAtMs)
    let places = counted.filter(({ stop }) => stop.signal.aborted).length
    return () => {
      if (places > 0) places -= 1
      else ask(counted.find(({ stop }) => !stop.signal.aborted))
    }
  }

  return {
    enter(jobId, job) {
      const stop = new AbortController()
      running.set(jobId, { ...job, startedAtMs: performance.now(), stop })
      return stop.signal
    },
    leave: (jobId) => void running.delete(jobId),

    async look(isFull, flags) {
      if (running.size === 0) return
      const full = flags.filter(isOfUser)
      const waiting = await listInteractive(db, looksAtMax, {
        without: flags.filter((flag) => !full.includes(flag)),
        noting: full,
      })
      const askAny = startAsking(() => true)
      const askOf = new Map(
        full.map((flag) => [flag, startAsking((job) => job.flags.includes(flag) && !job.isInteractive)]),
      )
      for (const { laneId, blocked, noted } of waiting) {
        if (blocked && laneId !== null) ask(inLane(laneId))
        else if (noted !== null) askOf.get(noted)?.()
        else if (isFull) askAny()
      }
    },
  }
}
