/**
 * One HTTP call with its retries. A refusal that says "later" (429) is retried, and for calls that are safe to repeat
 * also a lost connection and 500, 502, 503, 504. A wait that the server asks for is respected; if it exceeds the bound, it
 * is thrown as the error, because a caller that waits for minutes should know it.
 */
import { ConnectionError } from '../errors.ts'

export interface SendOptions {
  fetch: typeof globalThis.fetch
  /** Tries after the first. */
  retriesMax: number
  /** The longest wait between two tries. */
  waitMaxMs: number
}

export interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE'
  url: string
  headers: Record<string, string>
  body?: string
  /** How long after the first try the service takes another for the same request. A GET is always safe to repeat. */
  repeatableMs?: number
  signal?: AbortSignal | undefined
}

export interface HttpAnswer {
  status: number
  headers: Headers
  text: string
}

/** A success that is read as it arrives, or the text of any other response. */
export interface HttpStream extends HttpAnswer {
  body: ReadableStream<Uint8Array> | undefined
}

const firstWaitMs = 250

export function send(options: SendOptions, request: HttpRequest): Promise<HttpAnswer> {
  return repeat(options, request, toAnswer)
}

/** Retried until the headers arrive; the reader notices what is lost after them. */
export function sendForStream(options: SendOptions, request: HttpRequest): Promise<HttpStream> {
  return repeat(options, request, async (response) => {
    const { status, headers, body } = response
    if (status === 200 && body !== null) return { status, headers, text: '', body }
    return { ...(await toAnswer(response)), body: undefined }
  })
}

async function toAnswer(response: Response): Promise<HttpAnswer> {
  return { status: response.status, headers: response.headers, text: await response.text() }
}

type Read<Answer> = (response: Response) => Promise<Answer>

async function repeat<Answer extends HttpAnswer>(
  options: SendOptions,
  request: HttpRequest,
  read: Read<Answer>,
): Promise<Answer> {
  const { method, signal, repeatableMs = method === 'GET' ? Infinity : 0 } = request
  /** When the first try was made that may have done something. */
  let sinceMs = Infinity
  for (let attempt = 0; ; attempt += 1) {
    const sentMs = performance.now()
    const outcome = await tryOnce(options, request, read)
    if (!isRefused(outcome)) sinceMs = Math.min(sinceMs, sentMs)
    const waitMs = attempt >= options.retriesMax ? undefined : findWait(outcome, attempt)
    const isSafe = waitMs !== undefined && performance.now() + waitMs <= sinceMs + repeatableMs
    if (!isSafe || waitMs > options.waitMaxMs) {
      if (outcome instanceof ConnectionError) throw outcome
      return outcome
    }
    await wait(waitMs, signal)
  }
}

async function tryOnce<Answer>(
  options: SendOptions,
  request: HttpRequest,
  read: Read<Answer>,
): Promise<Answer | ConnectionError> {
  const { url, method, headers, body = null, signal = null } = request
  try {
    // The service never redirects a call. A redirect would carry the client's secret, or a token, to another place.
    return await read(await options.fetch(url, { method, headers, body, signal, redirect: 'manual' }))
  } catch (error) {
    signal?.throwIfAborted()
    return new ConnectionError('the service cannot be reached', undefined, error)
  }
}

/** Before anything was done. */
function isRefused(outcome: HttpAnswer | ConnectionError): boolean {
  return !(outcome instanceof ConnectionError) && outcome.status === 429
}

/** Undefined when a retry would not help. */
function findWait(outcome: HttpAnswer | ConnectionError, attempt: number): number | undefined {
  const plainMs = firstWaitMs * 2 ** attempt * (0.75 + Math.random() / 2)
  if (outcome instanceof ConnectionError) return plainMs
  const { status, headers } = outcome
  const askedMs = (retryAfterSeconds(headers) ?? 0) * 1_000
  return [429, 500, 502, 503, 504].includes(status) ? Math.max(askedMs, plainMs) : undefined
}

/** RFC 9110 §10.2.3: seconds, or a date. */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  const atMs = Date.parse(value)
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil((atMs - Date.now()) / 1_000))
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      // The reason is whatever the caller aborted with.
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    if (signal?.aborted === true) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}
