/**
 * Base58, and the keys of a wallet and of the other parties in its story. Everything is derived from the sandbox's seed
 * and the account's id: the same account has the same address in every process. This file does not load the chain.
 */
import { createHmac, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto'
import type { Address } from '@solana/kit'

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const nineDigits = 58n ** 9n
/** An Ed25519 private key as PKCS #8 (RFC 8410): this head and 32 bytes. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The other parties in a wallet's story. Each wallet has its own, so its history does not depend on other wallets. */
export type Role = 'exchange' | 'friend' | 'employer' | 'spammer' | 'maker'

export interface Key {
  address: Address
  sign(message: Uint8Array): Uint8Array
}

export function keyOf(seed: string, accountId: string, role: Role | 'self'): Key {
  const secret = createHmac('sha256', seed).update(`solana\n${role}\n${accountId}`).digest()
  const privateKey: KeyObject = createPrivateKey({
    key: Buffer.concat([pkcs8Head, secret]),
    format: 'der',
    type: 'pkcs8',
  })
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return {
    address: toBase58(spki.subarray(-32)) as Address,
    sign: (message) => new Uint8Array(sign(null, message, privateKey)),
  }
}

export function toBase58(bytes: Uint8Array): string {
  let number = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  // Nine digits at a time fit a double, and dividing a large number is what costs.
  for (; number > 0n; number /= nineDigits) {
    let rest = Number(number % nineDigits)
    for (let digit = 0; digit < 9; digit += 1, rest = Math.floor(rest / 58)) text = (alphabet[rest % 58] ?? '') + text
  }
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text.replace(/^1+/, '')
}

/** Undefined for a text that is not base58. */
export function fromBase58(text: string): Buffer | undefined {
  let number = 0n
  for (const letter of text) {
    const digit = alphabet.indexOf(letter)
    if (digit === -1) return undefined
    number = number * 58n + BigInt(digit)
  }
  const zeros = /^1*/.exec(text)?.[0].length ?? 0
  const hex = number === 0n ? '' : number.toString(16)
  return Buffer.concat([Buffer.alloc(zeros), Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')])
}

/** The 32 bytes of an address that the simulator itself wrote. */
export function bytesOf(address: string): Buffer {
  const bytes = fromBase58(address)
  if (bytes?.length !== 32) throw new RangeError(`not an address: ${address}`)
  return bytes
}
