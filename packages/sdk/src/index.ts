export type { CallOptions } from './calling/calls.ts'
export { loadConnect } from './connect.ts'
export type * from './connect.ts'
export type { Changes, ChangesOptions, ChangesPage, Copy } from './changes.ts'
export { verifyClaim, type VerifiedClaim, type VerifyClaimOptions } from './claims.ts'
export { createClient, toTokenClient, type Client, type ClientOptions } from './client.ts'
export { createEnterpriseClient, type EnterpriseClient, type EnterpriseOptions } from './enterprise/enterprise.ts'
export type * from './enterprise/enterprise-types.ts'
export { ClaimError, ConnectionError, OAuthError, ProblemError, WebhookError } from './errors.ts'
export {
  createPkce,
  createState,
  readCallback,
  toAuthorizationUrl,
  type AuthorizationRequest,
  type Pkce,
} from './pkce.ts'
export {
  exchangeCode,
  revokeToken,
  type CodeExchange,
  type TokenClient,
  type Tokens,
  type TokenStore,
} from './tokens.ts'
export type * from './types.ts'
export { verifyWebhook, type WebhookEvent, type WebhookOptions, type WebhookRequest } from './webhooks.ts'
