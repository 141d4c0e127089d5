/**
 * Query strings, strictly: what would be guessed at elsewhere (a broken percent-encoding, a parameter twice, an empty
 * value) is refused by name, so that a slip in a filter never becomes a wider answer.
 *
 * Fastify's own parser leaves a broken encoding as it is and folds repetitions into arrays, hence this one.
 */
import { isListParameter } from '@assay/contract'
import type { z } from 'zod'
import { refuse, unknownParameter, wrongParameter } from './invalid.ts'

export type Query = ReadonlyMap<string, string>

/** The names that a call takes, each with whether its value is a list. */
export type KnownParameters = ReadonlyMap<string, { isList: boolean }>

export function toKnownParameters(shape: z.core.$ZodShape): KnownParameters {
  return new Map(Object.entries(shape).map(([name, schema]) => [name, { isList: isListParameter(schema) }]))
}

/** The part of a request target after the first question mark. */
export function queryOf(url: string): string {
  const mark = url.indexOf('?')
  return mark === -1 ? '' : url.slice(mark + 1)
}

export function parseQuery(text: string, known: KnownParameters): Query {
  const query = new Map<string, string>()
  for (const part of text.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decode(equals === -1 ? part : part.slice(0, equals))
    const value = equals === -1 ? '' : decode(part.slice(equals + 1))
    if (name === undefined || value === undefined) {
      throw refuse([wrongParameter(name ?? 'the query', 'has a broken percent-encoding or is not UTF-8')])
    }
    const parameter = known.get(name)
    if (parameter === undefined) throw refuse([unknownParameter(name, known.keys())])
    if (query.has(name)) {
      const commas = parameter.isList ? '; separate several values by commas' : ''
      throw refuse([wrongParameter(name, `must be given once${commas}`)])
    }
    if (value === '') throw refuse([wrongParameter(name, 'must not be empty; leave it out instead')])
    // PostgreSQL cannot store it, so no stored value can be meant.
    if (value.includes('\0')) throw refuse([wrongParameter(name, 'must not have a NUL character')])
    query.set(name, value)
  }
  return query
}

function decode(text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}
