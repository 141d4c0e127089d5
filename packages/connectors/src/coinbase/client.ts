/**
 * Calls to Coinbase's REST API, in both ways to connect. A path begins with a slash and may have a query; numbers in the
 * result are text. Errors come as a status: 401 for a key or token that is not accepted, 403 for a scope that is missing,
 * 429 without Retry-After (docs.cdp.coinbase.com, coinbase-app/api-architecture).
 */
import { SourceError, type Fault } from '@assay/core'
import { z } from 'zod'
import { readAnswer } from '../kit/answer.ts'
import { createBearerClient } from '../kit/bearer.ts'
import type { ApiKeyCredentials, Credentials, Io } from '../kit/connector.ts'
import { fetchText } from '../kit/http.ts'
import { parseJson } from '../kit/json.ts'
import { coinbaseDefinition, pageSize } from './definition.ts'
import { createSigner, type Signer } from './jwt.ts'

export type Call = (path: string) => Promise<unknown>

const faultByStatus: Readonly<Record<number, Fault>> = { 401: 'invalid_credentials', 403: 'missing_permission' }

export function createClient(credentials: Credentials, io: Io): Call {
  switch (credentials.type) {
    case 'api_key':
      return createKeyClient(credentials, io)
    case 'oauth2':
      return createBearerClient(credentials, io, coinbaseDefinition)
    case 'wallet':
      throw new TypeError('Coinbase uses API keys and OAuth2 sign-in')
  }
}

function createKeyClient(credentials: ApiKeyCredentials, io: Io): Call {
  let signer: Signer | undefined
  const once = async (path: string): Promise<unknown> => {
    signer ??= createSigner(credentials)
    const url = new URL(path, io.baseUrl ?? coinbaseDefinition.baseUrl)
    const token = signer({ method: 'GET', host: url.host, path: url.pathname }, io)
    return parseJson(await fetchText(io, url.href, { headers: { Authorization: `Bearer ${token}` }, faultByStatus }))
  }
  return async (path) => {
    try {
      return await once(path)
    } catch (error) {
      if (!(error instanceof SourceError) || error.fault !== 'invalid_credentials' || signer === undefined) throw error
      // Coinbase has answered 401 to keys that were good a moment later (rotki retries for this reason). A second one
      // is final, because it takes the connection away from its owner.
      return once(path)
    }
  }
}

/**
 * Every list of the v2 API has its rows under `data`, and the place of the next page in `pagination.next_uri`, which is
 * empty or null at the end (docs.cdp.coinbase.com, coinbase-app/api-architecture/pagination). A short page is normal and
 * does not end a list.
 */
const listAnswer = z.object({
  data: z.array(z.unknown()),
  pagination: z.object({ next_uri: z.string().nullish() }).nullish(),
})

export interface ListPage {
  rows: unknown[]
  /** The query of the next page; null at the end. */
  next: string | null
}

/**
 * `position` is the query of an earlier `next`. Only the query of `next_uri` is followed: the path stays ours, so an answer
 * cannot lead a token to another place.
 */
export async function fetchListPage(call: Call, path: string, position: string | null): Promise<ListPage> {
  const query = position ?? `limit=${pageSize}&order=desc`
  const { data, pagination } = readAnswer(path.split('/').at(-1) ?? '', listAnswer, await call(`${path}?${query}`))
  const nextUri = pagination?.next_uri ?? ''
  const next = nextUri === '' ? null : new URL(nextUri, 'https://list.invalid').search.slice(1)
  // Such a list would never end, and ending it here would lose the rest of it in silence.
  if (next !== null && (next === '' || next === query)) {
    throw new SourceError('unreadable_answer', 'the place of the next page is the place of this page')
  }
  return { rows: data, next }
}
