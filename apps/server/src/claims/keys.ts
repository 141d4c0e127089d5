/**
 * The keys that sign claims (ES256, RFC 7518 §3.4). An API process signs while a request waits, and must not hold a
 * secret that is reserved for workers, so each key is derived from a server key, and the newest signs. The database
 * keeps the public halves, because a statement must verify after its server key has left the ring.
 */
import { createECDH, hkdfSync } from 'node:crypto'
import { calculateJwkThumbprint, importJWK, type CryptoKey, type JWK } from 'jose'

export interface ClaimKey {
  kid: string
  publicJwk: JWK
  privateKey: CryptoKey | Uint8Array
}

/** The order of P-256 (FIPS 186-5, SP 800-186 §3.2.1.3). */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const fieldBytes = 32

/** 64 bits more than the order has, so that the remainder is as good as even (FIPS 186-5 §A.2.1). */
const wideBytes = fieldBytes + 8

export async function toClaimKey(secret: Uint8Array): Promise<ClaimKey> {
  const wide = Buffer.from(hkdfSync('sha256', secret, '', 'assay:claims:p-256', wideBytes))
  const scalar = (BigInt(`0x${wide.toString('hex')}`) % (order - 1n)) + 1n
  const d = Buffer.from(scalar.toString(16).padStart(2 * fieldBytes, '0'), 'hex')
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(d)
  // Uncompressed: one byte that says so, and the two coordinates.
  const point = pair.getPublicKey()
  const publicJwk = {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 1 + fieldBytes).toString('base64url'),
    y: point.subarray(1 + fieldBytes).toString('base64url'),
  }
  const kid = await calculateJwkThumbprint(publicJwk)
  const privateKey = await importJWK({ ...publicJwk, d: d.toString('base64url') }, 'ES256')
  return { kid, publicJwk: { ...publicJwk, kid, alg: 'ES256', use: 'sig' }, privateKey }
}
