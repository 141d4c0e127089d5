/**
 * Verifying a claim: a compact JWS (RFC 7515) with ES256, with WebCrypto only. Any recipient of a statement can verify
 * it without an account at the service: the issuer's public keys are at its /.well-known/jwks.json.
 */
import { ClaimError } from './errors.ts'
import type { ProofGrade } from './types.ts'

export interface VerifyClaimOptions {
  /** The exact auth_url of the service that you trust. */
  issuer: string
  /** Your own name: the `audience` that the claim was made for, or the client id. */
  audience: string
  /** The issuer's keys, where you have them; otherwise they are fetched. */
  jwks?: { keys: readonly object[] } | undefined
  fetch?: typeof globalThis.fetch | undefined
  /** Epoch milliseconds; default: now. */
  nowMs?: number | undefined
  /** Statements of a sandbox describe invented money and are refused unless you set this. */
  acceptSandbox?: boolean | undefined
  /**
   * How long before it was signed the moment that a statement is about (`as_of`) may be; default: two days. Whoever asks
   * for a claim chooses the moment, so with `Infinity` you have to look at `as_of` yourself.
   */
  ageMaxMs?: number | undefined
  /** How well the data has to be proved; default: `proved` or `explained`. Whoever asks for a claim chooses that as well. */
  grades?: readonly ProofGrade[] | undefined
}

export interface VerifiedClaim {
  iss: string
  /** The user, under a name that only this consent has. */
  sub: string
  aud: string
  iat: number
  exp: number
  jti: string
  claim: 'value_at_least' | 'holds_at_least'
  amount_in_usd?: string
  asset_id?: string
  amount?: string
  holds: boolean
  grade: ProofGrade
  as_of: string
  sandbox?: true
}

/** A statement has about 700 characters; it comes from the person who wants it to be believed. */
const lengthMax = 8_192

/** A claim about the present is about the oldest of its readings, and by default a service counts none that is older than a day. */
const ageMaxDefaultMs = 2 * 86_400_000

/** Those that a claim asks for by default. */
const gradesDefault: readonly ProofGrade[] = ['proved', 'explained']

/**
 * What the statement says, if the issuer signed it for this audience and it is still valid; throws a ClaimError
 * otherwise.
 */
export async function verifyClaim(statement: string, options: VerifyClaimOptions): Promise<VerifiedClaim> {
  if (statement.length > lengthMax) throw new ClaimError('the statement is not a compact JWS')
  const [head = '', body = '', signature = '', ...rest] = statement.split('.')
  if (signature === '' || rest.length > 0) throw new ClaimError('the statement is not a compact JWS')
  const header = parse(head)
  // RFC 8725 §3.1 and §3.11: this code decides what is accepted, not the statement.
  if (header['alg'] !== 'ES256' || header['typ'] !== 'assay-claim+jwt') {
    throw new ClaimError('the statement is not an ES256 claim')
  }
  const key = await importKey(await findKey(header['kid'], options))
  const signed = new TextEncoder().encode(`${head}.${body}`)
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' }
  const isSigned = await crypto.subtle.verify(algorithm, key, toBytes(signature), signed)
  if (!isSigned) throw new ClaimError('the signature does not match the statement')
  const claim = parse(body) as unknown as VerifiedClaim
  checkTerms(claim, options)
  return claim
}

function checkTerms(claim: VerifiedClaim, options: VerifyClaimOptions): void {
  const { issuer, audience, nowMs = Date.now(), acceptSandbox } = options
  const { ageMaxMs = ageMaxDefaultMs, grades = gradesDefault } = options
  if (claim.iss !== issuer) throw new ClaimError('the statement comes from another issuer')
  if (claim.aud !== audience) throw new ClaimError('the statement was made for another audience')
  if (!(nowMs / 1000 < claim.exp)) throw new ClaimError('the statement has expired')
  if (!(claim.iat * 1000 - Date.parse(claim.as_of) <= ageMaxMs)) {
    throw new ClaimError(`the statement is about an earlier time, ${claim.as_of}`)
  }
  if (!grades.includes(claim.grade)) throw new ClaimError(`the data of the statement is ${claim.grade}`)
  if (claim.sandbox === true && acceptSandbox !== true) throw new ClaimError('the statement comes from a sandbox')
}

async function findKey(kid: unknown, { issuer, jwks, fetch = globalThis.fetch }: VerifyClaimOptions): Promise<object> {
  const known: unknown = jwks ?? (await fetchKeys(issuer, fetch))
  const keys: unknown = typeof known === 'object' && known !== null && 'keys' in known ? known.keys : undefined
  if (!Array.isArray(keys)) throw new ClaimError('the keys of the issuer are not a JWK set')
  const key: unknown = keys.find((one: { kid?: unknown } | null) => one?.kid === kid)
  if (kid === undefined || typeof key !== 'object' || key === null) {
    throw new ClaimError('the issuer does not publish this key')
  }
  return key
}

async function fetchKeys(issuer: string, fetch: typeof globalThis.fetch): Promise<unknown> {
  const response = await fetch(`${issuer}/.well-known/jwks.json`)
  if (!response.ok) throw new ClaimError(`the keys of the issuer could not be read: ${response.status}`)
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function importKey(jwk: object): ReturnType<typeof crypto.subtle.importKey> {
  const { kty, crv, x, y } = jwk as Record<string, string | undefined>
  // Takes only the public members of this kind: other members of a key could forbid its use.
  const bare = { kty: kty ?? '', crv: crv ?? '', x: x ?? '', y: y ?? '' }
  try {
    return await crypto.subtle.importKey('jwk', bare, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify'])
  } catch {
    throw new ClaimError('the key of the issuer is not a P-256 key')
  }
}

function parse(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(toBytes(part)))
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Neither UTF-8 nor JSON.
  }
  throw new ClaimError('the statement is not a compact JWS')
}

/** Strict base64url: a second way to write the same bytes would be another statement with the same signature. */
function toBytes(part: string): Uint8Array<ArrayBuffer> {
  // No bytes have such a length in base64.
  if (!/^[\w-]+$/.test(part) || part.length % 4 === 1) throw new ClaimError('the statement is not a compact JWS')
  const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
  const again = btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
  if (again !== part) throw new ClaimError('the statement is not a compact JWS')
  return bytes
}
