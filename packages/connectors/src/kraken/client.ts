/**
 * Signed calls to Kraken's private REST API. ccxt signs and knows the error classes; its throttle, its float parser and
 * its browser disguise are off. Oddities: errors come as HTTP 200 with `error: ["EAPI:Invalid key"]`, and an account
 * that never held anything has no `result` at all.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import { toSourceError } from '../kit/ccxt-faults.ts'
import type { ApiKeyCredentials, Io } from '../kit/connector.ts'
import { fetchText, retryAfterMaxMs, userAgent } from '../kit/http.ts'
import { parseJsonVerbatim } from '../kit/json.ts'
import { conceal } from '../kit/secret.ts'

/** The `result` of a call, numbers as `parseJsonVerbatim` gives them. */
export type Call = (endpoint: string, params?: Readonly<Record<string, string>>) => Promise<unknown>

const envelope = z.object({ error: z.array(z.string()).nullish(), result: z.unknown().optional() })

export function createClient(credentials: ApiKeyCredentials, io: Io): Call {
  let opening: ReturnType<typeof openExchange> | undefined
  return async (endpoint, params = {}) => {
    opening ??= openExchange(credentials, io)
    const request = await opening
    const answer = envelope.safeParse(
      await request(endpoint, params).catch((error: unknown) => {
        throw toSourceError(error, `${endpoint}: failed`)
      }),
    )
    if (!answer.success) throw new SourceError('venue_down', `${endpoint}: not Kraken's envelope`)
    return answer.data.result
  }
}

/** Nothing but the function leaves here: the ccxt object has the keys in it. */
async function openExchange(credentials: ApiKeyCredentials, io: Io) {
  assertUsable(credentials)
  // 0.8 s and 80 MB, so at the first call and not before.
  const { kraken, AuthenticationError, AccountSuspended, DDoSProtection, PermissionDenied } = await import('ccxt')
  const exchange = conceal(
    new kraken({
      apiKey: credentials.apiKey,
      secret: credentials.secretKey,
      enableRateLimit: false,
      userAgent,
      number: String,
      ...(io.baseUrl === undefined ? {} : { urls: { api: { public: io.baseUrl, private: io.baseUrl } } }),
      fetchImplementation: async (
        url: string,
        init: { method: string; headers: Record<string, string>; body: string },
      ) => new Response(await fetchText(io, url, { method: init.method, headers: init.headers, body: init.body })),
      // Documented by Kraken (docs.kraken.com, API errors), unknown to ccxt 4.5.84.
      exceptions: {
        exact: {
          'EAPI:Invalid signature': AuthenticationError,
          'EAuth:Account temporary disabled': AccountSuspended,
          'EAuth:Account unconfirmed': AccountSuspended,
          'EAuth:Too many requests': DDoSProtection,
        },
        broad: { ':Permission denied': PermissionDenied, 'EService: Throttled': DDoSProtection },
      },
    }),
  )
  exchange.nonce = () => io.nextNonce() as unknown as number
  exchange.parseJson = parseJsonVerbatim
  // Here, and not where the call is awaited, because only here are Kraken's own words and ccxt's class for them together.
  const classify = exchange.handleErrors.bind(exchange)
  exchange.handleErrors = (...answer: Parameters<typeof classify>): undefined => {
    try {
      return classify(...answer)
    } catch (error) {
      const [, , url, , , , response] = answer as unknown[]
      throw toKrakenError(error, String(url), envelope.safeParse(response).data?.error ?? [], io)
    }
  }
  return (endpoint: string, params: Readonly<Record<string, string>>): Promise<unknown> =>
    exchange.request(endpoint, 'private', 'POST', params)
}

function toKrakenError(error: unknown, url: string, words: readonly string[], io: Io): Error {
  const detail = `${url.split('/private/').at(-1)}: ${words.join(', ')}`
  // Kraken may say until when it will not listen.
  const untilSeconds = /\bThrottled: ?(\d{9,11})\b/.exec(detail)?.[1]
  if (untilSeconds === undefined) return toSourceError(error, detail)
  const retryAfterMs = Math.min(retryAfterMaxMs, Math.max(0, Number(untilSeconds) * 1000 - io.now()))
  return new SourceError('rate_limited', detail, { retryAfterMs })
}

/** What cannot be signed or sent would fail deep inside with the key in the message. */
function assertUsable({ apiKey, secretKey }: ApiKeyCredentials): void {
  if (!/^[\x21-\x7e]{1,200}$/.test(apiKey)) throw new SourceError('invalid_credentials', 'API key: not a Kraken key')
  if (!/^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(secretKey)) {
    throw new SourceError('invalid_credentials', 'private key: not base64')
  }
}
