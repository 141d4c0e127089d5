/**
 * JSON for ccxt's parsers without losing a digit. Numbers that JavaScript writes as they were sent stay numbers, because
 * ccxt compares codes such as `0` with them; every other number is handed over as its text, which ccxt's parsers take as
 * well. What was sent is remembered, so that a record is kept as the exchange wrote it.
 */
import { SourceError } from '@assay/core'

// TypeScript's library does not know these two yet (6.0).
type Reviver = (this: object, key: string, value: unknown, context: { source?: string }) => unknown
const { parse, rawJSON } = JSON as unknown as {
  parse: (this: void, text: string, reviver: Reviver) => unknown
  rawJSON: (this: void, text: string) => object
}

export interface DigitReader {
  /** Text that is not JSON is a SourceError. */
  parse(text: string): unknown
  /** JSON of anything that contains parts of a parsed answer: those are written with the numbers that came in. */
  write(value: unknown): string
}

export function createDigitReader(): DigitReader {
  // The numbers that became text, by the object or array that they are in. ccxt hands the exchange's objects on as `info`.
  const sources = new WeakMap<object, Map<string, string>>()
  return {
    parse(text) {
      try {
        return parse(text, function (key, value, { source }) {
          if (typeof value !== 'number' || source === undefined || String(value) === source) return value
          const known = sources.get(this) ?? new Map<string, string>()
          sources.set(this, known.set(key, source))
          return source
        })
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        const size = `${text.length} characters`
        // A page for browsers comes from a gateway that stands in for an API that is down or being maintained.
        if (text.trimStart().startsWith('<')) throw new SourceError('venue_down', `HTML instead of JSON (${size})`)
        throw new SourceError('unreadable_answer', `truncated or malformed JSON (${size})`)
      }
    },
    write: (value) =>
      JSON.stringify(value, function (this: object, key: string, member: unknown) {
        const source = typeof member === 'string' ? sources.get(this)?.get(key) : undefined
        return source === member && source !== undefined ? rawJSON(source) : member
      }),
  }
}
