/** Calls of the platform API: with a valid token, exact decimals, refusals as exceptions, and lists page by page. */
import { ConnectionError, ProblemError } from '../errors.ts'
import { parseExact, readLines } from './answers.ts'
import { retryAfterSeconds, send, sendForStream, type HttpAnswer, type SendOptions } from './send.ts'
import type { TokenHolder } from '../tokens.ts'
import type { ErrorItem, Problem } from '../types.ts'

export interface CallOptions {
  signal?: AbortSignal
}

export type Filters = Readonly<Record<string, string | Date | readonly string[] | undefined>>

/** A list as the service sends it. */
export interface WirePage<Item> {
  page: { next: string }
  data: Item[]
  errors: ErrorItem[]
}

const pageSize = '100'
const quantities = new Set(['asset_holdings', 'staked_holdings', 'price_in_usd'])

export type Calls = ReturnType<typeof createCalls>

export function createCalls(baseUrl: string, options: SendOptions, holder: Pick<TokenHolder, 'get'>) {
  /** Sends a valid token; refusals are thrown. */
  async function authorized<Answer extends HttpAnswer>(ask: (token: string) => Promise<Answer>): Promise<Answer> {
    const token = await holder.get()
    let answer = await ask(token)
    if (answer.status === 401) {
      // Revoked or expired by the service's clock. A second refusal is final.
      const next = await holder.get(token)
      if (next !== token) answer = await ask(next)
    }
    if (answer.status !== 200) throw toError(answer)
    return answer
  }

  async function call<T>(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body: unknown,
    { signal }: CallOptions,
  ): Promise<T> {
    const { text } = await authorized((token) =>
      send(options, {
        method,
        url: `${baseUrl}${path}`,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
      }),
    )
    return parseExact(text, quantities) as T
  }

  const get = <T>(path: string, more: CallOptions): Promise<T> => call('GET', path, undefined, more)

  async function* walk<Item>(path: string, filters: Filters, more: CallOptions): AsyncGenerator<Item, void, undefined> {
    for (let next = `${path}${toQuery({ limit: pageSize, ...filters })}`; next !== '';) {
      const { page, data } = await get<WirePage<Item>>(next, more)
      yield* data
      next = page.next
    }
  }

  async function stream(path: string, { signal }: CallOptions): Promise<ReadableStream<Uint8Array>> {
    const { body } = await authorized((token) =>
      sendForStream(options, {
        method: 'GET',
        url: `${baseUrl}${path}`,
        headers: { authorization: `Bearer ${token}` },
        signal,
      }),
    )
    if (body === undefined) throw new ConnectionError('the response did not come from the service', 200)
    return body
  }

  /** One JSON document a line. */
  async function* lines<Item>(path: string, more: CallOptions): AsyncGenerator<Item, void, undefined> {
    for await (const line of readLines(await stream(path, more), more)) yield parseExact(line, quantities) as Item
  }

  return {
    get,
    post: <T>(path: string, body: unknown, more: CallOptions): Promise<T> => call('POST', path, body, more),
    remove: <T>(path: string, more: CallOptions): Promise<T> => call('DELETE', path, undefined, more),
    walk,
    stream,
    lines,
  }
}

/**
 * An id as a part of a path. `encodeURIComponent` leaves `..` as it is, and fetch would then ask for the list that all
 * users share instead of one user's.
 */
export function toSegment(id: string): string {
  if (typeof id === 'string' && /^[\w-]+$/.test(id)) return id
  throw new TypeError(`an id has letters, digits, "_" and "-" only, got ${JSON.stringify(id)}`)
}

export function toQuery(filters: Filters): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(filters)) {
    if (value === undefined) continue
    if (typeof value === 'string') parameters.set(name, value)
    else parameters.set(name, value instanceof Date ? value.toISOString() : value.join(','))
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

function toError({ status, headers, text }: HttpAnswer): Error {
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json') === true
  const problem = isProblem ? findProblem(text) : undefined
  if (problem !== undefined) return new ProblemError(problem, retryAfterSeconds(headers))
  return new ConnectionError(`the response (${status}) did not come from the service`, status)
}

/** Undefined when something in between wrote it. */
function findProblem(text: string): Problem | undefined {
  try {
    const problem = JSON.parse(text) as Partial<Problem> | null
    return Array.isArray(problem?.errors) ? (problem as Problem) : undefined
  } catch {
    return undefined
  }
}
