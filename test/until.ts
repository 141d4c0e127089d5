/** Waiting for a condition, with an end: tests do not sleep. */
import assert from 'node:assert/strict'

/**
 * The timeout exists for tests that can never pass. One that passes does not come near it, even where four others share
 * the processor: how soon something happens is asserted by the service's own clock or by the order of events, not here.
 */
export const patienceMs = 600_000
const pollMsDefault = 15

/** Resolves to the first defined value. */
export async function until<T>(
  what: string,
  find: () => Promise<T | undefined> | T | undefined,
  pollMs = pollMsDefault,
): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    assert.ok(performance.now() < deadline, `${what}: not within ${patienceMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
