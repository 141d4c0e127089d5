/**
 * Signed calls through ccxt, for every exchange that it knows. ccxt signs and knows the error classes. Its throttle is
 * off (the engine meters), its float parser is replaced (amounts are text), its browser disguise is off (we say who we
 * are), and its own retries and market loading are never used. `Io.baseUrl` replaces the host of all its URLs. Its
 * error classes become our faults at the end of the file.
 */
import { SourceError, type Fault } from '@assay/core'
import type { Exchange } from 'ccxt'
import type * as ccxtModule from 'ccxt'
import type { ApiKeyCredentials, Io } from './connector.ts'
import { fetchText, userAgent } from './http.ts'
import { parseJsonVerbatim } from './json.ts'
import { conceal } from './secret.ts'

type ErrorClass = CcxtErrors['ExchangeError']

interface CcxtOptions {
  /** ccxt's name of the exchange. */
  exchangeId: string
  /** The group of ccxt's endpoints to call, such as `private`, and the HTTP method. */
  api: string
  method: 'GET' | 'POST'
  /** Errors that the provider documents and ccxt does not know. */
  exceptions?: (errors: CcxtErrors) => { exact?: Record<string, ErrorClass>; broad?: Record<string, ErrorClass> }
  /** Returns the provider's own words from an error; they go into the log and must not quote a credential. */
  wordsOf: (answer: unknown) => readonly string[]
  /** For errors that say more than ccxt's classes can. `detail` is the endpoint and the provider's words. */
  findError?: (detail: string) => SourceError | undefined
}

/** The parsed answer, numbers as `parseJsonVerbatim` gives them. */
export type CcxtCall = (path: string, params?: Readonly<Record<string, string>>) => Promise<unknown>

export function createCcxtClient(options: CcxtOptions, credentials: ApiKeyCredentials, io: Io): CcxtCall {
  let opening: ReturnType<typeof openExchange> | undefined
  return async (path, params = {}) => {
    opening ??= openExchange(options, credentials, io)
    const request = await opening
    try {
      return await request(path, params)
    } catch (error) {
      throw toSourceError(error, `${path}: failed`)
    }
  }
}

/** Returns a function and not the ccxt object, because that object holds the keys. */
async function openExchange(options: CcxtOptions, credentials: ApiKeyCredentials, io: Io) {
  // Waits for the first call: a process that calls no exchange does not pay for it.
  const exchangeClass = await loadExchange(options.exchangeId)
  const errors = await loadErrors()
  const exchange = conceal(
    new exchangeClass({
      apiKey: credentials.apiKey,
      secret: credentials.secretKey,
      ...(credentials.passphrase === undefined ? {} : { password: credentials.passphrase }),
      enableRateLimit: false,
      userAgent,
      number: String,
      fetchImplementation: async (
        url: string,
        init: { method: string; headers: Record<string, string>; body?: string },
      ) =>
        new Response(
          await fetchText(io, url, {
            method: init.method,
            headers: init.headers,
            ...(init.body === undefined ? {} : { body: init.body }),
          }),
        ),
      exceptions: options.exceptions?.(errors) ?? {},
    }),
  )
  if (io.baseUrl !== undefined) exchange.urls['api'] = withHost(exchange.urls['api'], io.baseUrl)
  exchange.nonce = () => io.nextNonce() as unknown as number
  exchange.parseJson = parseJsonVerbatim
  classifyWithWords(exchange, options)
  return (path: string, params: Readonly<Record<string, string>>): Promise<unknown> =>
    exchange.request(path, options.api, options.method, params)
}

/**
 * Runs inside ccxt and not where the call is awaited, because only here both the provider's words and ccxt's class are
 * known.
 */
function classifyWithWords(exchange: Exchange, { wordsOf, findError }: CcxtOptions): void {
  const classify = exchange.handleErrors.bind(exchange)
  exchange.handleErrors = (...answer: Parameters<typeof classify>): undefined => {
    try {
      return classify(...answer)
    } catch (error) {
      const [, , url, , , , response] = answer as unknown[]
      const endpoint = String(url).split('?')[0]?.split('/').at(-1) ?? ''
      const detail = `${endpoint}: ${wordsOf(response).join(', ')}`
      // ccxt looks for texts in the answer, and breaks down where it finds something else.
      if (error instanceof TypeError) throw new SourceError('unreadable_answer', `${endpoint}: not an error of ccxt`)
      throw findError?.(detail) ?? toSourceError(error, detail)
    }
  }
}

/** ccxt's URLs are text or groups of texts, with templates such as `{hostname}` in the host. */
function withHost<T>(urls: T, baseUrl: string): T
function withHost(urls: unknown, baseUrl: string): unknown {
  if (typeof urls === 'string') return urls.replace(/^[a-z]+:\/\/[^/]+/, baseUrl.replace(/\/$/, ''))
  if (typeof urls !== 'object' || urls === null) return urls
  return Object.fromEntries(Object.entries(urls).map(([name, value]) => [name, withHost<unknown>(value, baseUrl)]))
}

// ----------------------------------------------------------------------------------------------------------------
// faults

/**
 * Maps ccxt's error classes to our faults. The most specific class wins: PermissionDenied is a subclass of
 * AuthenticationError, and OnMaintenance of ExchangeNotAvailable, so the prototype chain is walked from the bottom.
 * Classes are recognised by name; importing ccxt here would cost every process 100 MB.
 */
