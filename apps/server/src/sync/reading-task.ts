/** What the jobs that read have in common: what their payloads name, and what becomes of unexpected errors. */
import { z } from 'zod'
import { isPassing } from '../db/index.ts'
import { connectionPayload, toConnectionRef, type Task } from '../jobs/index.ts'
import { ConnectionGone } from '../ledger/index.ts'
import type { ConnectionRef } from '../owner.ts'

export const readingPayload = connectionPayload.extend({
  lane: z.string(),
  /** Epoch ms; absent at the beginning of a run. */
  until: z.string().regex(/^\d+$/).optional(),
  stage: z.enum(['recent', 'rest']).default('recent'),
})

export function toReadingTask<Payload extends z.infer<typeof readingPayload>>(
  schema: z.ZodType<Payload>,
  run: (ref: ConnectionRef, payload: Payload, signal: AbortSignal) => Promise<void>,
  /** Neither the provider nor the owner can mend it. */
  breakDown: (ref: ConnectionRef, payload: Payload, error: unknown) => Promise<void>,
): Task {
  return async (given, signal) => {
    const payload = schema.parse(given)
    const ref = toConnectionRef(payload)
    try {
      await run(ref, payload, signal)
    } catch (error) {
      // Removed meanwhile: nothing was kept of the page, and there is nothing left to read for.
      if (error instanceof ConnectionGone) return
      // The queue tries again: without a database, nothing can be recorded.
      if (isPassing(error)) throw error
      await breakDown(ref, payload, error)
    }
  }
}
