/** Secrets of connect and manage sessions, and states: 256 random bits, kept as SHA-256. */
import { createHash } from 'node:crypto'
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

export function unknownSession(): Refusal {
  return new Refusal('invalid_token', 'This session is unknown or has expired.')
}
