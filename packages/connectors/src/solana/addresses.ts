/**
 * Addresses of accounts and programs. The address of a wallet is a public key. An address that a program has for itself
 * is a hash that is not one: only that program can sign for it (solana.com/docs/core/pda). Pure.
 */
import { createHash } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'
import { base58 } from '@scure/base'

export const stakeProgram = 'Stake11111111111111111111111111111111111111'
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
/** Token-2022 is the second. */
export const tokenPrograms = [tokenProgram, 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'] as const
const associatedTokenProgram = base58.decode('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL')

export function isAddress(text: string): boolean {
  return /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)
}

function isPublicKey(bytes: Uint8Array): boolean {
  try {
    ed25519.Point.fromBytes(bytes)
    return true
  } catch {
    return false
  }
}

export function isProgramAddress(text: string): boolean {
  return isAddress(text) && !isPublicKey(base58.decode(text))
}

/** The address that a program has for these seeds: of the numbers from 255 down, the first that gives one counts. */
export function toProgramAddress(program: Uint8Array, seeds: readonly Uint8Array[]): string {
  for (let bump = 255; bump >= 0; bump -= 1) {
    const hash = createHash('sha256')
    for (const part of [...seeds, Uint8Array.of(bump), program]) hash.update(part)
    const address = hash.update('ProgramDerivedAddress').digest()
    if (!isPublicKey(address)) return base58.encode(address)
  }
  throw new RangeError('a program has no address for these seeds')
}

/** Where a wallet has the tokens of a mint, unless it chose another account for them. */
export function toAssociatedAddress(wallet: string, mint: string, program: string = tokenProgram): string {
  return toProgramAddress(
    associatedTokenProgram,
    [wallet, program, mint].map((address) => base58.decode(address)),
  )
}
