/** What the jobs that read have in common: what their payloads name, and what becomes of errors nobody foresaw. */
import { z } from 'zod'
import type { ConnectionRef } from '../connections/index.ts'
import { isPassing } from '../db/index.ts'
import type { Task } from '../jobs/index.ts'
import { ConnectionGone } from '../ledger/index.ts'

export const readingPayload = z.object({
  tenant_id: z.string(),
  user_id: z.string(),
  connection_id: z.string(),
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
    const ref = { tenantId: payload.tenant_id, userId: payload.user_id, connectionId: payload.connection_id }
    try {
      await run(ref, payload, signal)
    } catch (error) {
      // Removed meanwhile: nothing was kept of the page, and there is nothing left to read for.
      if (error instanceof ConnectionGone) return
      // The queue tries again, and there is no database to tell anybody by.
      if (isPassing(error)) throw error
      await breakDown(ref, payload, error)
    }
  }
}
