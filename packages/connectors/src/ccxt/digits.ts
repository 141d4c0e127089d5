/**
 * Parses JSON for ccxt without losing a digit. A number that JavaScript would print exactly as it was sent stays a
 * number, because ccxt compares codes such as `0` with numbers. Every other number becomes text, which ccxt's parsers
 * accept too. We remember the original text, so that a record is stored as the exchange wrote it.
 */
import { SourceError } from '@assay/core'

// TypeScript's library does not know these two yet (6.0).
type Reviver = (this: object, key: string, value: unknown, context: { source?: string }) => unknown
const { parse, rawJSON } = JSON as unknown as {
  parse: (this: void, text: string, reviver: Reviver) => unknown
  rawJSON: (this: void, text: string) => object
}

export interface DigitReader {
  /** Throws a SourceError for text that is not JSON. */
  parse(text: string): unknown
  /** Writes a value that contains parts of a parsed answer. Those parts keep the numbers exactly as they were sent. */
  write(value: unknown): string
}

export function createDigitReader(): DigitReader {
  // The numbers that became text, by the object or array they are in. ccxt passes the exchange's objects on as `info`.
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
        // A gateway answers with an HTML page while the API behind it is down or in maintenance.
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
