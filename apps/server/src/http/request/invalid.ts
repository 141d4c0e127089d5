/** Turns zod's issues into a refusal in the words of the contract: what is wrong, where, and what would be right. */
import { Refusal, type ErrorItem } from '@assay/core'
import type { z } from 'zod'

const itemsMax = 20
const shownMax = 60

/** Parses or refuses. `shown` gives the text to quote; never for bodies, which carry credentials. */
export function parseOrRefuse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  shown: (parameter: string) => string | undefined = () => undefined,
): z.output<Schema> {
  const result = schema.safeParse(value, { error: toRule })
  if (result.success) return result.data
  throw refuse(withoutConsequences(result.error.issues).flatMap((issue) => toItems(issue, shown)))
}

/** zod also checks the length of a text where a list was due, and then speaks of characters. */
function withoutConsequences(issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  const mistyped = new Set(issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => JSON.stringify(path)))
  return issues.filter(
    ({ code, path }) => !['too_big', 'too_small'].includes(code) || !mistyped.has(JSON.stringify(path)),
  )
}

export function refuse(items: readonly ErrorItem[]): Refusal {
  const [first] = items
  const rule = first?.message.replace(/, got (?:"(?:[^"\\]|\\.)*"|[\d.-]+)$/, '') ?? 'is malformed'
  return new Refusal('invalid_request', `${first?.parameter ?? 'the body'} ${rule}`, {
    items: items.slice(0, itemsMax),
  })
}

export function unknownParameter(name: string, known: Iterable<string> = []): ErrorItem {
  const taken = [...known].join(', ')
  const message = `is not a parameter of this call${taken === '' ? '' : `, which takes ${taken}`}`
  return { cause: 'unknown_parameter', parameter: cut(name), message }
}

export function wrongParameter(parameter: string, rule: string, given?: string): ErrorItem {
  const message = given === undefined ? rule : `${rule}, got ${quote(given)}`
  return { cause: 'invalid_parameter', parameter: cut(parameter), message }
}

/** A number is shown without quotation marks: it has no blanks that they would have to show. */
function quote(given: string): string {
  const text = cut(given)
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? text : JSON.stringify(text)
}

function toItems(issue: z.core.$ZodIssue, shown: (parameter: string) => string | undefined): ErrorItem[] {
  // The value matches none of several shapes: the nearest one shows what is missing.
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const [nearest = []] = issue.errors.toSorted((a, b) => a.length - b.length)
    return withoutConsequences(nearest).flatMap((inner) =>
      toItems({ ...inner, path: [...issue.path, ...inner.path] }, shown),
    )
  }
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => unknownParameter([...issue.path, key].join('.')))
  }
  const name = issue.path.join('.')
  if (name === '') return [{ cause: 'bad_request', message: issue.message }]
  return [wrongParameter(name, issue.message, shown(name))]
}

/** Completes "display_label …". Schemas with their own messages (custom issues) never get here. */
function toRule(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined && issue.code !== 'unrecognized_keys') return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${words[issue.expected] ?? `of type ${issue.expected}`}`
    case 'too_small':
      return issue.minimum === 1 && isSized(issue.origin) ? 'must not be empty' : `must be at least ${issue.minimum}`
    case 'too_big':
      if (issue.origin === 'string') return `must have at most ${issue.maximum} characters`
      return issue.origin === 'array'
        ? `must have at most ${issue.maximum} entries`
        : `must be at most ${issue.maximum}`
    case 'invalid_value':
      return `must be ${issue.values.map(String).join(' or ')}`
    case 'invalid_union':
      return `must be ${Array.isArray(issue['options']) ? issue['options'].map(String).join(' or ') : 'of another type'}`
    default:
      return 'is malformed'
  }
}

function isSized(origin: string): boolean {
  return origin === 'string' || origin === 'array'
}

const words: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

function cut(text: string): string {
  return text.length <= shownMax ? text : `${text.slice(0, shownMax).toWellFormed()}…`
}
