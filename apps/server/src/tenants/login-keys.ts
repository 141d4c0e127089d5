/**
 * Keys with which a client signs login tokens (contract §4). Only the public half is kept, reduced to the members that
 * matter (RFC 7517, RFC 7518 §6.2, RFC 8037 §2), so that a private key pasted by mistake is refused and not stored.
 */
import { invalidParameter } from '@assay/core'
import { calculateJwkThumbprint, importJWK, type JWK } from 'jose'
import { z } from 'zod'

export interface LoginKey {
  keyId: string
  jwk: JWK
}

const coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
const kid = z.string().min(1).max(128).optional()
const schema = z.union([
  z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: coordinate, y: coordinate, kid }),
  z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: coordinate, kid }),
])

export async function checkLoginKey(given: unknown): Promise<LoginKey> {
  if (typeof given === 'object' && given !== null && 'd' in given) {
    throw invalidParameter('jwk', 'is a private key: register its public half, and keep this one to yourself')
  }
  const parsed = schema.safeParse(given)
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
