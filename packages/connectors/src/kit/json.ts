/**
 * Parses a provider's JSON without loss and checks it against a schema. JSON.parse turns 1154.629999999999999999 into a
 * binary float, so every number is quoted first. A reviver could take it from the source text (Node 24 passes it), but
 * takes five times as long.
 *
 * There are two ways to read a text: `parseJson` to inspect it (numbers become text), and `parseJsonVerbatim` to store
 * it (every number is written out again as it came in).
 */
import { NoAnswer, SourceError } from '@assay/core'
import { randomUUID } from 'node:crypto'
import type { z } from 'zod'

// TypeScript's library does not know these yet (6.0).
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON: (this: void, text: string) => object
  isRawJSON: (this: void, value: unknown) => boolean
}

/** Numbers come out as text, with the digits that were sent. Text that is not JSON is a SourceError. */
export function parseJson(text: string): unknown {
  return parseOrBlame(text, () => JSON.parse(quoteNumbers(text, '')))
}

// Outside of strings, only numbers in JSON have digits.
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/**
 * Puts every number in quotes, behind a tag. Jumps from one string to the next with `indexOf`: the text between them is
 * mostly a comma or a colon.
 */
function quoteNumbers(text: string, tag: string): string {
  let quoted = ''
  let copiedTo = 0
  for (let at = 0; at < text.length;) {
    const next = text.indexOf('"', at)
    const end = next === -1 ? text.length : next
    // One character between two strings is a comma or a colon.
    if (end - at > 1 || next === -1) {
      for (let place = at; place < end; place += 1) {
        const code = text.charCodeAt(place)
        if (code !== minus && (code < zero || code > nine)) continue
        number.lastIndex = place
        const [found] = number.exec(text) ?? []
        if (found === undefined) continue
        quoted += `${text.slice(copiedTo, place)}"${tag}${found}"`
        copiedTo = place + found.length
        place = copiedTo - 1
      }
    }
    at = next === -1 ? end : endOfString(text, next)
  }
  return quoted + text.slice(copiedTo)
}

const [minus, zero, nine, backslash] = [45, 48, 57, 92]

/** The place after the string that begins at `start`; the end of the text when it does not end. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === backslash) first -= 1
    // An even number of backslashes are escaped themselves.
    if ((end - first) % 2 === 0) return end + 1
  }
  return text.length
}

/** Tells a quoted number from a string. It is random, so that no provider can write it. */
const numberTag = `#${randomUUID()}#`

/** Like `parseJson`, but `JSON.stringify` of any part of the result writes the provider's own numbers again. */
export function parseJsonVerbatim(text: string): unknown {
  return parseOrBlame(text, () => toVerbatim(JSON.parse(quoteNumbers(text, numberTag))))
}

/** Changes the tagged numbers in place. */
function toVerbatim(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(numberTag) ? rawJSON(value.slice(numberTag.length)) : value
  if (typeof value !== 'object' || value === null) return value
  const members = value as Record<string, unknown>
  for (const key of Object.keys(members)) {
    const member = members[key]
    const verbatim = toVerbatim(member)
    if (verbatim !== member) members[key] = verbatim
  }
  return value
}

/** A part of a verbatim reading for inspection, with numbers as text. */
export function withTextNumbers(verbatim: unknown): unknown {
  return parseJson(JSON.stringify(verbatim))
}

/** Only real objects: a number read verbatim is an object to `typeof`, too. */
export function isJsonObject(verbatim: unknown): verbatim is Record<string, unknown> {
  return typeof verbatim === 'object' && verbatim !== null && !Array.isArray(verbatim) && !isRawJSON(verbatim)
}

/** Keeps ordinary numbers, for answers that have no amounts. */
export function parsePlainJson(text: string): unknown {
  return parseOrBlame(text, () => JSON.parse(text) as unknown)
}

/** For the body of an error, which need not be JSON. */
export function findPlainJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A page for browsers comes from a gateway that stands in for an API that is down or being maintained. */
export function isPage(text: string): boolean {
  return text.trimStart().startsWith('<')
}

function parseOrBlame(text: string, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    // V8 reads nested lists with its stack. Without this, an answer of a provider would look like a bug of ours.
    if (error instanceof RangeError) throw new SourceError('unreadable_answer', 'JSON that is nested too deeply')
    if (!(error instanceof SyntaxError)) throw error
    const size = `${text.length} characters`
    if (isPage(text)) throw new NoAnswer(`HTML instead of JSON (${size})`)
    throw new SourceError('unreadable_answer', `truncated or malformed JSON (${size})`)
  }
}

/**
 * Checks a whole answer against its documented form. If it does not match, we have a bug or the provider changed the
 * format. `what` names the call, such as `Ledgers`. The error quotes nothing from the answer.
 */
export function readAnswer<T>(what: string, schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  const paths = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'answer'}: ${message}`)
  throw new SourceError('unreadable_answer', `${what}: ${paths.slice(0, 3).join('; ')}`)
}
