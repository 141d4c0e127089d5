/**
 * What must never leave the page: a seed phrase, a private key, an extended private key. Pasted by mistake into a field
 * for an address or a read-only key, it is recognised here and the form does not send.
 *
 * By shape, not by word list: the BIP-39 lists are 2,048 words in ten languages, and a false alarm costs a moment
 * while a miss could cost all funds. https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki
 */
import { base58 } from '@scure/base'
import { findBase58Check } from './base58.ts'

/**
 * `private_key_or_hash`: 32 bytes in hexadecimal are a private key or the hash of a transaction, and 64 bytes in base58
 * are a key or a signature of Solana. They cannot be distinguished, so both are kept on the page.
 */
export type PrivateMaterial = 'seed_phrase' | 'private_key' | 'private_key_or_hash' | 'extended_private_key'

const phraseLengths = new Set([12, 15, 18, 21, 24])
/** WIF: https://en.bitcoin.it/wiki/Wallet_import_format; mainnet and testnet version bytes. */
const wifVersions = new Set([0x80, 0xef])

export function findPrivateMaterial(text: string): PrivateMaterial | undefined {
  const trimmed = text.trim()
  if (isSeedPhrase(trimmed)) return 'seed_phrase'
  const word = trimmed.replaceAll(/\s+/g, '')
  // The key may also be inside a descriptor.
  if (/(?:^|[^1-9A-HJ-NP-Za-km-z])[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{20,}/i.test(word)) return 'extended_private_key'
  if (isKeyBytes(word)) return 'private_key'
  if (/^(0x)?[0-9a-f]{64}$/i.test(word) || isSolanaKey(word)) return 'private_key_or_hash'
  if (/^[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}$/.test(word)) {
    const payload = findBase58Check(word)
    if (payload !== undefined && wifVersions.has(payload[0] ?? 0)) return 'private_key'
  }
  return undefined
}

/** The key file of Solana's command line: 64 bytes as numbers. Some wallets export only the first 32. */
function isKeyBytes(word: string): boolean {
  if (!/^\[?\d{1,3}(?:,\d{1,3}){31,63},?\]?$/.test(word)) return false
  const bytes = word.match(/\d+/g) ?? []
  return (bytes.length === 32 || bytes.length === 64) && bytes.every((byte) => Number(byte) < 256)
}

function isSolanaKey(word: string): boolean {
  return /^[1-9A-HJ-NP-Za-km-z]{64,90}$/.test(word) && base58.decode(word).length === 64
}

function isSeedPhrase(text: string): boolean {
  const words = text.split(/[\s,]+/).filter((word) => word !== '')
  // Words of the lists have three to eight letters (Japanese ones more bytes, not more letters); numbers may be in
  // front.
  const letters = words.filter((word) => !/^\d{1,2}[.)]?$/.test(word))
  return phraseLengths.has(letters.length) && letters.every((word) => /^[\p{L}\p{M}]{2,9}$/u.test(word))
}
