/**
 * Makes signed calls to Kraken's private REST API, with the kit's ccxt client. Two oddities: errors come with HTTP 200
 * as `error: ["EAPI:Invalid key"]`, and the balances of an account that never held anything have no `result`, unlike its
 * ledger (github.com/rotki/rotki/issues/946).
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import { createCcxtClient } from '../kit/ccxt.ts'
import type { ApiKeyCredentials, Io } from '../kit/connector.ts'
import { retryAfterMaxMs } from '../kit/http.ts'
import { readAnswer } from '../kit/json.ts'

/** The `result` of a call, numbers as `parseJsonVerbatim` gives them; undefined when Kraken sent none. */
export type Call = (endpoint: string, params?: Readonly<Record<string, string>>) => Promise<unknown>

// Kraken sends the list of errors with every answer. An answer without it comes from something else, such as a gateway,
// and would pass for an empty account. One with errors is refused here, too: ccxt looks only at a text that begins with
// `{`.
const success = z.object({ error: z.tuple([]), result: z.unknown().optional() })
const refusal = z.object({ error: z.array(z.string()) })

export function createClient(credentials: ApiKeyCredentials, io: Io): Call {
  const call = createCcxtClient(
    {
      exchangeId: 'kraken',
      api: 'private',
      method: 'POST',
      // Kraken documents these (docs.kraken.com, API errors), but ccxt 4.5.84 does not know them.
      exceptions: ({ AccountSuspended, AuthenticationError, DDoSProtection, PermissionDenied }) => ({
        exact: {
          'EAPI:Invalid signature': AuthenticationError,
          'EAuth:Account temporary disabled': AccountSuspended,
          'EAuth:Account unconfirmed': AccountSuspended,
          'EAuth:Too many requests': DDoSProtection,
        },
        broad: { ':Permission denied': PermissionDenied, 'EService: Throttled': DDoSProtection },
      }),
      wordsOf: (answer) => (refusal.safeParse(answer).data?.error ?? []).slice(0, errorsMax).map(toKnownWords),
      findError: (detail) => findThrottled(detail, io),
    },
    credentials,
    io,
  )
  return async (endpoint, params) => {
    assertUsable(credentials)
    return readAnswer(endpoint, success, await call(endpoint, params)).result
  }
}

const errorsMax = 5
/** A severity, a category and a few words, such as `EAPI:Invalid key` or `EService: Throttled: 1700000042`. */
const knownForm = /^[EW][A-Za-z]{1,20}(?:: ?[\w '-]{1,60}){1,3}$/

/** Operators read these words. In another form they could quote what was sent, a key among it. */
function toKnownWords(words: string): string {
  return knownForm.test(words) && !/\w{25}/.test(words) ? words : 'an error of another form'
}

/** Kraken may say until when it will refuse calls. */
function findThrottled(detail: string, io: Io): SourceError | undefined {
  const untilSeconds = /\bThrottled: ?(\d{9,11})\b/.exec(detail)?.[1]
  if (untilSeconds === undefined) return undefined
  const retryAfterMs = Math.min(retryAfterMaxMs, Math.max(0, Number(untilSeconds) * 1000 - io.now()))
  return new SourceError('rate_limited', detail, { retryAfterMs })
}

/** A credential that cannot be signed or sent would fail deep inside ccxt, with the key in the message. */
function assertUsable({ apiKey, secretKey }: ApiKeyCredentials): void {
  if (!/^[\x21-\x7e]{1,200}$/.test(apiKey)) throw new SourceError('invalid_credentials', 'API key: not a Kraken key')
  // The round trip must give the same text, because ccxt's decoder also throws for extra bits after the last byte.
  if (secretKey === '' || Buffer.from(secretKey, 'base64').toString('base64') !== secretKey) {
    throw new SourceError('invalid_credentials', 'private key: not base64')
  }
}
