/** Reads responses: JSON with every digit of chosen numbers, and streams line by line. */
import { ConnectionError } from '../errors.ts'

const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/**
 * Numbers that are the value of one of these members become text; everything else is read as by JSON.parse. The service
 * writes quantities as JSON numbers with every digit, which JSON.parse would round to binary floats. The `source`
 * argument of a reviver would avoid that, but browsers of recent years lack it.
 */
export function parseExact(text: string, members: ReadonlySet<string>): unknown {
  let member = ''
  const quoted = text.replace(token, (found, offset: number) => {
    if (!found.startsWith('"')) return members.has(member) ? `"${found}"` : found
    // A text is a member's name when a colon follows; otherwise it is a value and ends the member before it.
    member = /^\s*:/.test(text.slice(offset + found.length, offset + found.length + 8)) ? found.slice(1, -1) : ''
    return found
  })
  return JSON.parse(quoted) as unknown
}

/**
 * Yields the lines of a stream as they arrive. A stream that ends in the middle of a line was cut off, which is an
 * error.
 */
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
