/**
 * Extended public keys (BIP-32), distinguished by the version bytes of SLIP-132. The version says which kind of address
 * the wallet makes of the key, except for `xpub`: SLIP-132 gives it to P2PKH, and many wallets export it for every
 * kind.
 */
import { findBase58Check } from './base58.ts'

/** The names that descriptors use (BIP-381 to BIP-386). */
export type ScriptKind = 'pkh' | 'sh(wpkh)' | 'wpkh' | 'tr'

export interface ExtendedPublicKey {
  network: 'main' | 'test'
  /** The kinds of address that a wallet may have made of it; empty for keys of a multi-signature wallet. */
  scripts: readonly ScriptKind[]
  depth: number
  chainCode: Uint8Array
  publicKey: Uint8Array
}

const every: readonly ScriptKind[] = ['wpkh', 'sh(wpkh)', 'pkh', 'tr']

const versions: ReadonlyMap<number, Pick<ExtendedPublicKey, 'network' | 'scripts'>> = new Map([
  [0x0488b21e, { network: 'main', scripts: every }],
  [0x049d7cb2, { network: 'main', scripts: ['sh(wpkh)'] }],
  [0x04b24746, { network: 'main', scripts: ['wpkh'] }],
  // Ypub and Zpub: one of the keys of a multi-signature wallet, which alone says nothing about its addresses.
  [0x0295b43f, { network: 'main', scripts: [] }],
  [0x02aa7ed3, { network: 'main', scripts: [] }],
  [0x043587cf, { network: 'test', scripts: every }],
  [0x044a5262, { network: 'test', scripts: ['sh(wpkh)'] }],
  [0x045f1cf6, { network: 'test', scripts: ['wpkh'] }],
])

/** Undefined when the checksum is wrong or the version is not one of a public key. */
export function findExtendedPublicKey(text: string): ExtendedPublicKey | undefined {
  const payload = findBase58Check(text)
  if (payload?.length !== 78) return undefined
  const version = versions.get(new DataView(payload.buffer, payload.byteOffset).getUint32(0))
  // BIP-32: 4 bytes of version, 1 of depth, 4 of the parent, 4 of the child's number, 32 of chain code, 33 of key.
  return (
    version && { ...version, depth: payload[4] ?? 0, chainCode: payload.slice(13, 45), publicKey: payload.slice(45) }
  )
}
