/** Waiting for a condition, with an end: tests do not sleep. */
import assert from 'node:assert/strict'

const pollMsDefault = 15

/** The first value that is there. */
export async function until<T>(
  what: string,
  find: () => Promise<T | undefined> | T | undefined,
  timeoutMs = 20_000,
  pollMs = pollMsDefault,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    assert.ok(performance.now() < deadline, `${what}: not within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
