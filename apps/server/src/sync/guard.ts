/** What the jobs that read have in common: what becomes of unexpected errors, and of being overtaken. */
import { isPassing } from '../db/index.ts'
import { ConnectionGone } from '../ledger/index.ts'

/** How long a job that was overtaken stays away: longer than a page takes. */
export const overtakenDelayMs = 5_000

/** `breakDown`: neither the provider nor the owner can mend it. */
export function guardReading<Payload>(
  run: (payload: Payload, signal: AbortSignal) => Promise<void>,
  breakDown: (payload: Payload, error: unknown) => Promise<void>,
): (payload: Payload, signal: AbortSignal) => Promise<void> {
  return async (payload, signal) => {
    try {
      await run(payload, signal)
    } catch (error) {
      // Removed meanwhile: nothing was kept of the page, and there is nothing left to read for.
      if (error instanceof ConnectionGone) return
      // The queue tries again: without a database, nothing can be recorded.
      if (isPassing(error)) throw error
      await breakDown(payload, error)
    }
  }
}
