/** The example of a call as a command that can be copied into a shell. */
import type { Json, OpenApiOperation } from '@assay/contract'
import { member, textOf } from './html.ts'

export interface Listed {
  route: string
  /** In capitals. */
  method: string
  operation: OpenApiOperation
}

/** The example of a call, in parts. */
export function requestOf({ route, operation }: Listed): { target: string; bearer?: string; body?: Json } {
  const body = member(member(operation.requestBody ?? {}, 'content'), 'application/json')['example']
  return {
    target: toTarget(route, operation),
    ...(operation.security.length === 0 ? {} : { bearer: bearerOf(operation) }),
    ...(body === undefined ? {} : { body }),
  }
}

export function toCurl(listed: Listed, baseUrl: string): string {
  const { method } = listed
  const { target, bearer, body } = requestOf(listed)
  const words = [
    `curl${method === 'GET' || (method === 'POST' && body !== undefined) ? '' : ` -X ${method}`} ${quote(`${baseUrl}${target}`)}`,
    ...(bearer === undefined ? [] : [`-H ${quote(`Authorization: ${bearer}`)}`]),
    ...(body === undefined
      ? []
      : [`-H ${quote('Content-Type: application/json')}`, `-d ${quote(JSON.stringify(body))}`]),
  ]
  return words.join(' \\\n  ')
}

function bearerOf({ security }: OpenApiOperation): string {
  const isToken = security.some((schemes) => 'user' in schemes || 'tenant' in schemes)
  return `Bearer ${isToken ? '<access token>' : '<session secret>'}`
}

/** The path with its values, and the query of the example. */
function toTarget(route: string, { parameters }: OpenApiOperation): string {
  const given = parameters.flatMap(({ name, in: place, example }) =>
    example === undefined ? [] : [{ name, place, text: Array.isArray(example) ? example.join(',') : textOf(example) }],
  )
  const path = given
    .filter(({ place }) => place === 'path')
    .reduce((sofar, { name, text }) => sofar.replace(`{${name}}`, encodeURIComponent(text)), route)
  const query = given
    .filter(({ place }) => place === 'query')
    // A comma needs no encoding in a query (RFC 3986 §3.4) and reads better without.
    .map(({ name, text }) => `${name}=${encodeURIComponent(text).replaceAll('%2C', ',')}`)
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}

/** For a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
