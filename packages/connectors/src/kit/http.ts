/**
 * One HTTP request with every guard that a provider's answer needs: a limit of time and of size, no redirects (they
 * would carry an API key to another host), and faults instead of statuses. An error names only the host of a URL.
 */
import { NoAnswer, SourceError, type Fault } from '@assay/core'
import { requestTimeoutMs, type Io } from './connector.ts'
import { endOfString, isPage } from './json.ts'
import { omitMembers } from './omit-members.ts'

// The largest honest answers (a page of 500 transfers, a year of prices) are below 1 MiB, except those of which most is
// left out.
const bodyBytesMax = 16 * 1024 * 1024
/**
 * An answer with the members that are left out. The longest honest one is a page of 25 Bitcoin transactions that fill a
 * block of 4 MB each, with four characters for each byte: it is in the witness and in a script.
 */
const receivedBytesMax = 400 * 1024 * 1024
/**
 * What is left of such an answer. The names of the members stay, so that 25 Bitcoin transactions with 9,980 outputs
 * each, as many as nodes relay, are 22 MB.
 */
const keptBytesMax = 32 * 1024 * 1024
/** Each part of an answer takes time, however short it is. Servers send kilobytes; one that flushes often sends hundreds. */
const partBytesMin = 256
const partsMax = 10_000
/**
 * Lists, objects and members of one answer. 16 MiB of the shortest ones take close to a gigabyte once they are parsed,
 * and a worker reads several answers at once. Honest answers have 15 bytes or more for each, so none of that length
 * has as many.
 */
const valuesMax = 1_500_000
/**
 * Members of one list or table. Reading a row takes up to a tenth of a millisecond, during which the worker does
 * nothing else, so that 9 MB of the shortest rows stopped it for a minute. The longest honest lists are the outputs of
 * one transaction and the histories of exchanges without pages.
 */
const membersMax = 50_000
/** Lists and tables inside each other. An honest answer has some ten; a million of them take seconds to parse. */
const depthMax = 1_000
/** A shorter text can have neither as many members nor as many lists inside each other. */
const shortLengthMax = Math.min(membersMax, depthMax)

export const userAgent = 'assay/0.1'

interface RequestOptions {
  method?: string
  headers?: Record<string, string>
  body?: string
  /** Members of the JSON that the caller does not use and that may be long. They are read as `null`. */
  omittedMembers?: readonly string[]
  /** What a status means at this provider, where that differs from `toStatusError`. */
  faultByStatus?: Readonly<Record<number, Fault>>
  /** Whether the provider wrote this error. `faultByStatus` says nothing about those of a gateway in front of it. */
  isOwnError?: (answer: HttpAnswer) => boolean
  /** For calls whose honest answers are far shorter than the longest that is read. */
  bytesMax?: number
}

type RequestIo = Pick<Io, 'fetch' | 'now' | 'requestTimeoutMs'>

export async function fetchText(io: RequestIo, url: string, options: RequestOptions = {}): Promise<string> {
  const answer = await fetchAnswer(io, url, options)
  if (answer.status === 200) return answer.text
  throw toStatusError(answer, io, options.isOwnError?.(answer) === false ? {} : options.faultByStatus)
}

/** An answer with any status, for providers whose errors are in the body or whose headers give the cost of a call. */
export interface HttpAnswer {
  host: string
  status: number
  headers: Headers
  text: string
}

export async function fetchAnswer(io: RequestIo, url: string, options: RequestOptions = {}): Promise<HttpAnswer> {
  const { host } = new URL(url)
  const limit = startTimeLimit(io.requestTimeoutMs ?? requestTimeoutMs)
  try {
    const response = await io.fetch(url, {
      method: options.method ?? 'GET',
      headers: { 'User-Agent': userAgent, Accept: 'application/json', ...options.headers },
      ...(options.body === undefined ? {} : { body: options.body }),
      redirect: 'error',
      signal: limit.signal,
    })
    const text = await readBody(response, options, limit.restart)
    return { host, status: response.status, headers: response.headers, text }
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw new NoAnswer(`${host}: ${nameOf(error)}`)
  } finally {
    limit.end()
  }
}

interface TimeLimit {
  signal: AbortSignal
  restart(this: void): void
  end(): void
}

function startTimeLimit(timeoutMs: number): TimeLimit {
  const controller = new AbortController()
  const start = (): NodeJS.Timeout =>
    setTimeout(() => controller.abort(new DOMException('too late', 'TimeoutError')), timeoutMs).unref()
  let timer = start()
  const end = (): void => clearTimeout(timer)
  const restart = (): void => {
    end()
    timer = start()
  }
  return { signal: controller.signal, restart, end }
}

