/**
 * Client secrets. They are 256 random bits, so a plain SHA-256 is enough to store them: unlike a password, they cannot
 * be guessed, so a slow hash would add nothing.
 */
import { hash as digest, timingSafeEqual } from 'node:crypto'

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
