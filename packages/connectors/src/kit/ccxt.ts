/**
 * Signed calls through ccxt, for every exchange that it knows. ccxt signs and knows the error classes. Its throttle is off
 * (the engine meters), its float parser is replaced (amounts are text), its browser disguise is off (we say who we are),
 * and its own retries and market loading are never used. `Io.baseUrl` replaces the host of all its URLs.
 */
import type { SourceError } from '@assay/core'
import type * as ccxtModule from 'ccxt'
import type { Exchange } from 'ccxt'
import { toSourceError } from './ccxt-faults.ts'
import type { ApiKeyCredentials, Io } from './connector.ts'
import { fetchText, userAgent } from './http.ts'
import { parseJsonVerbatim } from './json.ts'
import { conceal } from './secret.ts'

type Ccxt = typeof ccxtModule
type ErrorClass = Ccxt['ExchangeError']

interface CcxtOptions {
  /** ccxt's name of the exchange. */
  exchangeId: string
  /** Which of ccxt's groups of endpoints is called, such as `private`, and how. */
  api: string
  method: 'GET' | 'POST'
  /** Errors that the provider documents and ccxt does not know. */
  exceptions?: (ccxt: Ccxt) => { exact?: Record<string, ErrorClass>; broad?: Record<string, ErrorClass> }
  /** The provider's own words in an answer that is an error; they go into the log and may not quote a credential. */
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

/** Only the function leaves here: the ccxt object has the keys in it. */
async function openExchange(options: CcxtOptions, credentials: ApiKeyCredentials, io: Io) {
  // 0.8 s and 80 MB, so at the first call and not before.
  const ccxt = await import('ccxt')
  const exchangeClass = (ccxt as unknown as Record<string, new (config: object) => Exchange>)[options.exchangeId]
  if (exchangeClass === undefined) throw new RangeError(`ccxt has no exchange ${JSON.stringify(options.exchangeId)}`)
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
      exceptions: options.exceptions?.(ccxt) ?? {},
    }),
  )
  if (io.baseUrl !== undefined) exchange.urls['api'] = withHost(exchange.urls['api'], io.baseUrl)
  exchange.nonce = () => io.nextNonce() as unknown as number
  exchange.parseJson = parseJsonVerbatim
  classifyWithWords(exchange, options)
  return (path: string, params: Readonly<Record<string, string>>): Promise<unknown> =>
    exchange.request(path, options.api, options.method, params)
}

/** Here, and not where the call is awaited, because only here the provider's words and ccxt's class for them meet. */
function classifyWithWords(exchange: Exchange, { wordsOf, findError }: CcxtOptions): void {
  const classify = exchange.handleErrors.bind(exchange)
  exchange.handleErrors = (...answer: Parameters<typeof classify>): undefined => {
    try {
      return classify(...answer)
    } catch (error) {
      const [, , url, , , , response] = answer as unknown[]
      const endpoint = String(url).split('?')[0]?.split('/').at(-1) ?? ''
      const detail = `${endpoint}: ${wordsOf(response).join(', ')}`
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
