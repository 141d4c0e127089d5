/**
 * What a transaction proves about who may withdraw from a stake account. Pure.
 *
 * The stake program takes most instructions with or without sysvars among the accounts: where the first sysvar is not
 * at its place, the accounts that follow it have moved up (github.com/solana-program/stake, processor.rs, since version
 * 5; earlier versions refuse such instructions). Nodes name accounts by their places. Older nodes do so as if the
 * sysvars were always there, and do not parse an instruction that has too few accounts (github.com/anza-xyz/agave,
 * transaction-status/src/parse_stake.rs). They can call an account the `withdrawAuthority` that the program has not
 * looked at: any stranger can put any wallet there. So the accounts are read here as the program reads them.
 *
 * What remains is believed for one of two reasons: the program has written it into the stake account, or it is an
 * authority that has to sign at this place, and that did sign.
 */
import { base58 } from '@scure/base'
import { z } from 'zod'
import { isProgramAddress, stakeProgram } from './addresses.ts'
import { accountsMax } from './records.ts'
import { digits } from './rpc.ts'

export type StakeFact =
  | {
      kind: 'owner'
      account: string
      /** Whether the account was the wallet's before the instruction, and after it. Undefined where that is not proved. */
      wasOwn: boolean | undefined
      isOwn: boolean | undefined
      /** The wallet signed as the owner. Where others signed too, one of them may have been the owner instead. */
      isClaimed: boolean
      /** The instruction gave the account an owner. */
      isChange: boolean
    }
  /** `account` has the owner of the one that it was split off. */
  | { kind: 'split'; from: string; account: string }
  /** Both had the same owner. */
  | { kind: 'merge'; accounts: readonly [string, string] }

interface Instruction {
  type: string
  info: Readonly<Record<string, unknown>>
}

/** The longest instruction that matters here has 116 bytes. Decoding takes time with the square of the length. */
const dataCharactersMax = 200

const instructions = z.array(
  z.object({
    program: z.string().nullish(),
    parsed: z
      .object({ type: z.string(), info: z.record(z.string(), z.unknown()) })
      .optional()
      .catch(undefined),
    // Of an instruction that the node does not parse.
    programId: z.string().optional().catch(undefined),
    accounts: z.array(z.string()).max(accountsMax).optional().catch(undefined),
    data: z
      .string()
      .max(dataCharactersMax)
      .regex(/^[1-9A-HJ-NP-Za-km-z]+$/)
      .optional()
      .catch(undefined),
  }),
)
const shape = z.object({
  transaction: z.object({
    message: z.object({
      accountKeys: z.array(z.object({ pubkey: z.string(), signer: z.boolean() })).max(accountsMax),
      instructions: instructions.catch([]),
    }),
  }),
  meta: z.object({
    err: z.unknown(),
    innerInstructions: z
      .array(z.object({ index: digits, instructions }))
      .nullish()
      .catch(null),
  }),
})

/**
 * In the order in which the instructions were executed; none for a failed transaction. Any sender can write any account
 * and any wallet into an instruction that the stake program then refuses. `transaction` has numbers as text.
 */
export function listStakeFacts(transaction: unknown, address: string): StakeFact[] {
  const parsed = shape.safeParse(transaction)
  if (!parsed.success) return []
  const { message } = parsed.data.transaction
  const { err, innerInstructions } = parsed.data.meta
  if (err !== null && err !== undefined) return []
  const signers = new Set(message.accountKeys.flatMap(({ pubkey, signer }) => (signer ? [pubkey] : [])))
  const calls = Map.groupBy(innerInstructions ?? [], ({ index }) => Number(index))
  const executed = message.instructions.flatMap((outer, index) => [
    { ...outer, isCall: false },
    ...(calls.get(index) ?? []).flatMap((inner) => inner.instructions.map((one) => ({ ...one, isCall: true }))),
  ])
  return executed.flatMap(({ isCall, ...given }) => {
    const instruction = readInstruction(given)
    return (instruction && toFact(instruction, { address, signers, isCall })) ?? []
  })
}

// ----------------------------------------------------------------------------------------------------------------
// the accounts of an instruction

const sysvars: Readonly<Record<string, string>> = {
  clockSysvar: 'SysvarC1ock11111111111111111111111111111111',
  rentSysvar: 'SysvarRent111111111111111111111111111111111',
}

/** By the number that the data begins with: the type and the first accounts, with sysvars, in the words of a node. */
const layouts: Readonly<Record<number, readonly [type: string, ...accounts: string[]]>> = {
  0: ['initialize', 'stakeAccount'],
  1: ['authorize', 'stakeAccount', 'clockSysvar', 'authority'],
  3: ['split', 'stakeAccount', 'newSplitAccount'],
  4: ['withdraw', 'stakeAccount', 'destination', 'clockSysvar', 'stakeHistorySysvar', 'withdrawAuthority', 'custodian'],
  7: ['merge', 'destination', 'source'],
  8: ['authorizeWithSeed', 'stakeAccount'],
  9: ['initializeChecked', 'stakeAccount', 'rentSysvar', 'staker', 'withdrawer'],
  10: ['authorizeChecked', 'stakeAccount', 'clockSysvar', 'authority', 'newAuthority'],
  11: ['authorizeCheckedWithSeed', 'stakeAccount', 'authorityBase', 'clockSysvar', 'newAuthorized'],
}
const namesByType = new Map(Object.values(layouts).map(([type, ...names]) => [type, names]))

