/** Reads a provider's whole answer. If its form is not the documented one, we have a bug or the format has changed. */
import { SourceError } from '@assay/core'
import type { z } from 'zod'

/** `what` names the call, such as `Ledgers`. The error quotes nothing from the answer. */
export function readAnswer<T>(what: string, schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  const paths = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'answer'}: ${message}`)
  throw new SourceError('unreadable_answer', `${what}: ${paths.slice(0, 3).join('; ')}`)
}
