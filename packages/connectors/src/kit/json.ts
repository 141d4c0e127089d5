/**
 * JSON without loss. JSON.parse turns 1154.629999999999999999 into a binary float before anybody can look, unless it
 * is quoted first, or a reviver takes it from the source text (which Node 24 hands to it).
 *
 * Two readings of the same text: `parseJson` for looking at (numbers become text), `parseJsonVerbatim` for keeping
 * (written out again, every number is the one that came in).
 */
import { SourceError } from '@assay/core'

// TypeScript's library does not know these two yet (6.0).
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown
const { parse, rawJSON, isRawJSON } = JSON as unknown as {
  parse: (this: void, text: string, reviver: Reviver) => unknown
  rawJSON: (this: void, text: string) => object
  isRawJSON: (this: void, value: unknown) => boolean
}

/** Numbers come out as text, digits as they were sent. Anything that is no JSON is the provider's failing. */
export function parseJson(text: string): unknown {
  // A reviver could do this as well, at three times the price: deriving a history again parses every record of it.
  return parseOrBlame(text, () => JSON.parse(text.replace(stringOrNumber, quoteNumber)))
}

// Outside of strings, nothing in JSON but a number has a digit. Strings are matched so that they are skipped.
const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

function quoteNumber(token: string): string {
  return token.startsWith('"') ? token : `"${token}"`
}

/** As `parseJson`, but `JSON.stringify` of any part of the result has the provider's own numbers again. */
export function parseJsonVerbatim(text: string): unknown {
  return parseOrBlame(text, () =>
    parse(text, (_key, value, { source }) =>
      typeof value === 'number' && source !== undefined ? rawJSON(source) : value,
    ),
  )
}

/** A part of a verbatim reading, to look at: numbers as text. */
export function withTextNumbers(verbatim: unknown): unknown {
  return parseJson(JSON.stringify(verbatim))
}

/** A number read verbatim is an object to everybody but this. */
export function isJsonObject(verbatim: unknown): verbatim is Record<string, unknown> {
  return typeof verbatim === 'object' && verbatim !== null && !Array.isArray(verbatim) && !isRawJSON(verbatim)
}

function parseOrBlame(text: string, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const kind = text.trimStart().startsWith('<') ? 'HTML' : 'truncated or malformed JSON'
    throw new SourceError('venue_down', `${kind} instead of JSON (${text.length} characters)`)
  }
}
