/**
 * The token endpoint of a provider that people sign in at (RFC 6749 §4.1.3 and §6, with RFC 7636): it exchanges a code
 * for tokens, and a refresh token for the next pair. The code is the same for all providers; the address and the scope
 * are data of each provider.
 */
import { SourceError, type Fault } from '@assay/core'
import { z } from 'zod'
import type { Io } from './connector.ts'
import type { ProviderClient, SignIn } from './definition.ts'
import { fetchAnswer, toStatusError, type HttpAnswer } from './http.ts'
import { findPlainJson, parsePlainJson } from './json.ts'

export interface ProviderTokens {
  accessToken: string
  /** Null when the provider gives none: then the sign-in lasts as long as the access token. */
  refreshToken: string | null
  expiresAtMs: number
}

type TokenIo = Pick<Io, 'fetch' | 'now' | 'baseUrl' | 'requestTimeoutMs'>

export function toAuthorizationUrl(
  { origin, authorizationPath, scope }: SignIn,
  baseUrl: string | undefined,
  request: { clientId: string; redirectUri: string; state: string; codeChallenge: string },
): string {
  const url = new URL(authorizationPath, baseUrl ?? origin)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    scope,
    state: request.state,
    code_challenge: request.codeChallenge,
    code_challenge_method: 'S256',
  }).toString()
  return url.href
}

interface SignInCode {
  code: string
  codeVerifier: string
  redirectUri: string
}

/**
 * `lost` is how an earlier try with this code ended, if it got no readable answer. A code works once (§4.1.2), and that
 * try may have spent it: a refusal then says nothing about the person, and the original error is thrown again.
 */
export async function redeemProviderCode(
  io: TokenIo,
  signIn: SignIn,
  client: ProviderClient,
  { code, codeVerifier, redirectUri }: SignInCode,
  lost?: SourceError,
): Promise<ProviderTokens> {
  const fields = { grant_type: 'authorization_code', code, code_verifier: codeVerifier, redirect_uri: redirectUri }
  try {
    return await askForTokens(io, signIn, client, fields, codeRefusal)
  } catch (error) {
    if (lost !== undefined && error instanceof SourceError && error.fault === 'invalid_credentials') throw lost
    throw error
  }
}

export function renewTokens(
  io: TokenIo,
  signIn: SignIn,
  client: ProviderClient,
  refreshToken: string,
): Promise<ProviderTokens> {
  return askForTokens(io, signIn, client, { grant_type: 'refresh_token', refresh_token: refreshToken }, renewalRefusal)
}

/** RFC 6749 §A.12 and §A.17: visible characters. A token becomes a header, and both are sealed and kept. */
const token = z.string().regex(/^[\x20-\x7e]{1,16384}$/)
const tokenAnswer = z.object({
  access_token: token,
  refresh_token: token.optional(),
  // No token lasts for three centuries, and a time that is not finite cannot be stored.
  expires_in: z.number().positive().max(1e10),
})

async function askForTokens(
  io: TokenIo,
  { origin, tokenPath }: SignIn,
  { clientId, clientSecret }: ProviderClient,
  fields: Record<string, string>,
  refusal: Refusal,
): Promise<ProviderTokens> {
  const askedAtMs = io.now()
  const given = await fetchAnswer(io, new URL(tokenPath, io.baseUrl ?? origin).href, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ ...fields, client_id: clientId, client_secret: clientSecret }).toString(),
  })
  if (given.status !== 200) {
    throw toStatusError(given, io, isRefused(given, refusal) ? { [given.status]: refusal.fault } : {})
  }
  const answer = tokenAnswer.safeParse(parsePlainJson(given.text))
  if (!answer.success) {
    throw new SourceError('unreadable_answer', 'the token endpoint returned an unexpected response')
  }
  const { access_token: accessToken, refresh_token: refreshToken = null, expires_in: lifeSeconds } = answer.data
  return { accessToken, refreshToken, expiresAtMs: askedAtMs + lifeSeconds * 1_000 }
}

/** What an error of §5.2 has to be for the person to sign in again, and the fault that says so. */
interface Refusal {
  fault: Fault
  errors: readonly unknown[]
}

/** A code comes with the person's browser, which may have changed it. */
const codeRefusal: Refusal = { fault: 'invalid_credentials', errors: ['invalid_grant', 'invalid_request'] }
const renewalRefusal: Refusal = { fault: 'needs_reauth', errors: ['invalid_grant'] }
const errorAnswer = z.object({ error: z.unknown() })

/**
 * §5.2: a code or token that has expired or was revoked is a 400 with `invalid_grant`. Every other error is about our
 * registration or the provider itself, and another sign-in would not help; gateways and web frameworks write a member
 * `error` too. A 401 concerns our registration, unless it says otherwise: Coinbase documents 401 for a refresh token
 * that was used or has expired.
 */
function isRefused({ status, text }: HttpAnswer, { errors }: Refusal): boolean {
  const error = errorAnswer.safeParse(findPlainJson(text)).data?.error
  return status === 400 ? errors.includes(error) : status === 401 && error === 'invalid_grant'
}
