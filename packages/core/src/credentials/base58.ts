/** Base58 with the checksum of Bitcoin, returning undefined instead of throwing. */
import { sha256 } from '@noble/hashes/sha2.js'
import { createBase58check } from '@scure/base'

const base58check = createBase58check(sha256)

/** The bytes before the checksum; undefined when it is not base58 or the checksum is wrong. */
export function findBase58Check(text: string): Uint8Array | undefined {
  try {
    return base58check.decode(text)
  } catch {
    return undefined
  }
}
