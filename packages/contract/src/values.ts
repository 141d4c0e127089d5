/**
 * The small values that requests and answers are made of. Requests are strict: text has a limit, is never empty and can
 * be stored. Query parameters arrive as text and leave as what they mean, in one canonical form, so that two ways to
 * write a filter are the same filter to a cursor.
 */
import { z } from 'zod'

/**
 * Ticker, id or label in a request. PostgreSQL stores neither NUL nor half a surrogate pair; the server refuses both.
 */
export function text(lengthMax: number): z.ZodString {
  return z.string().min(1).max(lengthMax)
}

// Ranges by number, because not every reader of the published pattern knows Unicode classes: control characters, the two
// separators of lines and paragraphs, and what changes the direction of the text after it.
const oneLine = /^[^\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]*$/

/** Text that people read on our pages, between words of ours: it cannot begin a new line or reorder those words. */
export function line(lengthMax: number): z.ZodString {
  return text(lengthMax).regex(oneLine, 'must be one line without control characters or changes of direction')
}

export const decimalText = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .meta({ description: 'Decimal text with every digit; never an exponent.', examples: ['0.01'] })

/** A JSON number written with every digit. Readers that parse into a binary float lose some; `exact` fields do not. */
export const exactNumber = z.number().meta({ description: 'Written with every digit, never an exponent.' })

export const iconUrl = z.string().meta({
  description: 'An SVG, relative to the base URL. It needs no token and may be cached.',
  examples: ['/icons/providers/kraken.svg'],
})

export const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: 'date-time', description: 'ISO 8601, UTC, milliseconds.', examples: ['2026-03-02T10:11:12.345Z'] })

interface ParameterSchema {
  type: 'string' | 'integer' | 'array'
  description: string
  [keyword: string]: unknown
}

/** A query parameter: `read` gives undefined for text that breaks the rule, and `rule` completes "limit …". */
export function parameter<T>(schema: ParameterSchema, rule: string, read: (text: string) => T | undefined) {
  return z
    .string()
    .transform((given, context): T => {
      const value = read(given)
      if (value !== undefined) return value
      context.issues.push({ code: 'custom', message: rule, input: given })
      return z.NEVER
    })
    .meta(schema)
}

export function oneOf<const T extends string>(values: readonly T[], description: string) {
  return parameter({ type: 'string', enum: values, description }, `must be one of ${values.join(', ')}`, (given) =>
    values.find((value) => value === given),
  )
}

const listItemsMax = 100

/** Comma-separated. Sorted and without repetitions: the order of a filter's values means nothing. */
export function list(description: string, values?: readonly string[]) {
  const among = values === undefined ? 'values' : `of ${values.join(', ')}`
  const rule = `must be 1 to ${listItemsMax} ${among}, separated by commas, none empty`
  const item = { type: 'string', ...(values === undefined ? { minLength: 1 } : { enum: values }) }
  const schema = { type: 'array', items: item, minItems: 1, maxItems: listItemsMax, description } as const
  return parameter(schema, rule, (given): string[] | undefined => {
    const items = [...new Set(given.split(','))].toSorted()
    const fits = items.every((item) => (values === undefined ? item !== '' : values.includes(item)))
    return fits && items.length <= listItemsMax ? items : undefined
  })
}

/** Whether a query parameter takes several values. */
export function isListParameter(schema: z.core.$ZodType): boolean {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return z.globalRegistry.get(inner)?.['type'] === 'array'
}

const isoTime = z.iso.datetime({ offset: true })

/** ISO 8601 allows variants: no seconds, a comma before their fraction, +0100 or +01. RFC 3339 allows either case. */
const isoShape = /^(.{10})T(\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:(Z)|([+-]\d\d)(?::?(\d\d))?)$/i

function toCommonForm(given: string): string | undefined {
  const [, date, minutes, seconds = '00', fraction, utc, hours, rest = '00'] = isoShape.exec(given) ?? []
  if (date === undefined || minutes === undefined) return undefined
  const zone = utc === undefined ? `${hours ?? ''}:${rest}` : 'Z'
  return `${date}T${minutes}:${seconds}${fraction === undefined ? '' : `.${fraction}`}${zone}`
}

