/**
 * Instructions as `jsonParsed` shows them. Those of the programs that a node knows have names for their parts; the
 * others keep accounts and data. Source: anza-xyz/agave,
 * transaction-status/src/parse_{system,token,associated_token,stake}.rs.
 */
import type { Address } from '@solana/kit'
import { toBase58 } from '../chain/addresses.ts'
import type { CompiledInstruction } from '../history.ts'
import { toUiAmount } from './parse-account.ts'
import { associatedTokenProgram, memoProgram, memoProgramV1, stakeProgram, systemProgram } from '../chain/programs.ts'
import { token2022Program, tokenProgram } from '../chain/tokens.ts'

interface Parsed {
  type: string
  info: object
}

type Parser = (data: Buffer, accounts: readonly Address[]) => Parsed | string | undefined

/** By program, with the name that a node gives it. Token-2022 shares the name of its predecessor. */
const parsers: Readonly<Record<string, [name: string, parse: Parser]>> = {
  [systemProgram]: ['system', parseSystem],
  [tokenProgram]: ['spl-token', parseToken],
  [token2022Program]: ['spl-token', parseToken],
  [associatedTokenProgram]: ['spl-associated-token-account', parseAssociatedToken],
  [stakeProgram]: ['stake', parseStake],
  [memoProgram]: ['spl-memo', (data) => data.toString('utf8')],
  [memoProgramV1]: ['spl-memo', (data) => data.toString('utf8')],
}

export function parseInstruction(instruction: CompiledInstruction, keys: readonly Address[]): object {
  const addressAt = (index: number): Address => {
    const address = keys[index]
    if (address === undefined) throw new Error(`an instruction names account ${index}, which the message does not have`)
    return address
  }
  const { data, stackHeight } = instruction
  const programId = addressAt(instruction.programIndex)
  const accounts = instruction.accounts.map(addressAt)
  const [program, parse] = parsers[programId] ?? []
  const parsed = parse?.(Buffer.from(data), accounts)
  if (parsed === undefined) return { accounts, data: toBase58(data), programId, stackHeight }
  return { parsed, program, programId, stackHeight }
}

function parseSystem(data: Buffer, accounts: readonly Address[]): Parsed | undefined {
  const [first, second] = accounts
  switch (data.readUInt32LE()) {
    case 0: {
      const info = { lamports: data.readBigUInt64LE(4), newAccount: second, owner: addressIn(data, 20) }
      return { info: { ...info, source: first, space: data.readBigUInt64LE(12) }, type: 'createAccount' }
    }
    case 1:
      return { info: { account: first, owner: addressIn(data, 4) }, type: 'assign' }
    case 2:
      return { info: { destination: second, lamports: data.readBigUInt64LE(4), source: first }, type: 'transfer' }
    case 3: {
      const length = Number(data.readBigUInt64LE(36))
      const rest = 44 + length
      const info = {
        ...{ base: addressIn(data, 4), lamports: data.readBigUInt64LE(rest), newAccount: second },
        ...{ owner: addressIn(data, rest + 16), seed: data.toString('utf8', 44, rest), source: first },
        space: data.readBigUInt64LE(rest + 8),
      }
      return { info, type: 'createAccountWithSeed' }
    }
    case 8:
      return { info: { account: first, space: data.readBigUInt64LE(4) }, type: 'allocate' }
    default:
      return undefined
  }
}

/** By the first byte of the data: the type, the names of the accounts, and the form of the amount that follows. */
const tokenShapes: Readonly<Record<number, [type: string, accounts: readonly string[], amount?: 'plain' | 'checked']>> =
  {
    3: ['transfer', ['source', 'destination', 'authority'], 'plain'],
    4: ['approve', ['source', 'delegate', 'owner'], 'plain'],
    5: ['revoke', ['source', 'owner']],
    6: ['setAuthority', ['account', 'authority']],
    7: ['mintTo', ['mint', 'account', 'mintAuthority'], 'plain'],
    8: ['burn', ['account', 'mint', 'authority'], 'plain'],
    9: ['closeAccount', ['account', 'destination', 'owner']],
    12: ['transferChecked', ['source', 'mint', 'destination', 'authority'], 'checked'],
    13: ['approveChecked', ['source', 'mint', 'delegate', 'owner'], 'checked'],
    14: ['mintToChecked', ['mint', 'account', 'mintAuthority'], 'checked'],
    15: ['burnChecked', ['account', 'mint', 'authority'], 'checked'],
    17: ['syncNative', ['account']],
    18: ['initializeAccount3', ['account', 'mint']],
    20: ['initializeMint2', ['mint']],
    21: ['getAccountDataSize', ['mint']],
    22: ['initializeImmutableOwner', ['account']],
    25: ['initializeMintCloseAuthority', ['mint']],
  }

