/**
 * Codes and tokens as text: how they are made, and what is kept of them (SHA-256, nothing else).
 *
 * Codes and access tokens are 256 random bits. A refresh token is a *handle* of 128 random bits, which all refresh tokens
 * of a family share, followed by 256 bits of its own. Who shows the handle has held a token of that family; when the
 * rest is not the present token's, it is a spent one. So a replay is recognised for as long as the family lives, and a
 * family that is refreshed every fifteen minutes for a year is one row instead of 35,000.
 *
 * The second and later pairs are derived (HMAC) from a server key, the spent token and a stored nonce. An honest retry
 * can then be given the same pair again although no token is stored, and the database alone makes no token.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

export type RandomBytes = (size: number) => Buffer

const secretBytes = 32
const handleBytes = 16
export const nonceBytes = 16

export interface TokenPair {
  accessToken: string
  refreshToken: string
}

export function sha256(value: string | Buffer): Buffer {
  return createHash('sha256').update(value).digest()
}

export function sameHash(a: Buffer, b: Buffer | null): boolean {
  return b !== null && a.length === b.length && timingSafeEqual(a, b)
}

/** An authorization code or an access token. */
export function newSecret(randomBytes: RandomBytes): string {
  return randomBytes(secretBytes).toString('base64url')
}

/** RFC 6750 §2.1: the header is the only place a token may come in. The scheme's case means nothing (RFC 9110 §11.1). */
export function findBearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

export function isAccessToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

export function newRefreshToken(randomBytes: RandomBytes): string {
  return randomBytes(handleBytes + secretBytes).toString('base64url')
}

/** Undefined when the text has not the shape of a refresh token. */
export function findHandle(refreshToken: string): Buffer | undefined {
  // 48 bytes are 64 characters exactly: no spare bits, so no second spelling of the same token.
  if (!/^[A-Za-z0-9_-]{64}$/.test(refreshToken)) return undefined
  return Buffer.from(refreshToken, 'base64url').subarray(0, handleBytes)
}

/** The pair that `spent` was exchanged for. The same key, token and nonce give the same pair. */
export function derivePair(key: Uint8Array, spent: string, handle: Buffer, nonce: Buffer): TokenPair {
  const derive = (purpose: 'access' | 'refresh'): Buffer =>
    // Purpose and nonce have fixed lengths between separators, so no two inputs are one text.
    createHmac('sha256', key)
      .update(`${purpose}\n${nonce.toString('base64url')}\n${spent}`)
      .digest()
  return {
    accessToken: derive('access').toString('base64url'),
    refreshToken: Buffer.concat([handle, derive('refresh')]).toString('base64url'),
  }
}

export type CodeChallengeMethod = 'S256' | 'plain'

/** RFC 7636 §4.6. The method is the one stored with the challenge, never one that comes with the verifier. */
export function verifiesChallenge(verifier: string, challenge: string, method: CodeChallengeMethod): boolean {
  const transformed = method === 'S256' ? sha256(verifier).toString('base64url') : verifier
  // Hashed first, so that texts of any length are compared in the same time.
  return timingSafeEqual(sha256(transformed), sha256(challenge))
}
