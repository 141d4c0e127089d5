/**
 * The chain: a Solana virtual machine in this process, and beside it what the machine does not keep: the history, what
 * every account held before and after each transaction, and what it held at the slots that are not final yet.
 *
 * The machine has one present and no blocks. A transaction is put into the slot that its moment belongs to, and the
 * clock that programs see is set to it, so a story can be told in the past. Wallets share no account whose balance a
 * story changes, so their stories can be told in any order.
 */
import { createHmac } from 'node:crypto'
import {
  appendTransactionMessageInstructions,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getTransactionEncoder,
  lamports as toLamports,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type Address,
  type Blockhash,
  type EncodedAccount,
  type Instruction,
  type Transaction,
} from '@solana/kit'
import { Clock, FailedTransactionMetadata, LiteSVM } from 'litesvm'
import { toBase58, type Key } from './addresses.ts'
import { readMessage } from './message.ts'
import { createHistory, type Entry, type History, type TransactionError } from '../history.ts'
import { lookupTableProgram, systemProgram } from './programs.ts'
import { commitmentOf, epochOf, firstSlotOf, newestSlot, timeOf } from './slots.ts'
import { decodeStake, encodeLookupTable, toTokenBalance } from './layouts.ts'

/** The fee for each signature. https://solana.com/docs/core/fees */
const signatureFee = 5_000n

export interface Plan {
  payer: Key
  /** Those who sign besides the payer. */
  signers?: readonly Key[]
  instructions: readonly Instruction[]
  version?: 'legacy' | 0
  table?: { address: Address; addresses: readonly Address[] }
  /** It belongs to the world around a story and survives a fork. */
  isBackground?: true
  /** Lamports on top of the fee for signatures. The instructions that ask for it are in the list. */
  priorityFee?: bigint
}

/** An account's state before a change that can still be undone, or that a commitment does not show yet. */
interface Change {
  slot: number
  signature: string | undefined
  before: ReadonlyMap<Address, EncodedAccount | undefined>
}

export class Chain {
  readonly svm: LiteSVM
  readonly history: History = createHistory()
  readonly #seed: string
  readonly #nowMs: () => number
  /** Oldest first. */
  #changes: Change[] = []
  readonly #byProgram = new Map<Address, Set<Address>>()
  /**
   * What accounts hold now. Asking the machine costs a tenth of a millisecond, and every change passes through here.
   */
  readonly #present = new Map<Address, EncodedAccount | undefined>()
  #number = 0

