/** Reads responses: JSON with every digit of chosen numbers, and streams line by line. */
import { ConnectionError } from '../errors.ts'

/** What follows the name of a member whose value is a number. */
const numberValue = /(\s*:\s*)(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/y

/**
 * Numbers that are the value of one of these members become text; everything else is read as by JSON.parse. The service
 * writes quantities as JSON numbers with every digit, which JSON.parse would round to binary floats. The `source`
 * argument of a reviver would avoid that, but browsers of recent years lack it.
 */
export function parseExact(text: string, members: ReadonlySet<string>): unknown {
  let quoted = ''
  let copiedTo = 0
  for (let start = text.indexOf('"'); start !== -1;) {
    const end = endOfString(text, start)
    if (members.has(text.slice(start + 1, end - 1))) {
      numberValue.lastIndex = end
      const [found = '', between = '', number = ''] = numberValue.exec(text) ?? []
      if (found !== '') {
        quoted += `${text.slice(copiedTo, end)}${between}"${number}"`
        copiedTo = end + found.length
      }
    }
    start = text.indexOf('"', end)
  }
  return JSON.parse(quoted + text.slice(copiedTo)) as unknown
}

/**
 * The place after the string that begins at `start`; the end of the text when it does not end. A regular expression
 * would use up the stack on a long string.
 */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text[first - 1] === '\\') first -= 1
    // An even number of backslashes are escaped themselves.
    if ((end - first) % 2 === 0) return end + 1
  }
  return text.length
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
