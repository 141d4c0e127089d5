/** The transactions of the chain, found by signature and by every address that they name. */
import type { Address } from '@solana/kit'

export interface AccountKey {
  address: Address
  isSigner: boolean
  isWritable: boolean
  source: 'transaction' | 'lookupTable'
}

export interface CompiledInstruction {
  programIndex: number
  accounts: readonly number[]
  data: Uint8Array
  stackHeight: number
}

export interface TokenBalance {
  accountIndex: number
  mint: Address
  owner: Address
  program: Address
  amount: bigint
  /** Undefined when the mint was closed. */
  decimals: number | undefined
}

/** By the places of the keys. */
export interface AccountsHeld {
  lamports: readonly bigint[]
  tokens: readonly TokenBalance[]
  /** Who may withdraw from a stake account; undefined for any other account. */
  withdrawers: readonly (Address | undefined)[]
}

export interface TableLookup {
  accountKey: Address
  writableIndexes: readonly number[]
  readonlyIndexes: readonly number[]
}

/** The form on the wire: a word, or an object with one member. */
export type TransactionError = string | Readonly<Record<string, unknown>>

export interface Entry {
  signature: string
  signatures: readonly string[]
  slot: number
  /** In the order in which the simulator made them. */
  number: number
  version: 'legacy' | 0
  /** The wallet in whose story it is. */
  accountId: string
  wireBytes: Uint8Array
  header: { numRequiredSignatures: number; numReadonlySignedAccounts: number; numReadonlyUnsignedAccounts: number }
  blockhash: string
  /** Those of the message, then those that a lookup table gave: writable ones first. */
  keys: readonly AccountKey[]
  lookups: readonly TableLookup[]
  instructions: readonly CompiledInstruction[]
  inner: readonly { index: number; instructions: readonly CompiledInstruction[] }[]
  err: TransactionError | null
  fee: bigint
  before: AccountsHeld
  after: AccountsHeld
  logs: readonly string[]
  units: bigint
  memo: string | null
}

export interface History {
  add(entry: Entry): void
  remove(signature: string): void
  find(signature: string): Entry | undefined
  /** Oldest first. */
  listOf(address: string): readonly Entry[]
  count(): number
}

export function createHistory(): History {
  const bySignature = new Map<string, Entry>()
  const byAddress = new Map<string, Entry[]>()
  // Each story begins in the past, so the list of an address that several wallets share gets out of order.
  const unsorted = new Set<string>()

  return {
    add(entry) {
      if (bySignature.has(entry.signature)) throw new Error(`two transactions have the signature ${entry.signature}`)
      bySignature.set(entry.signature, entry)
      for (const { address } of entry.keys) {
        const list = byAddress.get(address) ?? []
        if ((list.at(-1)?.slot ?? 0) > entry.slot) unsorted.add(address)
        list.push(entry)
        byAddress.set(address, list)
      }
    },
    remove(signature) {
      const entry = bySignature.get(signature)
      if (entry === undefined) return
      bySignature.delete(signature)
      for (const { address } of entry.keys) {
        const list = byAddress.get(address) ?? []
        byAddress.set(
          address,
          list.filter((one) => one !== entry),
        )
      }
    },
    find: (signature) => bySignature.get(signature),
    listOf(address) {
      const list = byAddress.get(address) ?? []
      if (unsorted.delete(address)) list.sort((a, b) => a.slot - b.slot || a.number - b.number)
      return list
    },
    count: () => bySignature.size,
  }
}
