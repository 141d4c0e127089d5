/**
 * How a client proves who it is: with a secret, or with keys that sign login tokens (docs/guides/integrate.md, "Users
 * whom you know").
 *
 * A secret is 256 random bits, so a plain SHA-256 is enough to store it: unlike a password, it cannot be guessed, and a
 * slow hash would add nothing. Of a login key only the public half is kept, reduced to the members that matter (RFC
 * 7517, RFC 7518 §6.2, RFC 8037 §2), so that a private key that was pasted by mistake is refused and not stored.
 */
import { hash as digest, timingSafeEqual } from 'node:crypto'
import { invalidParameter } from '@assay/core'
import { calculateJwkThumbprint, importJWK, type JWK } from 'jose'
import { z } from 'zod'

/** Compared when a client has no hash, so that an unknown client takes as long as a wrong secret. */
const dummyHash = sha256('no client has this secret')

export function sha256(text: string): Buffer {
  return digest('sha256', text, 'buffer')
}

/** `hashes` are of the secrets valid now, as hex; none for a public or unknown client. */
export function matchesSecret(presented: string, hashes: readonly string[]): boolean {
  const hash = sha256(presented)
  const candidates = hashes.length > 0 ? hashes.map((hex) => Buffer.from(hex, 'hex')) : [dummyHash]
  let matches = false
  // No early exit: the time says nothing about which of several secrets it was.
  for (const candidate of candidates) matches = timingSafeEqual(hash, candidate) || matches
  return matches && hashes.length > 0
}

export interface LoginKey {
  keyId: string
  jwk: JWK
}

const coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
const kid = z.string().min(1).max(128).optional()
const loginKeySchema = z.union([
  z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: coordinate, y: coordinate, kid }),
  z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: coordinate, kid }),
])

export async function checkLoginKey(given: unknown): Promise<LoginKey> {
  if (typeof given === 'object' && given !== null && 'd' in given) {
    throw invalidParameter('jwk', 'is a private key: register its public half, and keep this one to yourself')
  }
  const parsed = loginKeySchema.safeParse(given)
  if (!parsed.success)
    throw invalidParameter('jwk', 'must be a public JWK of kty EC with crv P-256, or OKP with Ed25519')
  const { kid: named, ...key } = parsed.data
  const alg = key.kty === 'EC' ? 'ES256' : 'EdDSA'
  try {
    await importJWK(key, alg)
  } catch {
    throw invalidParameter('jwk', 'must be a point on its curve')
  }
  // RFC 7638: a key without a name is known by its thumbprint.
  const keyId = named ?? (await calculateJwkThumbprint(key))
  return { keyId, jwk: { ...key, kid: keyId, alg, use: 'sig' } }
}
