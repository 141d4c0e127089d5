/**
 * Bodies of the OAuth endpoints: application/x-www-form-urlencoded in UTF-8 (RFC 6749 §4.1.3 and appendix B), and
 * nothing else. URLSearchParams is the decoder, because it keeps repeated names apart and never throws.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { OAuthError, parseParameters, type OauthRequest } from '../../oauth/index.ts'

/** Room for the longest form of a client: a redirect URI of 2,000 characters with each of them encoded. */
export const formBytesMax = 8 * 1024
/** Unknown parameters are ignored (RFC 6749 §3.2), but a client does not send dozens of them. */
const parametersMax = 30

export function acceptFormsOnly(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: formBytesMax },
    async (_request: FastifyRequest, bytes: Buffer) => parseForm(bytes),
  )
}

export function toOauthRequest(request: FastifyRequest): OauthRequest {
  // Without body and Content-Type no parser ran.
  if (!(request.body instanceof URLSearchParams)) throw notForm()
  if (request.body.size > parametersMax) {
    throw new OAuthError('invalid_request', `send at most ${parametersMax} parameters`)
  }
  return { parameters: parseParameters(request.body), authorization: request.headers.authorization }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseForm(bytes: Buffer): URLSearchParams {
  try {
    return new URLSearchParams(utf8.decode(bytes))
  } catch (error) {
    if (error instanceof TypeError) throw notForm()
    throw error
  }
}

export function notForm(): OAuthError {
  return new OAuthError('invalid_request', 'send the parameters as application/x-www-form-urlencoded in UTF-8')
}
