/** One call of the service: JSON in and out, problem documents as errors (RFC 9457), no cookies. */
import type { ErrorResponse } from '@assay/contract'

export type ErrorItem = ErrorResponse['errors'][number]

/** The service refused the call. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly items: readonly ErrorItem[]
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, body: ProblemBody, retryAfter: string | null) {
    super(body.detail ?? `status ${status}`)
    this.name = 'Problem'
    this.status = status
    this.code = body.code ?? 'internal'
    this.requestId = body.request_id
    this.items = body.errors ?? []
    this.retryAfterSeconds = retryAfter === null ? undefined : Number.parseInt(retryAfter, 10)
  }
}

/** The service could not be reached at all. */
export class Unreachable extends Error {}

/** A proxy may answer in place of the service, with anything. */
type ProblemBody = Partial<ErrorResponse>

export interface CallOptions {
  method?: 'GET' | 'POST' | 'DELETE'
  body?: object
  secret?: string
  signal?: AbortSignal
}

export async function call<Answer>(url: string, options: CallOptions = {}): Promise<Answer> {
  const response = await send(url, options)
  return (await response.json()) as Answer
}

/** Resolves only for a success. */
export async function send(url: string, { method = 'GET', body, secret, signal }: CallOptions): Promise<Response> {
  const headers = new Headers()
  if (secret !== undefined) headers.set('Authorization', `Bearer ${secret}`)
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  const response = await fetch(url, {
    method,
    headers,
    credentials: 'omit',
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error
    throw new Unreachable('the service cannot be reached')
  })
  if (response.ok) return response
  const problem = (await response.json().catch(() => ({}))) as ProblemBody
  throw new Problem(response.status, problem, response.headers.get('Retry-After'))
}