/** In UTC, with the milliseconds and every digit after them that is not a closing zero. */
function readExactTime(given: string): string | undefined {
  const common = given.length > 40 ? undefined : toCommonForm(given)
  if (common === undefined || !isoTime.safeParse(common).success) return undefined
  const [, whole = common, finer = ''] = /^(.*\.\d{3})(\d*)/.exec(common) ?? []
  const zone = /(Z|[+-]\d\d:\d\d)$/.exec(common)?.[0] ?? 'Z'
  const cut = toTime(Date.parse(finer === '' ? common : `${whole}${zone}`))
  return cut?.replace('Z', `${finer.replace(/0+$/, '')}Z`)
}

/**
 * Rounds up to the millisecond. Rows have whole milliseconds, and for those `t >= 12.3451 s` and `t < 12.3451 s` are
 * exactly `t >= 12.346 s` and `t < 12.346 s`; cutting would move rows across the edge.
 */
function roundUp(exact: string): string | undefined {
  const [, cut = exact, finer] = /^(.*\.\d{3})(\d*)Z$/.exec(exact) ?? []
  return finer === '' ? exact : toTime(Date.parse(`${cut}Z`) + 1)
}

function readIsoTime(given: string): string | undefined {
  const exact = readExactTime(given)
  return exact === undefined ? undefined : roundUp(exact)
}

/** Date.UTC is not used, because it takes the year 1 for 1901. */
const yearOneMs = Date.parse('0001-01-01T00:00:00Z')

function toTime(ms: number): string | undefined {
  // Outside these years toISOString writes a sign and six digits, which PostgreSQL does not read.
  const fits = ms >= yearOneMs && ms < Date.UTC(10_000, 0)
  return fits ? new Date(ms).toISOString() : undefined
}

const isoRule = 'must be ISO 8601 with Z or an offset, a plus sign written %2B (2026-03-02T10:11:12.345Z)'

export function isoTimeParameter(description: string) {
  return parameter({ type: 'string', format: 'date-time', description }, isoRule, readIsoTime)
}

/** One end of a range: exact until `readRange` has compared it with the other end. */
export function rangeTimeParameter(description: string) {
  return parameter({ type: 'string', format: 'date-time', description }, isoRule, readExactTime)
}

/** v1 also takes Unix epoch milliseconds. */
export function anyRangeTimeParameter(description: string) {
  return parameter({ type: 'string', description }, `${isoRule}, or Unix epoch milliseconds`, (given) =>
    // A count of milliseconds is not money.
    /^\d{1,15}$/.test(given) ? toTime(Number(given)) : readExactTime(given),
  )
}

/**
 * `start_time` is included, `end_time` is not; an empty or backward range is a mistake and not an empty answer. The ends
 * are compared as they were given, and rounded afterwards: a range inside one millisecond is none of these mistakes.
 */
export function readRange(context: {
  value: { start_time?: string | undefined; end_time?: string | undefined }
  issues: z.core.$ZodRawIssue[]
}): void {
  const { value, issues } = context
  const { start_time: start, end_time: end } = value
  if (start !== undefined && end !== undefined && start.replace('Z', '') >= end.replace('Z', '')) {
    issues.push({ code: 'custom', path: ['start_time'], message: 'must be before end_time', input: start })
  }
  for (const name of ['start_time', 'end_time'] as const) {
    const exact = value[name]
    if (exact === undefined) continue
    const rounded = roundUp(exact)
    if (rounded === undefined) issues.push({ code: 'custom', path: [name], message: isoRule, input: exact })
    else value[name] = rounded
  }
}

/** JSON in the form that documents are made of. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json }
export interface JsonObject {
  [member: string]: Json
}

// The name of a provider is ProviderId in v2 and CryptoSourceId in v1: one value with two names.
const providerDescription = 'The exchange, wallet or chain, by its name in the catalogue.'

export const ProviderId = text(64).meta({ id: 'ProviderId', description: providerDescription, examples: ['kraken'] })
export const CryptoSourceId = text(64).meta({
  id: 'CryptoSourceId',
  description: providerDescription,
  examples: ['kraken'],
})

export const connectionId = z.string().meta({ description: 'One link of one user to one account at a provider.' })
