/**
 * Which wallet a text names. Addresses are recognised by their checksums, never by length alone, so that a typing
 * mistake shows at once and not after an empty read.
 *
 * Bitcoin: base58check (P2PKH, P2SH), BIP-173 bech32 for witness version 0, BIP-350 bech32m above; extended public
 * keys by SLIP-132 version bytes; descriptors by BIP-380. EVM: EIP-55. Solana: 32 bytes in base58, without a checksum.
 *
 * No text is an address of two of these: a Bitcoin address has 25 bytes where Solana's has 32, and only EVM's begin
 * with 0x.
 */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58, bech32, bech32m } from '@scure/base'
import { findBase58Check } from './base58.ts'
import { findDescriptor } from './descriptor.ts'
import { findExtendedPublicKey } from './extended-key.ts'

/** The kinds of chain, each with the name that people know. */
export const chainNames = { bitcoin: 'Bitcoin', evm: 'Ethereum', solana: 'Solana' } as const
export type Chain = keyof typeof chainNames

export type RecognizedWallet =
  | { chain: Chain; kind: 'address'; value: string }
  | { chain: 'bitcoin'; kind: 'extended_public_key' | 'descriptor'; value: string }

/**
 * `unsupported_script`: a wallet with several keys or conditions. `name`: a name such as `vitalik.eth`, which another
 * service would have to look up.
 */
export type WalletMistake = 'checksum' | 'test_network' | 'unsupported_script' | 'name'

export type Recognized = { wallet: RecognizedWallet } | { mistake: WalletMistake; chain: Chain }

/** Undefined when it is not a wallet we know. `mistake` when it is clearly meant as one and invalid. */
export function recognizeWallet(text: string): Recognized | undefined {
  // `bitcoin:` and `ethereum:` links (BIP-21, EIP-681), as QR codes hold them.
  const whole = text.trim().replace(/^(bitcoin|ethereum|solana):/i, '')
  const described = findDescriptor(whole)
  if (described !== undefined) {
    if ('mistake' in described) return { mistake: described.mistake, chain: 'bitcoin' }
    return { wallet: { chain: 'bitcoin', kind: 'descriptor', value: whole } }
  }
  const word = whole.split(/[?@]/, 1)[0] ?? ''
  if (/^0x[0-9a-f]{40}$/i.test(word)) return recognizeEvm(word)
  if (/^(bc|tb|bcrt)1[0-9a-z]{6,87}$/i.test(word)) return recognizeSegwit(word)
  if (/^[xyztuv]pub[1-9A-HJ-NP-Za-km-z]{100,120}$/i.test(word)) return recognizeExtendedKey(word)
  if (/^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.(?:eth|sol)$/iu.test(word)) {
    return { mistake: 'name', chain: word.toLowerCase().endsWith('.sol') ? 'solana' : 'evm' }
  }
  const solana = recognizeSolana(word)
  if (solana !== undefined) return solana
  return /^[13mn2][1-9A-HJ-NP-Za-km-z]{25,34}$/.test(word) ? recognizeBase58(word) : undefined
}

/** The 32 bytes of a public key. They have no checksum. */
function recognizeSolana(word: string): Recognized | undefined {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(word) || base58.decode(word).length !== 32) return undefined
  return { wallet: { chain: 'solana', kind: 'address', value: word } }
}

/** EIP-55: the case of each letter is a bit of the hash. All lower or all upper case carries no checksum. */
function recognizeEvm(word: string): Recognized {
  const digits = word.slice(2)
  const lower = digits.toLowerCase()
  const plain = digits === lower || digits === digits.toUpperCase()
  const checked = toChecksumCase(lower)
  if (!plain && checked !== digits) return { mistake: 'checksum', chain: 'evm' }
  return { wallet: { chain: 'evm', kind: 'address', value: `0x${checked}` } }
}

function toChecksumCase(lower: string): string {
  const hash = keccak_256(new TextEncoder().encode(lower))
  return [...lower]
    .map((digit, index) => {
      const byte = hash[index >> 1] ?? 0
      const nibble = index % 2 === 0 ? byte >> 4 : byte & 15
      return nibble >= 8 ? digit.toUpperCase() : digit
    })
    .join('')
}

function recognizeSegwit(word: string): Recognized {
  // BIP-173: mixed case is invalid.
  if (word !== word.toLowerCase() && word !== word.toUpperCase()) return { mistake: 'checksum', chain: 'bitcoin' }
  const lower = word.toLowerCase()
  if (!isSegwit(lower)) return { mistake: 'checksum', chain: 'bitcoin' }
  if (!lower.startsWith('bc1')) return { mistake: 'test_network', chain: 'bitcoin' }
  return { wallet: { chain: 'bitcoin', kind: 'address', value: lower } }
}

function isSegwit(lower: string): boolean {
  for (const [code, isVersion] of [
    [bech32, (version: number) => version === 0],
    [bech32m, (version: number) => version >= 1 && version <= 16],
  ] as const) {
    try {
      const { words } = code.decode(lower as `${string}1${string}`)
      const [version = -1, ...rest] = words
      const program = code.fromWords(rest)
      if (!isVersion(version) || program.length < 2 || program.length > 40) continue
      return version !== 0 || program.length === 20 || program.length === 32
    } catch {
      continue
    }
  }
  return false
}

function recognizeExtendedKey(word: string): Recognized {
  const key = findExtendedPublicKey(word)
  if (key === undefined) return { mistake: 'checksum', chain: 'bitcoin' }
  if (key.network === 'test') return { mistake: 'test_network', chain: 'bitcoin' }
  if (key.scripts.length === 0) return { mistake: 'unsupported_script', chain: 'bitcoin' }
  return { wallet: { chain: 'bitcoin', kind: 'extended_public_key', value: word } }
}

function recognizeBase58(word: string): Recognized | undefined {
  const payload = findBase58Check(word)
  const version = payload?.[0]
  if (payload?.length !== 21) return /^[13]/.test(word) ? { mistake: 'checksum', chain: 'bitcoin' } : undefined
  if (version === 0x6f || version === 0xc4) return { mistake: 'test_network', chain: 'bitcoin' }
  // Other coins use the same form with other version bytes.
  if (version !== 0x00 && version !== 0x05) return undefined
  return { wallet: { chain: 'bitcoin', kind: 'address', value: word } }
}
