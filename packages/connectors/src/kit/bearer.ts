/**
 * Calls with an OAuth2 access token (RFC 6750). The server keeps the tokens and renews them; this client asks for a new
 * one exactly once when the provider rejects the one it had.
 */
import { SourceError } from '@assay/core'
import type { BearerCredentials, Io } from './connector.ts'
import { fetchText, type HttpAnswer } from './http.ts'
import { parseJson } from './json.ts'

/** `path` begins with a slash and may have a query. Numbers in the result are text. */
export type BearerCall = (path: string) => Promise<unknown>

export function createBearerClient(
  { getToken }: BearerCredentials,
  io: Io,
  { baseUrl, isOwnError }: { baseUrl: string; isOwnError: (answer: HttpAnswer) => boolean },
): BearerCall {
  const once = async (path: string, token: string): Promise<unknown> =>
    parseJson(
      await fetchText(io, new URL(path, io.baseUrl ?? baseUrl).href, {
        headers: { Authorization: `Bearer ${token}` },
        faultByStatus: { 401: 'needs_reauth', 403: 'missing_permission' },
        isOwnError,
      }),
    )
  return async (path) => {
    const token = await getToken()
    try {
      return await once(path, token)
    } catch (error) {
      if (!(error instanceof SourceError) || error.fault !== 'needs_reauth') throw error
      // The token expired early. If a fresh token is refused too, that is final.
      return once(path, await getToken(token))
    }
  }
}
