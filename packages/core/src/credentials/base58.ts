/** Base58 with the checksum of Bitcoin, returning undefined instead of throwing. */
import { sha256 } from '@noble/hashes/sha2.js'
import { createBase58check } from '@scure/base'

const base58check = createBase58check(sha256)

/** Extended keys are the longest and have 112 characters. Decoding takes the square of the length. */
const lengthMax = 120

/** The bytes before the checksum; undefined when it is not base58, too long, or the checksum is wrong. */
export function findBase58Check(text: string): Uint8Array | undefined {
  if (text.length > lengthMax) return undefined
  try {
    return base58check.decode(text)
  } catch {
    return undefined
  }
}
