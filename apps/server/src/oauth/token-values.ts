/**
 * Codes and tokens as text: how they are made, what is stored of them (only their SHA-256), and what their text
 * reveals.
 *
 *   code, access token     user key (8 bytes) ‖ 32 random bytes                               54 characters
 *   refresh token          user key (8 bytes) ‖ handle (16 bytes) ‖ 32 bytes of its own       75 characters
 *   client's access token  32 random bytes                                                    43 characters
 *
 * The user key tells which rows to look at, so that every look-up names the one column that rows are distributed by. It
 * is random and opaque to clients, and proves nothing: only the hash of the whole text does.
 *
 * All refresh tokens of a family share the *handle*. A caller that shows the handle has held a token of that family; if
 * the rest is not that of the present token, the token is a spent one. So a replay is recognised for as long as the
 * family lives, and a family that is refreshed every fifteen minutes for a year is one row instead of 35,000.
 *
 * The second and later pairs are derived (HMAC) from a server key, the spent token and a stored nonce. An honest retry
 * can then be given the same pair again although no token is stored, and the database alone makes no token.
 */
import { createHmac, hash, timingSafeEqual, type KeyObject } from 'node:crypto'
import { Refusal } from '@assay/core'

export type RandomBytes = (size: number) => Buffer

const userKeyBytes = 8
const handleBytes = 16
const secretBytes = 32
const userTokenBytes = userKeyBytes + secretBytes
const refreshTokenBytes = userKeyBytes + handleBytes + secretBytes
export const nonceBytes = 16

export interface TokenPair {
  accessToken: string
  refreshToken: string
}

export function sha256(value: string | Buffer): Buffer {
  return hash('sha256', value, 'buffer')
}

export function sameHash(a: Buffer, b: Buffer | null): boolean {
  return b !== null && a.length === b.length && timingSafeEqual(a, b)
}

/** The access token of a client itself, for the tenant's own access. */
export function newClientToken(randomBytes: RandomBytes): string {
  return randomBytes(secretBytes).toString('base64url')
}

/** A user's authorization code or access token. */
export function newUserToken(userKey: string, randomBytes: RandomBytes): string {
  return join(userKey, randomBytes(secretBytes))
}

export function newRefreshToken(userKey: string, randomBytes: RandomBytes): string {
  return join(userKey, randomBytes(handleBytes + secretBytes))
}

/**
 * RFC 6750 §2.1: the header is the only place a token may come in. The scheme's case means nothing (RFC 9110 §11.1).
 */
export function findBearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

/** What the text of an access token reveals before the database is asked. */
export type AccessToken = { kind: 'user'; userKey: string; tokenHash: Buffer } | { kind: 'client'; tokenHash: Buffer }

/** Undefined when the text cannot be an access token. */
export function readAccessToken(text: string): AccessToken | undefined {
  if (decode(text, secretBytes) !== undefined) return { kind: 'client', tokenHash: sha256(text) }
  const user = readUserToken(text)
  return user && { kind: 'user', ...user }
}

/** The bearer of a request to the API; undefined when there is none, or its text cannot be an access token. */
export function readBearer(authorization: string | undefined): AccessToken | undefined {
  const bearer = findBearer(authorization)
  return bearer === undefined ? undefined : readAccessToken(bearer)
}

/** An authorization code or a user's access token; undefined when the text does not have the shape of one. */
export function readUserToken(text: string): { userKey: string; tokenHash: Buffer } | undefined {
  const bytes = decode(text, userTokenBytes)
  return bytes && { userKey: userKeyOf(bytes), tokenHash: sha256(text) }
}

export interface RefreshToken {
  text: string
  userKey: string
  tokenHash: Buffer
  handle: Buffer
  handleHash: Buffer
}

/** Undefined when the text does not have the shape of a refresh token. */
export function readRefreshToken(text: string): RefreshToken | undefined {
  const bytes = decode(text, refreshTokenBytes)
  if (bytes === undefined) return undefined
  const handle = bytes.subarray(userKeyBytes, userKeyBytes + handleBytes)
  return { text, userKey: userKeyOf(bytes), tokenHash: sha256(text), handle, handleHash: sha256(handle) }
}

function join(userKey: string, rest: Buffer): string {
  const key = Buffer.alloc(userKeyBytes)
  key.writeBigInt64BE(BigInt(userKey))
  return Buffer.concat([key, rest]).toString('base64url')
}

function userKeyOf(bytes: Buffer): string {
  return bytes.readBigInt64BE().toString()
}

/**
 * The last character has bits to spare, so that some lengths have several spellings of the same bytes. Only the one
 * that we write is a token: another spelling of a refresh token would look like a spent one and end its family.
 */
function decode(text: string, size: number): Buffer | undefined {
  if (text.length !== Math.ceil((size * 4) / 3)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === size && bytes.toString('base64url') === text ? bytes : undefined
}

/** The pair that `spent` was exchanged for. The same key, token and nonce give the same pair. */
export function derivePair(key: KeyObject, spent: RefreshToken, nonce: Buffer): TokenPair {
  const derive = (purpose: 'access' | 'refresh'): Buffer =>
    // Purpose and nonce have fixed lengths between separators, so no two inputs are one text.
    createHmac('sha256', key)
      .update(`${purpose}\n${nonce.toString('base64url')}\n${spent.text}`)
      .digest()
  return {
    accessToken: join(spent.userKey, derive('access')),
    refreshToken: join(spent.userKey, Buffer.concat([spent.handle, derive('refresh')])),
  }
}

export type CodeChallengeMethod = 'S256' | 'plain'

/** RFC 7636 §4.6. The method is the one stored with the challenge, never one that comes with the verifier. */
export function verifiesChallenge(verifier: string, challenge: string, method: CodeChallengeMethod): boolean {
  const transformed = method === 'S256' ? sha256(verifier).toString('base64url') : verifier
  // Hashed first, so that texts of any length are compared in the same time.
  return timingSafeEqual(sha256(transformed), sha256(challenge))
}

/** The same for every reason, so that a caller learns nothing about tokens that are not its own. */
export function refuseAccessToken(): Refusal {
  return new Refusal(
    'invalid_token',
    'The access token is unknown, expired or revoked. Refresh it, or send the user to connect again.',
  )
}