/**
 * What a status other than 200 means, with the time for which the provider asked us to wait. A status below 500 is the
 * provider's answer to this one request (RFC 9110 §15.5), unless a gateway wrote it.
 */
export function toStatusError(
  { status, headers, host, text }: HttpAnswer,
  io: Pick<Io, 'now'>,
  faults?: RequestOptions['faultByStatus'],
): SourceError {
  const retryAfterMs = findRetryAfterMs(headers.get('retry-after'), io.now())
  const more = retryAfterMs === undefined ? {} : { retryAfterMs }
  const detail = `${host}: HTTP ${status}`
  // Binance, and exchanges that copied its API, answer 418 to an address that they have banned.
  const isBanned = status === 418
  const fault = faults?.[status] ?? (status === 429 || isBanned ? 'rate_limited' : undefined)
  // A gateway may limit our address, or not understand a request. It knows nothing about keys, rights and accounts.
  const isBelieved = fault === 'rate_limited' || fault === 'unreadable_answer' || !isPage(text)
  if (fault !== undefined && isBelieved) return new SourceError(fault, detail, { ...more, isOfAddress: isBanned })
  const isSilence = status >= 500 || status === 408 || isPage(text)
  return isSilence ? new NoAnswer(detail, more) : new SourceError('unreadable_answer', detail, more)
}

/** Binance has the longest ban that we know of. A longer time is a mistake of the provider. */
export const retryAfterMaxMs = 3 * 24 * 3_600_000

/** Retry-After is a number of seconds or a date (RFC 9110 §10.2.3). */
function findRetryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs
  return Number.isNaN(ms) ? undefined : Math.min(retryAfterMaxMs, Math.max(0, ms))
}

/** The time limit starts anew with every 16 MiB, which only an answer with members to leave out can have. */
async function readBody(
  response: Response,
  { omittedMembers, bytesMax = bodyBytesMax }: RequestOptions,
  restartTimeLimit: () => void,
): Promise<string> {
  const keep = omittedMembers && omitMembers(omittedMembers)
  const [receivedMax, keptMax] = keep === undefined ? [bytesMax, bodyBytesMax] : [receivedBytesMax, keptBytesMax]
  const decoder = new TextDecoder()
  let text = ''
  let [received, kept, timedTo, parts] = [0, 0, bodyBytesMax, 0]
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      const part = keep?.(chunk) ?? chunk
      received += chunk.byteLength
      kept += part.byteLength
      parts += 1
      if (received > receivedMax) throw tooMuch(`more than ${receivedMax} bytes`)
      if (parts > partsMax + received / partBytesMin) throw tooMuch('very many parts')
      if (kept > keptMax) throw tooMuch(`more than ${keptMax} bytes`)
      if (received > timedTo) {
        timedTo += bodyBytesMax
        restartTimeLimit()
      }
      text += decoder.decode(part, { stream: true })
    }
  } catch (error) {
    if (error instanceof SourceError || received <= bodyBytesMax) throw error
    throw tooMuch(`more than ${bodyBytesMax} bytes, and no end in time`)
  }
  text += decoder.decode()
  assertReadable(text)
  return text
}

/** Looks at a text that may be JSON before it is parsed. */
function assertReadable(text: string): void {
  if (text.length <= shortLengthMax) return
  let values = 0
  /** The members of the lists and tables that are open. */
  const members: number[] = []
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at) - 1
    else if (code === openingBracket || code === openingBrace) {
      values += 1
      if (members.push(1) > depthMax) throw tooMuch(`more than ${depthMax} lists inside each other`)
    } else if (code === closingBracket || code === closingBrace) members.pop()
    else if (code === comma) {
      values += 1
      const count = (members.pop() ?? 1) + 1
      if (count > membersMax) throw tooMuch(`a list of more than ${membersMax} members`)
      members.push(count)
    }
    if (values > valuesMax) throw tooMuch(`more than ${valuesMax} values`)
  }
}

/** What was asked for does not fit into one answer. A smaller part of it may. */
export class AnswerTooLong extends SourceError {}

/**
 * The provider is up. As silence, a few wallets with too much for one answer would open the provider's circuit, and the
 * wallets of all other users would wait with them.
 */
function tooMuch(what: string): AnswerTooLong {
  return new AnswerTooLong('unreadable_answer', `an answer of ${what}`)
}

const [quote, comma, openingBracket, closingBracket, openingBrace, closingBrace] = [34, 44, 91, 93, 123, 125]

/** Messages may quote a header, and so a key: only names and system codes are passed on. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'request failed'
  const { cause } = error
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : ''
  return `${error.name}${code}`
}
