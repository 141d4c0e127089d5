/**
 * The authorization server's refusals: the closed set of codes of RFC 6749 §4.1.2.1 and §5.2, and whether the answer may
 * be carried back to the client through the browser. Knows no HTTP status; http/oauth maps every code.
 */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'server_error'
  | 'temporarily_unavailable'

/** Where the client listens. Only ever a registered URI: see parseAuthorizationRequest. */
export interface ReturnAddress {
  redirectUri: string
  /** As the client sent it; undefined when it sent none or several. */
  state: string | undefined
}

export class OAuthError extends Error {
  readonly code: OAuthErrorCode
  /** Undefined: the browser must stay here, on an error page. */
  readonly returnTo: ReturnAddress | undefined

  /** `description` reaches the client's developers as error_description: plain ASCII, nothing secret, nothing quoted. */
  constructor(code: OAuthErrorCode, description: string, returnTo?: ReturnAddress) {
    super(description)
    this.name = 'OAuthError'
    this.code = code
    this.returnTo = returnTo
  }
}