const faultByClass: Readonly<Record<string, Fault>> = {
  PermissionDenied: 'missing_permission',
  AccountSuspended: 'needs_reauth',
  AuthenticationError: 'invalid_credentials',
  DDoSProtection: 'rate_limited',
  RateLimitExceeded: 'rate_limited',
  // The provider considers a nonce or a timestamp too old. The key is valid; the clocks differ, or two programs share
  // it.
  InvalidNonce: 'clock_skew',
  // ccxt itself could not parse the answer.
  BadResponse: 'unreadable_answer',
  // The exchange says that it is busy, in maintenance or too slow.
  OperationFailed: 'venue_down',
  // The exchange refuses in words that ccxt does not know, or that no reader of a history expects, such as "account
  // frozen". It is up, so this concerns the one account, and a retry is cheaper than a lost window.
  ExchangeError: 'unreadable_answer',
}

// Wrong arguments are a bug of ours, which a retry would hide.
const bugs = new Set(['BadRequest', 'BadSymbol', 'ArgumentsRequired', 'NotSupported'])

/**
 * The error to throw in place of one that ccxt threw. ccxt's message is not passed on, because it may quote the whole
 * answer; `detail` holds only what the connector knows to be harmless.
 */
export function toSourceError(error: unknown, detail: string): Error {
  if (error instanceof SourceError) return error
  for (const name of classNames(error)) {
    if (bugs.has(name)) return new Error(`${name}: ${detail}`)
    const fault = Object.hasOwn(faultByClass, name) ? faultByClass[name] : undefined
    if (fault !== undefined) return new SourceError(fault, detail)
  }
  return error instanceof Error ? error : new Error(detail)
}

function* classNames(error: unknown): Generator<string> {
  let prototype: unknown = error instanceof Error ? Object.getPrototypeOf(error) : undefined
  while (prototype instanceof Error) {
    yield prototype.constructor.name
    prototype = Object.getPrototypeOf(prototype)
  }
}

type ExchangeClass = new (config: object) => Exchange
/** The classes of ccxt's errors, by name. */
type CcxtErrors = Pick<
  typeof ccxtModule,
  'AccountSuspended' | 'AuthenticationError' | 'DDoSProtection' | 'ExchangeError' | 'PermissionDenied'
>

/**
 * Loads one exchange of ccxt. Importing ccxt itself loads all of them, which takes 0.5 s and 100 MB; one exchange and
 * what all share take 0.2 s and 30 MB. The files are part of the package, but it names no path to them, so they are
 * found beside its entry point. The version is pinned, and a test loads every exchange of the catalogue.
 */
export async function loadExchange(id: string): Promise<ExchangeClass> {
  if (!/^[a-z0-9]+$/.test(id)) throw new RangeError(`ccxt has no exchange ${JSON.stringify(id)}`)
  limiting ??= limitDigits()
  await limiting
  const { default: exchangeClass } = await load<{ default: ExchangeClass }>(`src/${id}.js`)
  return exchangeClass
}

let limiting: Promise<void> | undefined
/** Far more than any amount has. */
const digitsMax = 1_000

type Calculation = (...numbers: unknown[]) => unknown

/**
 * ccxt computes with every number that an exchange sends, however large: one multiplication by "1e10000000" takes half a
 * minute, and a few more digits take the memory of the process. All its exchanges compute with this class.
 */
async function limitDigits(): Promise<void> {
  const { default: precise } = await load<{
    default: Record<string, Calculation> & { prototype: { decimals: number; toString(): string } }
  }>('src/base/Precise.js')
  for (const name of Object.getOwnPropertyNames(precise)) {
    const compute = precise[name]
    if (!name.startsWith('string') || compute === undefined) continue
    precise[name] = (...numbers) => {
      if (numbers.some(isEndless)) throw tooManyDigits()
      return compute.apply(precise, numbers)
    }
  }
  const { toString } = precise.prototype
  precise.prototype.toString = function () {
    if (Math.abs(this.decimals) > digitsMax) throw tooManyDigits()
    return toString.call(this)
  }
}

/** As ccxt reads it: what follows the first "e" is the exponent, whatever stands before it. */
function isEndless(number: unknown): boolean {
  if (typeof number !== 'string') return false
  const exponent = Number.parseInt(number.slice(number.search(/e|$/i) + 1))
  return number.length > digitsMax || Math.abs(exponent) > digitsMax
}

export function tooManyDigits(): SourceError {
  return new SourceError('unreadable_answer', `a number of more than ${digitsMax} digits`)
}

/** ccxt writes as many zeros as an exchange says that an amount has decimals. */
export function limitDecimals(exchange: Exchange): void {
  for (const name of ['parsePrecision', 'integerPrecisionToAmount'] as const) {
    const write = exchange[name].bind(exchange)
    exchange[name] = (decimals: string) => {
      if (Math.abs(Number.parseInt(decimals)) > digitsMax) throw tooManyDigits()
      return write(decimals)
    }
  }
}

function loadErrors(): Promise<CcxtErrors> {
  return load<CcxtErrors>('src/base/errors.js')
}

/**
 * ccxt writes into plain objects by names that an exchange chose. One that would reach the prototype of all objects
 * throws instead: it would change the whole process.
 */
async function load<Module>(file: string): Promise<Module> {
  Object.preventExtensions(Object.prototype)
  return (await import(new URL(file, import.meta.resolve('ccxt')).href)) as Module
}
