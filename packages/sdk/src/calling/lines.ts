/** Lines of a stream as they arrive. A stream that ends in the middle of a line was cut off, which is an error. */
import { ConnectionError } from '../errors.ts'

export async function* readLines(
  stream: ReadableStream<Uint8Array>,
  { signal }: { signal?: AbortSignal | undefined },
): AsyncGenerator<string, void, undefined> {
  // Not all browsers can iterate over a stream.
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        signal?.throwIfAborted()
        throw new ConnectionError('the answer was cut off', undefined, error)
      })
      if (done) break
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = parts.pop() ?? ''
      yield* parts
    }
    if (rest !== '') throw new ConnectionError('the answer was cut off', undefined)
  } finally {
    // When the reader stops early, the service stops sending.
    await reader.cancel().catch(() => undefined)
  }
}
