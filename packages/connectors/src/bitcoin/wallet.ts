/**
 * Derives addresses from what the user pasted. The extended key stays in this process: no request, connector state or
 * error ever contains it.
 */
import { createHash } from 'node:crypto'
import { findDescriptor, findExtendedPublicKey, recognizeWallet, type ScriptKind } from '@assay/core/credentials'
import { SourceError } from '@assay/core'
import { HDKey } from '@scure/bip32'
import { p2pkh, p2sh, p2tr, p2wpkh } from '@scure/btc-signer'
import type { WalletCredentials } from '../kit/connector.ts'

/** A list of addresses of one kind, for receiving or for change. */
export interface Branch {
  /** Unique within the wallet and the same in every process, because the state stores it with the addresses. */
  id: string
  /** Null when it has no end. */
  length: number | null
  addressAt(index: number): string
}

export interface Wallet {
  branches: readonly [Branch, ...Branch[]]
  fingerprint: string
}

const toAddress: Readonly<Record<ScriptKind, (publicKey: Uint8Array) => string | undefined>> = {
  pkh: (key) => p2pkh(key).address,
  'sh(wpkh)': (key) => p2sh(p2wpkh(key)).address,
  wpkh: (key) => p2wpkh(key).address,
  // BIP-340: Taproot keys have no sign, so we drop the first byte.
  tr: (key) => p2tr(key.slice(1)).address,
}

interface Account {
  key: { chainCode: Uint8Array; publicKey: Uint8Array }
  scripts: readonly ScriptKind[]
  /** Steps from the key to each branch. */
  branches: readonly (readonly number[])[]
  isRanged: boolean
}

/** BIP-44: receiving addresses are children of 0, change of 1. */
const standardBranches = [[0], [1]]

export function toWallet({ address, extendedPublicKey, descriptor }: WalletCredentials): Wallet {
  if (address !== undefined) return toSingleAddress(address)
  const account = findAccount(extendedPublicKey, descriptor)
  if (account === undefined) throw new SourceError('invalid_credentials', 'this wallet cannot be read')
  const [first, ...others] = account.scripts.flatMap((script) => toBranches(account, script))
  if (first === undefined) throw new SourceError('invalid_credentials', 'this wallet has no kind of address')
  return { branches: [first, ...others], fingerprint: toFingerprint(account) }
}

function toSingleAddress(text: string): Wallet {
  const found = recognizeWallet(text)
  if (
    found === undefined ||
    !('wallet' in found) ||
    found.wallet.chain !== 'bitcoin' ||
    found.wallet.kind !== 'address'
  ) {
    throw new SourceError('invalid_credentials', 'this is not a Bitcoin address')
  }
  const { value } = found.wallet
  return {
    branches: [{ id: 'address', length: 1, addressAt: () => value }],
    fingerprint: createHash('sha256').update(`bitcoin\naddress\n${value}`).digest('hex'),
  }
}

function findAccount(extendedPublicKey: string | undefined, descriptor: string | undefined): Account | undefined {
  if (extendedPublicKey !== undefined) {
    const key = findExtendedPublicKey(extendedPublicKey)
    return key?.network === 'main'
      ? { key, scripts: key.scripts, branches: standardBranches, isRanged: true }
      : undefined
  }
  const found = descriptor === undefined ? undefined : findDescriptor(descriptor)
  if (found === undefined || !('descriptor' in found)) return undefined
  const { script, key, branches, isRanged } = found.descriptor
  return { key, scripts: [script], branches, isRanged }
}

function toBranches({ key, branches, isRanged }: Account, script: ScriptKind): Branch[] {
  return branches.map((steps) => {
    let parent: HDKey | undefined
    // Derived on first use, because a reader that only verifies needs one address.
    const getParent = (): HDKey => (parent ??= steps.reduce((node, step) => node.deriveChild(step), new HDKey(key)))
    const derive = (index: number): string =>
      guard(() => {
        const { publicKey } = isRanged ? getParent().deriveChild(index) : getParent()
        return publicKey === null ? undefined : toAddress[script](publicKey)
      })
    // To derive an address takes a millisecond, and each batch looks at the next one's addresses.
    const derived = new Map<number, string>()
    return {
      id: [script, ...steps].join('/'),
      length: isRanged ? null : 1,
      addressAt: (index) => {
        const address = derived.get(index) ?? derive(index)
        derived.set(index, address)
        return address
      },
    }
  })
}

/** A key with a valid checksum may still not be a point on the curve. The library's error message could quote it. */
function guard(derive: () => string | undefined): string {
  let address: string | undefined
  try {
    address = derive()
  } catch {
    address = undefined
  }
  if (address === undefined) throw new SourceError('invalid_credentials', 'no address follows from this public key')
  return address
}

/**
 * An `xpub` and a `zpub` of one key, and a descriptor with its two branches, are one account and share a fingerprint.
 */
function toFingerprint({ key, branches, isRanged }: Account): string {
  const paths = branches.map((steps) => steps.join('/')).toSorted()
  const hash = createHash('sha256').update('bitcoin\nextended key\n').update(key.chainCode).update(key.publicKey)
  return hash.update(`${paths.join(' ')}${isRanged ? '' : ' alone'}`).digest('hex')
}
