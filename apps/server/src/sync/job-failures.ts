/** What jobs that read do about failures: how long they back off, and what becomes of unexpected errors. */
import { minuteMs, toBackoffMs } from '@assay/core'
import { isPassing } from '../db/index.ts'
import { ConnectionGone } from '../ledger/index.ts'

export function backoffMs(failures: number, random: number): number {
  return toBackoffMs(failures, { firstMs: 2_000, maxMs: 15 * minuteMs }, random)
}

/** How long a job that was overtaken waits before it looks again: longer than a page takes. */
export const overtakenDelayMs = 5_000

/** `breakDown` handles errors that neither the provider nor the owner can fix. */
export function guardReading<Payload>(
  run: (payload: Payload, signal: AbortSignal) => Promise<void>,
  breakDown: (payload: Payload, error: unknown) => Promise<void>,
): (payload: Payload, signal: AbortSignal) => Promise<void> {
  return async (payload, signal) => {
    try {
      await run(payload, signal)
    } catch (error) {
      // The connection was removed meanwhile, and nothing of the page was kept.
      if (error instanceof ConnectionGone) return
      // The queue tries again: without a database, nothing can be recorded.
      if (isPassing(error)) throw error
      await breakDown(payload, error)
    }
  }
}
