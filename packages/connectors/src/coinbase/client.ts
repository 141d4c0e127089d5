/**
 * Calls Coinbase's REST API, with an API key or with a token. A path begins with a slash and may have a query; numbers
 * in the result are text. Errors are HTTP statuses: 401 for a rejected key or token, 403 for a missing scope, 429
 * without Retry-After (docs.cdp.coinbase.com, coinbase-app/api-architecture). Cloudflare is in front of the API and
 * blocks addresses with the same statuses, so that a key is only blamed for an error that Coinbase wrote.
 */
import { SourceError, type Fault } from '@assay/core'
import { z } from 'zod'
import { createBearerClient } from '../kit/bearer.ts'
import type { ApiKeyCredentials, Credentials, Io } from '../kit/connector.ts'
import { fetchText, type HttpAnswer } from '../kit/http.ts'
import { findPlainJson, parseJson, readAnswer } from '../kit/json.ts'
import { coinbaseDefinition, pageSize } from './definition.ts'
import { createSigner, type Signer } from './jwt.ts'

export type Call = (path: string) => Promise<unknown>

const faultByStatus: Readonly<Record<number, Fault>> = { 401: 'invalid_credentials', 403: 'missing_permission' }

/**
 * v2 has a list of errors (docs: coinbase-app/api-architecture/error-messages), v3 a word with details or a code, and
 * the checks of OAuth2 a word with a description.
 */
const ownError = z.union([
  z.object({ errors: z.array(z.object({ id: z.string(), message: z.string() })).min(1) }),
  z.object({ error: z.string(), error_details: z.string() }),
  z.object({ error: z.string(), code: z.number(), message: z.string() }),
  z.object({ error: z.string(), error_description: z.string() }),
])

const anyError = z.object({ error: z.string() })

/**
 * A JWT that is not accepted gets the bare word (github.com/coinbase/coinbase-advanced-py/issues/132). Gateways refuse
 * with 403, so the one that names an error with 401 is Coinbase, and a person who mistyped a key has to learn it.
 */
function isOwnError({ status, text }: HttpAnswer): boolean {
  const error = findPlainJson(text)
  const isUnauthorized = /^\s*unauthorized\.?\s*$/i.test(text) || anyError.safeParse(error).success
  return (status === 401 && isUnauthorized) || ownError.safeParse(error).success
}

export function createClient(credentials: Credentials, io: Io): Call {
  switch (credentials.type) {
    case 'api_key':
      return createKeyClient(credentials, io)
    case 'oauth2':
      return createBearerClient(credentials, io, { baseUrl: coinbaseDefinition.baseUrl, isOwnError })
    case 'wallet':
      throw new TypeError('Coinbase uses API keys and OAuth2 sign-in')
  }
}

function createKeyClient(credentials: ApiKeyCredentials, io: Io): Call {
  let signer: Signer | undefined
  /** How far Coinbase's clock is ahead of ours, once that was asked. */
  let offsetMs = 0
  const once = async (path: string): Promise<unknown> => {
    signer ??= createSigner(credentials)
    const url = new URL(path, io.baseUrl ?? coinbaseDefinition.baseUrl)
    const now = (): number => io.now() + offsetMs
    const token = signer(
      { method: 'GET', host: url.host, path: url.pathname },
      { now, nextNonce: () => io.nextNonce() },
    )
    const headers = { Authorization: `Bearer ${token}` }
    return parseJson(await fetchText(io, url.href, { headers, faultByStatus, isOwnError }))
  }
  return async (path) => {
    try {
      return await once(path)
    } catch (error) {
      if (!(error instanceof SourceError) || error.fault !== 'invalid_credentials' || signer === undefined) throw error
      // A token is valid for two minutes of Coinbase's clock, and one from a wrong clock is a 401 like any other.
      // Coinbase also sometimes answers 401 to a valid key (rotki retries for this reason). A 401 makes the user repair
      // the connection, so we ask for the time, retry once and treat only the second one as final.
      offsetMs = await measureOffset(io)
      return once(path)
    }
  }
}

/** docs.cdp.coinbase.com, coinbase-app/track-apis/time. In whole seconds. Without a key, so no error is about one. */
const timeAnswer = z.object({ data: z.object({ epoch: z.string().regex(/^\d{1,12}$/) }) })

async function measureOffset(io: Io): Promise<number> {
  const url = new URL('/v2/time', io.baseUrl ?? coinbaseDefinition.baseUrl)
  const { data } = readAnswer('time', timeAnswer, parseJson(await fetchText(io, url.href)))
  return Number(data.epoch) * 1_000 - io.now()
}

/**
 * Every list of the v2 API has its rows in `data` and the next page in `pagination.next_uri`, which is empty or null at
 * the end (docs.cdp.coinbase.com, coinbase-app/api-architecture/pagination). Short pages are normal and do not end a
 * list. An empty one has `pagination` too (github.com/coinbase/coinbase-node/issues/33); without it, it may be part of
 * an error that Coinbase did not write.
 */
const listAnswer = z
  .object({
    data: z.array(z.unknown()),
    pagination: z.object({ next_uri: z.string().nullish() }).nullish(),
  })
  .refine(
    ({ data, pagination }) => data.length > 0 || (pagination ?? null) !== null,
    'an empty list without pagination',
  )

export interface ListPage {
  rows: unknown[]
  /** The query of the next page; null at the end. */
  next: string | null
}

/**
 * `pageMark` is the query of an earlier `next`. We follow only the query of `next_uri` and keep our own path, so a
 * response cannot send a token anywhere else.
 */
export async function fetchListPage(call: Call, path: string, pageMark: string | null): Promise<ListPage> {
  const query = pageMark ?? `limit=${pageSize}&order=desc`
  const { data, pagination } = readAnswer(path.split('/').at(-1) ?? '', listAnswer, await call(`${path}?${query}`))
  const nextUri = pagination?.next_uri ?? ''
  const next = nextUri === '' ? null : new URL(nextUri, 'https://list.invalid').search.slice(1)
  // Following this page would never end, and stopping here would silently lose the rest of the list.
  if (next !== null && (next === '' || next === query)) {
    throw new SourceError('unreadable_answer', 'the next page is the same as this page')
  }
  return { rows: data, next }
}