  constructor(seed: string, nowMs: () => number) {
    this.#seed = seed
    this.#nowMs = nowMs
    // Blockhashes follow from slots here, so that a story has the same signatures in every process. The machine's own
    // memory of 32 transactions would mistake up to 32 of them for duplicates.
    this.svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n).withNativeMints()
  }

  blockhashOf(slot: number): Blockhash {
    return toBase58(createHmac('sha256', this.#seed).update(`solana\nblock\n${slot}`).digest()) as Blockhash
  }

  /** Undefined when nothing is there. */
  findAccount(address: Address): EncodedAccount | undefined {
    return this.#present.has(address) ? this.#present.get(address) : this.#read(address)
  }

  /** The state of an account at the end of a slot. */
  accountAt(address: Address, slot: number): EncodedAccount | undefined {
    const change = this.#changes.find((one) => one.slot > slot && one.before.has(address))
    return change === undefined ? this.findAccount(address) : change.before.get(address)
  }

  /** Every account that a program ever owned and a transaction or the simulator wrote. */
  listOwned(program: Address): Address[] {
    return [...(this.#byProgram.get(program) ?? [])]
  }

  /** Writes an account outside of any transaction. `slot` dates the change, such as a reward. */
  write(account: Omit<EncodedAccount, 'space' | 'executable'>, slot?: number): void {
    if (slot !== undefined)
      this.#remember(slot, undefined, new Map([[account.address, this.findAccount(account.address)]]))
    this.svm.setAccount({ ...account, executable: false, space: BigInt(account.data.length) })
    this.#read(account.address)
    this.#note(account.address, account.programAddress)
  }

  /** Throws a RangeError when the network would not take the transaction at all. */
  send(plan: Plan, slot: number, accountId: string): Entry {
    this.#setClock(slot)
    const { table } = plan
    if (table !== undefined && this.findAccount(table.address) === undefined) this.#writeTable(table)
    const transaction = this.#sign(plan, slot)
    const message = readMessage(transaction, table)
    const before = message.keys.map(({ address }) => this.findAccount(address))
    // Before it is sent, because a mint that it closes still has its decimals.
    const held = this.#balances(before)
    const result = this.svm.sendTransaction(transaction)
    const failed = result instanceof FailedTransactionMetadata ? result : undefined
    const err = failed === undefined ? null : toWireError(failed)
    const meta = failed === undefined ? result : failed.meta()
    const after = message.keys.map(({ address, isWritable }, index) =>
      isWritable ? this.#read(address) : before[index],
    )
    const signatures = Object.values(transaction.signatures).map((one) => toBase58(one ?? new Uint8Array(64)))
    const metadata = meta as Exclude<typeof meta, FailedTransactionMetadata>
    const entry: Entry = {
      ...message,
      signature: signatures[0] ?? '',
      signatures,
      ...{ slot, accountId, number: (this.#number += 1) },
      wireBytes: new Uint8Array(getTransactionEncoder().encode(transaction)),
      inner: toInner(metadata),
      err,
      fee: BigInt(signatures.length) * signatureFee + (plan.priorityFee ?? 0n),
      before: held,
      after: this.#balances(after),
      logs: metadata.logs(),
      units: metadata.computeUnitsConsumed(),
    }
    const written = message.keys.map(({ address }, index) => [address, before[index]] as const)
    if (plan.isBackground !== true) {
      this.#remember(slot, entry.signature, new Map(written.filter((_, index) => message.keys[index]?.isWritable)))
    }
    for (const account of after) if (account !== undefined) this.#note(account.address, account.programAddress)
    this.history.add(entry)
    return entry
  }

  /**
   * Removes transactions with the fork that they were on, all or none. Throws a RangeError when one is already final.
   */
  drop(signatures: readonly string[]): void {
    this.advance()
    const wanted = new Set(signatures)
    const touchedLater = new Set<Address>()
    const dropped: Change[] = []
    for (const change of this.#changes.toReversed()) {
      const addresses = [...change.before.keys()]
      if (!wanted.delete(change.signature ?? '')) for (const address of addresses) touchedLater.add(address)
      else if (!addresses.some((address) => touchedLater.has(address))) dropped.push(change)
      else throw new RangeError(`a later transaction depends on ${change.signature}, which has to go with it`)
    }
    for (const signature of wanted) throw new RangeError(`${signature} is final, or unknown, and stays`)
    for (const { before, signature = '' } of dropped) {
      for (const [address, account] of before) {
        const gone = { address, data: new Uint8Array(), lamports: toLamports(0n), programAddress: systemProgram }
        this.svm.setAccount(account ?? { ...gone, executable: false, space: 0n })
        this.#read(address)
      }
      this.history.remove(signature)
    }
    this.#changes = this.#changes.filter((change) => !dropped.includes(change))
  }

  /** Forgets what can no longer be undone. */
  advance(): void {
    const final = newestSlot(this.#nowMs(), 'finalized')
    this.#changes = this.#changes.filter(({ slot }) => slot > final)
  }

  #remember(slot: number, signature: string | undefined, before: Change['before']): void {
    if (commitmentOf(slot, this.#nowMs()) !== 'finalized') this.#changes.push({ slot, signature, before })
  }

  #note(address: Address, program: Address): void {
    if (program === systemProgram) return
    const known = this.#byProgram.get(program) ?? new Set<Address>()
    this.#byProgram.set(program, known.add(address))
  }

  #setClock(slot: number): void {
    const epoch = epochOf(slot)
    const epochStart = BigInt(timeOf(firstSlotOf(epoch)))
    this.svm.setClock(new Clock(BigInt(slot), epochStart, BigInt(epoch), BigInt(epoch + 1), BigInt(timeOf(slot))))
  }

  #sign(plan: Plan, slot: number): Transaction {
    const { payer, signers = [] } = plan
    // Two equal transactions in one slot would have one signature: the second one names an older block.
    const earlier = this.history.listOf(payer.address)
    const before = earlier.length - 1 - earlier.findLastIndex((entry) => entry.slot !== slot)
    const compiled = compile(plan, this.blockhashOf(slot - 2 - before))
    const keys = new Map([payer, ...signers].map((key) => [key.address, key]))
    const signed = Object.keys(compiled.signatures).map((address) => {
      const key = keys.get(address as Address)
      if (key === undefined) throw new Error(`${address} has to sign and is not among the signers`)
      return [address, key.sign(new Uint8Array(compiled.messageBytes))]
    })
    return { ...compiled, signatures: Object.fromEntries(signed) as Transaction['signatures'] }
  }

  #writeTable({ address, addresses }: NonNullable<Plan['table']>): void {
    const data = encodeLookupTable(addresses)
    const lamports = toLamports(this.svm.minimumBalanceForRentExemption(BigInt(data.length)))
    this.write({ address, data, lamports, programAddress: lookupTableProgram })
  }

  #read(address: Address): EncodedAccount | undefined {
    const account = this.svm.getAccount(address)
    const found = account.exists && account.lamports > 0n ? account : undefined
    // The machine itself writes sysvars.
    if (!address.startsWith('Sysvar')) this.#present.set(address, found)
    return found
  }

  #balances(accounts: readonly (EncodedAccount | undefined)[]): Entry['before'] {
    const decimalsOf = (mint: Address): number | undefined => this.findAccount(mint)?.data[44]
    const tokens = accounts.map((account, index) => account && toTokenBalance(account, index, decimalsOf))
    return {
      lamports: accounts.map((account) => account?.lamports ?? 0n),
      tokens: tokens.filter((balance) => balance !== undefined),
      withdrawers: accounts.map((account) => account && decodeStake(account)?.withdrawer),
    }
  }
}

function compile({ payer, instructions, version = 0, table }: Plan, blockhash: Blockhash): Transaction {
  // Senders wait for this height; the signed message does not contain it.
  const lifetime = { blockhash, lastValidBlockHeight: 0n }
  if (version === 'legacy') {
    const paid = setTransactionMessageFeePayer(payer.address, createTransactionMessage({ version }))
    const living = setTransactionMessageLifetimeUsingBlockhash(lifetime, paid)
    return compileTransaction(appendTransactionMessageInstructions(instructions, living))
  }
  const paid = setTransactionMessageFeePayer(payer.address, createTransactionMessage({ version }))
  const living = setTransactionMessageLifetimeUsingBlockhash(lifetime, paid)
  const message = appendTransactionMessageInstructions(instructions, living)
  if (table === undefined) return compileTransaction(message)
  const tables = { [table.address]: [...table.addresses] }
  return compileTransaction(compressTransactionMessageUsingAddressLookupTables(message, tables))
}

interface Metadata {
  innerInstructions(): {
    stackHeight(): number
    instruction(): { programIdIndex(): number; accounts(): Uint8Array; data(): Uint8Array }
  }[][]
}

function toInner(meta: Metadata): Entry['inner'] {
  return meta
    .innerInstructions()
    .map((group, index) => ({
      index,
      instructions: group.map((one) => ({
        programIndex: one.instruction().programIdIndex(),
        accounts: [...one.instruction().accounts()],
        data: one.instruction().data(),
        stackHeight: one.stackHeight(),
      })),
    }))
    .filter(({ instructions }) => instructions.length > 0)
}

/**
 * The machine's classes do not name the error; its text does. Any other error than these two keeps a transaction out of
 * the ledger.
 */
function toWireError(failed: FailedTransactionMetadata): TransactionError {
  const text = failed.toString()
  const [, index, word = '', code] = /InstructionError\((\d+), (\w+)(?:\((\d+)\))?/.exec(text) ?? []
  const [, account] = /InsufficientFundsForRent \{ account_index: (\d+)/.exec(text) ?? []
  if (account !== undefined) return { InsufficientFundsForRent: { account_index: Number(account) } }
  if (index === undefined) throw new RangeError(`the network refuses the transaction: ${text.slice(0, 300)}`)
  return { InstructionError: [Number(index), code === undefined ? word : { [word]: Number(code) }] }
}
