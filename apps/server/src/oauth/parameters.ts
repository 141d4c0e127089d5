/**
 * Request parameters of RFC 6749 §3.1 and §3.2: sent without a value they count as left out, unknown ones are ignored,
 * and none may be sent twice (two readers that pick different ones are an attack).
 */
import { OAuthError } from './errors.ts'

export type Parameters = ReadonlyMap<string, string>

export interface ReadParameters {
  /** Without those that were repeated: it is unknown which of the values was meant. */
  values: Parameters
  repeated: ReadonlySet<string>
}

export function readParameters(entries: Iterable<readonly [string, string]>): ReadParameters {
  const values = new Map<string, string>()
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const [name, value] of entries) {
    if (seen.has(name)) repeated.add(name)
    seen.add(name)
    if (value !== '') values.set(name, value)
  }
  for (const name of repeated) values.delete(name)
  return { values, repeated }
}

export function parseParameters(entries: Iterable<readonly [string, string]>): Parameters {
  const { values, repeated } = readParameters(entries)
  if (repeated.size > 0) throw new OAuthError('invalid_request', describeRepeated(repeated))
  return values
}

export function describeRepeated(repeated: ReadonlySet<string>): string {
  // A name is the sender's text, and error_description has a small alphabet (RFC 6749 §5.2).
  const names = [...repeated].filter((name) => /^[a-z_]{1,40}$/.test(name)).slice(0, 5)
  return names.length > 0 ? `sent more than once: ${names.join(', ')}` : 'a parameter is sent more than once'
}

export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing`)
  return value
}
