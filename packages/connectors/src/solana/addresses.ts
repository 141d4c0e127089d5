/**
 * Addresses of accounts and programs. The address of a wallet is a public key. An address that a program has for itself
 * is a hash that is not one: only that program can sign for it (solana.com/docs/core/pda). Pure.
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { base58 } from '@scure/base'

export const stakeProgram = 'Stake11111111111111111111111111111111111111'

export function isAddress(text: string): boolean {
  return /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)
}

export function isPublicKey(bytes: Uint8Array): boolean {
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