function readInstruction(given: z.infer<typeof instructions>[number]): Instruction | undefined {
  const { program, parsed, programId, accounts, data } = given
  const isParsed = program === 'stake' && parsed !== undefined
  const isUnparsed = programId === stakeProgram && accounts !== undefined && data !== undefined
  const found = isParsed ? parsed : isUnparsed ? decode(accounts, base58.decode(data)) : undefined
  return found && { ...found, info: moveUp(found) }
}

/** Names the accounts by their places, as an older node does when there are enough of them. */
function decode(accounts: readonly string[], data: Uint8Array): Instruction | undefined {
  const bytes = Buffer.from(data)
  const numberAt = (at: number): number | undefined => (bytes.length < at + 4 ? undefined : bytes.readUInt32LE(at))
  const addressAt = (at: number): string => base58.encode(bytes.subarray(at, at + 32))
  const layout = layouts[numberAt(0) ?? -1]
  if (layout === undefined) return undefined
  const [type, ...names] = layout
  const named = Object.fromEntries(names.map((name, place) => [name, accounts[place]]))
  const authorityType = (at: number): string => (numberAt(at) === 1 ? 'Withdrawer' : 'Staker')
  if (type === 'initialize') return { type, info: { ...named, authorized: { withdrawer: addressAt(36) } } }
  if (type === 'authorize' || type === 'authorizeWithSeed') {
    return { type, info: { ...named, newAuthority: addressAt(4), authorityType: authorityType(36) } }
  }
  return { type, info: { ...named, authorityType: authorityType(4) } }
}

/** Where another account is at the place of the first sysvar, the instruction has no sysvars. */
function moveUp({ type, info }: Instruction): Instruction['info'] {
  const names = namesByType.get(type) ?? []
  const sysvar = names.find((name) => name in sysvars)
  // Newer nodes leave the sysvar out where it is not given, and name the others rightly.
  if (sysvar === undefined || info[sysvar] === undefined || info[sysvar] === sysvars[sysvar]) return info
  const others = names.filter((name) => !name.endsWith('Sysvar'))
  return { ...info, ...Object.fromEntries(others.map((name, place) => [name, info[names[place] ?? '']])) }
}

// ----------------------------------------------------------------------------------------------------------------
// what it proves

interface Wallet {
  address: string
  /** Of the transaction. */
  signers: ReadonlySet<unknown>
  /** A program called the stake program, and can have signed for addresses of its own. */
  isCall: boolean
}

const ownerData = z.object({ withdrawer: z.string() })

function toFact({ type, info }: Instruction, wallet: Wallet): StakeFact | undefined {
  const { stakeAccount, newSplitAccount, source, destination, withdrawer } = info
  if (type === 'merge') {
    return isText(source) && isText(destination) ? { kind: 'merge', accounts: [source, destination] } : undefined
  }
  if (!isText(stakeAccount)) return undefined
  if (type === 'split') {
    return isText(newSplitAccount) ? { kind: 'split', from: stakeAccount, account: newSplitAccount } : undefined
  }
  const made = { kind: 'owner', account: stakeAccount, wasOwn: false, isClaimed: false, isChange: true } as const
  if (type === 'initializeChecked') return { ...made, isOwn: isOwnSigner(withdrawer, wallet) }
  if (type === 'initialize') {
    const written = ownerData.safeParse(info['authorized']).data?.withdrawer
    return written === undefined ? undefined : { ...made, isOwn: written === wallet.address }
  }
  if (type === 'withdraw') return toWithdrawal(stakeAccount, info, wallet)
  return type.startsWith('authorize') ? toHandOver(stakeAccount, { type, info }, wallet) : undefined
}

/** Of an account that has to sign; undefined when no signature is seen. */
function isOwnSigner(named: unknown, { address, signers, isCall }: Wallet): boolean | undefined {
  const isSigned = signers.has(named) || (isCall && isText(named) && isProgramAddress(named))
  return isSigned ? named === address : undefined
}

function toWithdrawal(account: string, info: Instruction['info'], wallet: Wallet): StakeFact {
  const { withdrawAuthority, custodian = withdrawAuthority } = info
  const isClaimed = [withdrawAuthority, custodian].some((named) => isOwnSigner(named, wallet) === true)
  // The one who may lift a lock-up has to sign where it is named, and the program takes either signer for the owner.
  const isUnclear = isClaimed && custodian !== withdrawAuthority
  const isOwn = isUnclear ? undefined : isOwnSigner(withdrawAuthority, wallet)
  return { kind: 'owner', account, wasOwn: isOwn, isOwn, isClaimed, isChange: false }
}

function toHandOver(account: string, { type, info }: Instruction, wallet: Wallet): StakeFact | undefined {
  const { authority, newAuthority, newAuthorized = newAuthority, authorityType } = info
  if (authorityType !== 'Withdrawer' || newAuthorized === undefined) return undefined
  const { address, signers, isCall } = wallet
  const hasToSign = type.startsWith('authorizeChecked')
  const isClaimed = authority === address && signers.has(authority)
  // The program looks for the present owner among all signers of the instruction, whichever of them is named.
  const wasOwn = isClaimed && signers.size === 1 && !isCall ? true : undefined
  const isOwn = hasToSign ? isOwnSigner(newAuthorized, wallet) : newAuthorized === address
  return { kind: 'owner', account, wasOwn, isOwn, isClaimed, isChange: true }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
