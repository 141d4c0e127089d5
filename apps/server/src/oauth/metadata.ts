/** The metadata of the authorization server: RFC 8414 §2, and RFC 9207 §3 for the issuer in authorization answers. */
import { enterpriseScopes, platformScopes } from '../tenants/index.ts'

/** `issuer` is `{auth_url}` to the letter: clients compare it as text with the `iss` they are sent. */
export function toMetadata(issuer: string, widgetUrl: string) {
  const withSecret = ['client_secret_basic', 'client_secret_post']
  return {
    issuer,
    authorization_endpoint: widgetUrl,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    token_endpoint: `${issuer}/oauth/token`,
    token_endpoint_auth_methods_supported: ['none', ...withSecret],
    revocation_endpoint: `${issuer}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: ['none', ...withSecret],
    introspection_endpoint: `${issuer}/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: withSecret,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    code_challenge_methods_supported: ['S256', 'plain'],
    scopes_supported: [...platformScopes, ...enterpriseScopes],
    authorization_response_iss_parameter_supported: true,
  }
}
