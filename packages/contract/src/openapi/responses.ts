/**
 * What a call can return beside its body: headers, and refusals with an example of each. They are the same for every
 * call, so a document holds them once and its operations refer to them.
 */
import { notFound, refusalCodes, type RefusalCode } from '@assay/core'
import type { Endpoint } from '../endpoint.ts'
import { statusOf, titleOf } from '../errors.ts'
import type { JsonObject } from '../values.ts'

const headerMeanings = {
  'X-Request-Id': 'Names this request; tell it when you ask for help.',
  'RateLimit-Policy': 'The limit that counts this request: its name, requests (q) and window in seconds (w).',
  RateLimit: 'What is left of the limit (r) and the seconds until it is whole again (t).',
  'Retry-After': 'Seconds to wait before the next try.',
  'WWW-Authenticate': 'Bearer; with error and, for a missing scope, scope (RFC 6750).',
  Link: '<…>; rel="next" while rows are left (RFC 8288).',
  ETag: 'Names this version of the answer; send it in If-None-Match to get a 304 while it is current.',
  Deprecation: 'Only when the operator has set an end of this version (RFC 9745).',
  Sunset: 'Only when the operator has set an end of this version: when it is (RFC 8594).',
} as const

type HeaderName = keyof typeof headerMeanings

interface Meaning {
  /** When it happens, for the documents. */
  when: string
  /** The text that the service sends. */
  detail: string
  headers?: readonly HeaderName[]
  errors?: JsonObject[]
}

const meanings: Readonly<Record<RefusalCode, Meaning>> = {
  invalid_request: {
    when: 'A parameter or the body is malformed, unknown or out of range. `errors` names it.',
    detail: 'limit must be a whole number from 1 to 100',
    errors: [
      {
        cause: 'invalid_parameter',
        parameter: 'limit',
        message: 'must be a whole number from 1 to 100, got 1000',
      },
    ],
  },
  invalid_token: {
    when: 'No token was sent, or one that is unknown, expired or revoked.',
    detail: 'The access token is unknown, expired or revoked. Refresh it, or send the user to connect again.',
    headers: ['WWW-Authenticate'],
  },
  insufficient_scope: {
    when: 'The token lacks the scope of this call.',
    detail:
      'the access token lacks the scope assets:read: ask for it with the token; the operator allows it with --scope',
    headers: ['WWW-Authenticate'],
  },
  not_found: {
    when: 'It does not exist or belongs to another user; both get the same answer.',
    detail: notFound('connection').message,
  },
  method_not_allowed: { when: 'The path does not take this method.', detail: 'this path takes GET' },
  payload_too_large: {
    when: 'The body has more than 64 KiB.',
    detail: 'the body must have at most 65536 bytes',
  },
  unsupported_media_type: {
    when: 'The body is something other than application/json.',
    detail: 'send the body as application/json, and say so in Content-Type',
  },
  rate_limited: {
    when: 'Too many requests, or too soon after the last of its kind. Nothing was done.',
    detail: 'At most 600 requests in 60 seconds.',
    headers: ['Retry-After'],
    errors: [{ cause: 'rate_limited', message: 'At most 600 requests in 60 seconds.', retry_after_seconds: 17 }],
  },
  internal: {
    when: 'Something failed on the side of the service.',
    detail: 'something failed on our side; the request id helps us to find it',
  },
  unavailable: {
    when: 'The service cannot answer now, for example while its database restarts.',
    detail: 'the service is not ready; try again shortly',
    headers: ['Retry-After'],
  },
}

const always = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit'] as const

export function toHeaders(names: readonly HeaderName[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

export function successHeaders(endpoint: Endpoint): HeaderName[] {
  return [
    ...always,
    ...(endpoint.paging?.style === 'link' ? (['Link'] as const) : []),
    ...(endpoint.family === 'platform_v1' ? (['Deprecation', 'Sunset'] as const) : []),
    ...(isKeepable(endpoint) ? (['ETag'] as const) : []),
  ]
}

/** The headers that the answers and refusals of these endpoints carry. */
export function toHeaderComponents(endpoints: readonly Endpoint[]): JsonObject {
  const refusals = new Set(endpoints.flatMap(refusalsOf))
  const names = new Set([
    ...endpoints.flatMap(successHeaders),
    ...[...refusals].flatMap((code) => meanings[code].headers ?? []),
  ])
  return Object.fromEntries(
    [...names].map((name) => [name, { description: headerMeanings[name], schema: { type: 'string' } }]),
  )
}

/** Answers that are the same for every caller may be cached and revalidated (RFC 9110 §13.1.2). */
export function isKeepable({ method, scope, bearer }: Endpoint): boolean {
  return method === 'GET' && scope === null && bearer === undefined
}

/** What each endpoint can refuse with, in the order of the codes. */
export function refusalsOf(endpoint: Endpoint): RefusalCode[] {
  const possible = new Set<RefusalCode>(['invalid_request', 'rate_limited', 'internal', 'unavailable'])
  for (const code of endpoint.errors) possible.add(code)
  if (endpoint.scope !== null) possible.add('invalid_token').add('insufficient_scope')
  if (endpoint.body !== undefined) possible.add('payload_too_large').add('unsupported_media_type')
  return refusalCodes.filter((code) => possible.has(code))
}

/** One for each code that some endpoint of the document refuses with. */
export function toRefusalComponents(endpoints: readonly Endpoint[], schema: JsonObject): JsonObject {
  const used = new Set(endpoints.flatMap(refusalsOf))
  return Object.fromEntries(
    refusalCodes.filter((code) => used.has(code)).map((code) => [code, toRefusal(code, schema)]),
  )
}

function toRefusal(code: RefusalCode, schema: JsonObject): JsonObject {
  const { when, detail, headers = [], errors = [] } = meanings[code]
  const example = {
    type: `urn:assay:problem:${code}`,
    title: titleOf[code],
    status: statusOf[code],
    code,
    detail,
    request_id: 'req_01jq8n7x2zf4tb9v6h3m5kcdwe',
    errors,
  }
  return {
    description: when,
    headers: toHeaders([...always, ...headers]),
    content: { 'application/problem+json': { schema, example } },
  }
}
