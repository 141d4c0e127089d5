/**
 * Secrets of connect and manage sessions, and states: 256 random bits, kept as SHA-256. And which key of the ring
 * something was derived with, for what has to outlast a rotation of the keys.
 */
import { createHash, createHmac } from 'node:crypto'
import { Refusal } from '@assay/core'

const secretBytes = 32

export function newSecret(randomBytes: (size: number) => Buffer): string {
  return randomBytes(secretBytes).toString('base64url')
}

export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

/** RFC 6750 §2.1: the header is the only place a secret may come in. */
export function hashBearer(authorization: string | undefined): Buffer {
  const bearer = /^Bearer +([A-Za-z0-9_-]{43})$/i.exec(authorization ?? '')?.[1]
  if (bearer === undefined) throw unknownSession()
  return hashSecret(bearer)
}

/** The newest key of a ring, which derives. */
export function currentKey([key]: readonly Uint8Array[]): Uint8Array {
  if (key === undefined) throw new Error('the keyring is empty')
  return key
}

export function keyIdOf(key: Uint8Array): Buffer {
  return createHmac('sha256', key).update('key id').digest().subarray(0, 8)
}

/** Undefined when the key has left the ring. */
export function findKey(keys: readonly Uint8Array[], keyId: Buffer): Uint8Array | undefined {
  return keys.find((key) => keyIdOf(key).equals(keyId))
}

export function unknownSession(): Refusal {
  return new Refusal('invalid_token', 'This session is unknown or has expired.')
}
