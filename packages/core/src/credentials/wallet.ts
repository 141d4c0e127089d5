/**
 * Which wallet a text is: addresses by their checksums, never by length alone, so that a slip of the keyboard is told
 * at once and not after an empty read.
 *
 * Bitcoin: base58check (P2PKH, P2SH), BIP-173 bech32 for witness version 0, BIP-350 bech32m above; extended public
 * keys by SLIP-132 version bytes. EVM: EIP-55.
 */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bech32, bech32m } from '@scure/base'
import { findBase58Check } from './base58.ts'

export type RecognizedWallet =
  | { chain: 'bitcoin' | 'evm'; kind: 'address'; value: string }
  | { chain: 'bitcoin'; kind: 'extended_public_key'; value: string }

export type WalletMistake = 'checksum' | 'test_network'

/** Undefined: no wallet we know. A `mistake`: surely meant as one, and not right. */
export function recognizeWallet(
  text: string,
): { wallet: RecognizedWallet } | { mistake: WalletMistake; chain: 'bitcoin' | 'evm' } | undefined {
  // `bitcoin:` and `ethereum:` links (BIP-21, EIP-681), as QR codes hold them.
  const word =
    text
      .trim()
      .replace(/^(bitcoin|ethereum):/i, '')
      .split(/[?@]/, 1)[0] ?? ''
  if (/^0x[0-9a-f]{40}$/i.test(word)) return recognizeEvm(word)
  if (/^(bc|tb|bcrt)1[0-9a-z]{6,87}$/i.test(word)) return recognizeSegwit(word)
  if (/^[xyztuv]pub[1-9A-HJ-NP-Za-km-z]{100,}$/i.test(word)) return recognizeExtendedKey(word)
  if (/^[13mn2][1-9A-HJ-NP-Za-km-z]{25,34}$/.test(word)) return recognizeBase58(word)
  return undefined
}

/** EIP-55: the case of each letter is a bit of the hash. All lower or all upper case carries no checksum. */
function recognizeEvm(word: string): ReturnType<typeof recognizeWallet> {
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

function recognizeSegwit(word: string): ReturnType<typeof recognizeWallet> {
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

/** SLIP-132: xpub, ypub, zpub on the main network; tpub, upub, vpub on test networks. */
const extendedVersions: ReadonlyMap<number, 'main' | 'test'> = new Map([
  [0x0488b21e, 'main'],
  [0x049d7cb2, 'main'],
  [0x04b24746, 'main'],
  [0x043587cf, 'test'],
  [0x044a5262, 'test'],
  [0x045f1cf6, 'test'],
])

function recognizeExtendedKey(word: string): ReturnType<typeof recognizeWallet> {
  const payload = findBase58Check(word)
  if (payload?.length !== 78) return { mistake: 'checksum', chain: 'bitcoin' }
  const network = extendedVersions.get(new DataView(payload.buffer, payload.byteOffset).getUint32(0))
  if (network === undefined) return { mistake: 'checksum', chain: 'bitcoin' }
  if (network === 'test') return { mistake: 'test_network', chain: 'bitcoin' }
  return { wallet: { chain: 'bitcoin', kind: 'extended_public_key', value: word } }
}

function recognizeBase58(word: string): ReturnType<typeof recognizeWallet> {
  const payload = findBase58Check(word)
  const version = payload?.[0]
  if (payload?.length !== 21) return /^[13]/.test(word) ? { mistake: 'checksum', chain: 'bitcoin' } : undefined
  if (version === 0x6f || version === 0xc4) return { mistake: 'test_network', chain: 'bitcoin' }
  // Other coins use the same form with other version bytes.
  if (version !== 0x00 && version !== 0x05) return undefined
  return { wallet: { chain: 'bitcoin', kind: 'address', value: word } }
}
