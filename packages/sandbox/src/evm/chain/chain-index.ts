/**
 * What an indexer stores about a chain: transactions, token transfers, internal transfers and validator withdrawals, by
 * address. Everything in it was read from the node's blocks, receipts and traces.
 */
import type { Address } from './addresses.ts'

export interface IndexedBlock {
  number: number
  hash: string
  timeS: number
}

export interface DataFee {
  gasUsed: bigint
  gasPrice: bigint
  fee: bigint
}

export interface IndexedTransaction {
  block: IndexedBlock
  hash: string
  nonce: number
  position: number
  from: Address
  /** Null for a transaction that creates a contract. */
  to: Address | null
  value: bigint
  gas: bigint
  /** What was paid for each unit of gas. */
  gasPrice: bigint
  input: string
  isSuccess: boolean
  gasUsed: bigint
  cumulativeGasUsed: bigint
  createdContract: Address | null
  /** On a chain that has one. */
  dataFee: DataFee | undefined
}

export interface TokenTransfer {
  standard: 'erc20' | 'erc721' | 'erc1155'
  transaction: IndexedTransaction
  logIndex: number
  contract: Address
  from: Address
  to: Address
  /** One for an ERC-721. */
  value: bigint
  tokenId: bigint | undefined
}

/** A wrapping or unwrapping of ether. Its contract writes no transfer, so no list of the account API has it. */
export interface Wrapping {
  transaction: IndexedTransaction
  logIndex: number
  contract: Address
  owner: Address
  /** Negative when ether was unwrapped. */
  change: bigint
}

export interface InternalTransfer {
  transaction: IndexedTransaction
  /** The place among all calls of the transaction, its own being 0. */
  number: number
  /** The path to it: the second call of the first call is "0_1". */
  traceId: string
  type: 'call' | 'create' | 'create2' | 'selfdestruct'
  from: Address
  to: Address
  value: bigint
  gas: bigint
  gasUsed: bigint
  isSuccess: boolean
  error: string
}

export interface Withdrawal {
  block: IndexedBlock
  number: number
  validator: number
  address: Address
  gwei: bigint
}

export interface AddressRows {
  transactions: IndexedTransaction[]
  transfers: TokenTransfer[]
  wrappings: Wrapping[]
  internals: InternalTransfer[]
  withdrawals: Withdrawal[]
}

export interface ChainIndex {
  addTransaction(transaction: IndexedTransaction): void
  addTransfer(transfer: TokenTransfer): void
  addWrapping(wrapping: Wrapping): void
  addInternal(internal: InternalTransfer): void
  addWithdrawal(withdrawal: Withdrawal): void
  /** Oldest first. */
  rowsOf(address: string): Readonly<AddressRows>
  transfersOf(contract: string): readonly TokenTransfer[]
  /** The internal transfers of one transaction, in the order of its calls. */
  internalsOf(hash: string): readonly InternalTransfer[]
  findTransaction(hash: string): IndexedTransaction | undefined
  withdrawalsIn(blockNumber: number): readonly Withdrawal[]
  /** Forgets the block and all that follow it. */
  forgetFrom(blockNumber: number): void
}

const noRows: AddressRows = { transactions: [], transfers: [], wrappings: [], internals: [], withdrawals: [] }

export function createChainIndex(): ChainIndex {
  const byAddress = new Map<string, AddressRows>()
  const byContract = new Map<string, TokenTransfer[]>()
  const byHash = new Map<string, IndexedTransaction>()
  const internalsByHash = new Map<string, InternalTransfer[]>()
  const withdrawals = new Map<number, Withdrawal[]>()

  function rowsFor(address: string): AddressRows {
    const known = byAddress.get(address)
    if (known !== undefined) return known
    const rows = { transactions: [], transfers: [], wrappings: [], internals: [], withdrawals: [] }
    byAddress.set(address, rows)
    return rows
  }

  return {
    addTransaction(transaction) {
      const { from, to, createdContract } = transaction
      byHash.set(transaction.hash, transaction)
      for (const address of both(from, to ?? createdContract)) rowsFor(address).transactions.push(transaction)
    },
    addTransfer(transfer) {
      for (const address of both(transfer.from, transfer.to)) rowsFor(address).transfers.push(transfer)
      const ofContract = byContract.get(transfer.contract)
      if (ofContract === undefined) byContract.set(transfer.contract, [transfer])
      else ofContract.push(transfer)
    },
    addWrapping: (wrapping) => void rowsFor(wrapping.owner).wrappings.push(wrapping),
    addInternal(internal) {
      for (const address of both(internal.from, internal.to)) rowsFor(address).internals.push(internal)
      const { hash } = internal.transaction
      internalsByHash.set(hash, [...(internalsByHash.get(hash) ?? []), internal])
    },
    addWithdrawal(withdrawal) {
      rowsFor(withdrawal.address).withdrawals.push(withdrawal)
      const { number } = withdrawal.block
      withdrawals.set(number, [...(withdrawals.get(number) ?? []), withdrawal])
    },
    rowsOf: (address) => byAddress.get(address.toLowerCase()) ?? noRows,
    transfersOf: (contract) => byContract.get(contract.toLowerCase()) ?? [],
    internalsOf: (hash) => internalsByHash.get(hash.toLowerCase()) ?? [],
    findTransaction: (hash) => byHash.get(hash.toLowerCase()),
    withdrawalsIn: (blockNumber) => withdrawals.get(blockNumber) ?? [],
    forgetFrom(blockNumber) {
      const isKept = (row: { transaction: IndexedTransaction }): boolean => row.transaction.block.number < blockNumber
      for (const rows of byAddress.values()) {
        rows.transactions = rows.transactions.filter(({ block }) => block.number < blockNumber)
        rows.transfers = rows.transfers.filter(isKept)
        rows.wrappings = rows.wrappings.filter(isKept)
        rows.internals = rows.internals.filter(isKept)
        rows.withdrawals = rows.withdrawals.filter(({ block }) => block.number < blockNumber)
      }
      for (const [contract, rows] of byContract) byContract.set(contract, rows.filter(isKept))
      for (const [hash, { block }] of byHash) {
        if (block.number < blockNumber) continue
        byHash.delete(hash)
        internalsByHash.delete(hash)
      }
      for (const number of withdrawals.keys()) if (number >= blockNumber) withdrawals.delete(number)
    },
  }
}

function both(from: Address, to: Address | null): readonly Address[] {
  return to === null || from === to ? [from] : [from, to]
}