function parseToken(data: Buffer, accounts: readonly Address[]): Parsed | undefined {
  const shape = tokenShapes[data[0] ?? -1]
  if (shape === undefined) return undefined
  const [type, names, amount] = shape
  const info: Record<string, unknown> = Object.fromEntries(names.map((name, index) => [name, accounts[index]]))
  if (amount === 'plain') info['amount'] = data.readBigUInt64LE(1).toString()
  if (amount === 'checked') info['tokenAmount'] = toUiAmount(data.readBigUInt64LE(1), data.readUInt8(9))
  if (type === 'initializeAccount3') info['owner'] = addressIn(data, 1)
  if (type === 'setAuthority') {
    info['authorityType'] = ['mintTokens', 'freezeAccount', 'accountOwner', 'closeAccount'][data.readUInt8(1)]
    info['newAuthority'] = data.readUInt8(2) === 0 ? null : addressIn(data, 3)
  }
  if (type === 'initializeMint2') {
    info['decimals'] = data.readUInt8(1)
    info['mintAuthority'] = addressIn(data, 2)
  }
  if (type === 'initializeMintCloseAuthority') info['newAuthority'] = addressIn(data, 2)
  // The associated token program asks for an account whose owner cannot change.
  if (type === 'getAccountDataSize' && data.length >= 3) info['extensionTypes'] = ['immutableOwner']
  return { info, type }
}

function parseAssociatedToken(data: Buffer, accounts: readonly Address[]): Parsed | undefined {
  if (data[0] === 2) {
    const names = ['nestedSource', 'nestedMint', 'destination', 'nestedOwner', 'ownerMint', 'wallet', 'tokenProgram']
    return { info: Object.fromEntries(names.map((name, index) => [name, accounts[index]])), type: 'recoverNested' }
  }
  const type = data.length === 0 || data[0] === 0 ? 'create' : data[0] === 1 ? 'createIdempotent' : undefined
  const [source, account, wallet, mint, system, program] = accounts
  return type && { info: { account, mint, source, systemProgram: system, tokenProgram: program, wallet }, type }
}

/**
 * By the number that the data begins with: the type, and the names of the accounts by their places. A node from before
 * version 5 of the stake program does not know that an instruction need not have sysvars. It takes another account for
 * one, and leaves an instruction with too few accounts unparsed.
 */
const stakeShapes: Readonly<Record<number, [type: string, accounts: readonly string[]]>> = {
  0: ['initialize', ['stakeAccount', 'rentSysvar']],
  1: ['authorize', ['stakeAccount', 'clockSysvar', 'authority']],
  2: [
    'delegate',
    ['stakeAccount', 'voteAccount', 'clockSysvar', 'stakeHistorySysvar', 'stakeConfigAccount', 'stakeAuthority'],
  ],
  3: ['split', ['stakeAccount', 'newSplitAccount', 'stakeAuthority']],
  4: ['withdraw', ['stakeAccount', 'destination', 'clockSysvar', 'stakeHistorySysvar', 'withdrawAuthority']],
  5: ['deactivate', ['stakeAccount', 'clockSysvar', 'stakeAuthority']],
}

function parseStake(data: Buffer, accounts: readonly Address[]): Parsed | undefined {
  const shape = stakeShapes[data.readUInt32LE()]
  if (shape === undefined) return undefined
  const [type, names] = shape
  if (accounts.length < names.length) return undefined
  const info: Record<string, unknown> = Object.fromEntries(names.map((name, index) => [name, accounts[index]]))
  if (type === 'initialize') {
    info['authorized'] = { staker: addressIn(data, 4), withdrawer: addressIn(data, 36) }
    info['lockup'] = {
      ...{ custodian: addressIn(data, 84), epoch: data.readBigUInt64LE(76), unixTimestamp: data.readBigInt64LE(68) },
    }
  }
  if (type === 'authorize') {
    info['newAuthority'] = addressIn(data, 4)
    info['authorityType'] = data.readUInt32LE(36) === 0 ? 'Staker' : 'Withdrawer'
  }
  if (type === 'split' || type === 'withdraw') info['lamports'] = data.readBigUInt64LE(4)
  return { info, type }
}

function addressIn(data: Buffer, offset: number): string {
  return toBase58(data.subarray(offset, offset + 32))
}
