/**
 * Addresses that carry their account, as the keys of other providers do: a restarted sandbox with the same seed knows
 * the wallet that the service has stored. 20 bytes: scenario 4 and account 12, hidden under a keystream, and 4 of MAC
 * over them. No private key belongs to such an address; the chain lets the simulator send on its behalf instead.
 */
import { createHash, createHmac } from 'node:crypto'
import { scenarioTagOf } from '../../core/keys.ts'

export type Address = `0x${string}`

const headBytes = 16
const macBytes = 4

/** The other parties in a wallet's story. Each wallet has its own, so its history does not depend on other wallets. */
export type Role = 'exchange' | 'friend' | 'employer' | 'spammer' | 'poisoner'

export interface AddressBook {
  addressOf(scenario: string, accountNumber: string): Address
  /** Undefined for an address that was not minted with this seed. Upper and lower case are the same. */
  read(address: string): { scenarioTag: string; accountNumber: string } | undefined
  counterparty(address: Address, role: Role): Address
}

export function createAddressBook(seed: string): AddressBook {
  const derive = (purpose: string, data: string | Buffer): Buffer =>
    createHmac('sha256', seed).update(`evm\n${purpose}\n`).update(data).digest()
  const macOf = (head: Buffer): Buffer => derive('mac', head).subarray(0, macBytes)
  const hide = (head: Buffer, mac: Buffer): Buffer => {
    const stream = derive('mask', mac)
    return Buffer.from(head.map((byte, index) => byte ^ (stream[index] ?? 0)))
  }

  return {
    addressOf(scenario, accountNumber) {
      const head = Buffer.from(scenarioTagOf(scenario) + accountNumber, 'hex')
      const mac = macOf(head)
      return `0x${Buffer.concat([hide(head, mac), mac]).toString('hex')}`
    },
    read(address) {
      if (!isAddress(address)) return undefined
      const bytes = Buffer.from(address.slice(2), 'hex')
      const mac = bytes.subarray(headBytes)
      const head = hide(bytes.subarray(0, headBytes), mac)
      if (!macOf(head).equals(mac)) return undefined
      const text = head.toString('hex')
      return { scenarioTag: text.slice(0, 8), accountNumber: text.slice(8) }
    },
    counterparty: (address, role) => `0x${derive(role, address).toString('hex').slice(0, 40)}`,
  }
}

export function isAddress(text: string): text is Address {
  return /^0x[0-9a-f]{40}$/i.test(text)
}

/** Where the simulator places a contract that has no address of its own in the real world. */
export function placeOf(contract: string): Address {
  return `0x${createHash('sha256').update(`sandbox contract\n${contract}`).digest('hex').slice(0, 40)}`
}
