/**
 * Instructions for which the chain's libraries have no builder here: those of memo, compute budget and stake, and one of
 * Token-2022.
 */
import { AccountRole, type Address, type Instruction } from '@solana/kit'
import { bytesOf } from './addresses.ts'
import { number } from './layouts.ts'
import { computeBudgetProgram, memoProgram, stakeProgram, sysvars } from './programs.ts'
import { token2022Program } from './tokens.ts'

export function memo(signer: Address, text: string): Instruction {
  const accounts = [{ address: signer, role: AccountRole.READONLY_SIGNER }]
  return { programAddress: memoProgram, accounts, data: Buffer.from(text) }
}

/** A limit of compute units, and a price for each in millionths of a lamport. */
export function computeBudget(units: number, microLamports: number): Instruction[] {
  const limit = Buffer.alloc(5, 2)
  limit.writeUInt32LE(units, 1)
  const price = Buffer.concat([Buffer.of(3), number(BigInt(microLamports))])
  return [limit, price].map((data) => ({ programAddress: computeBudgetProgram, data }))
}

/** Before the mint itself is initialised. */
export function initializeMintCloseAuthority(mint: Address, authority: Address): Instruction {
  const data = Buffer.concat([Buffer.of(25, 1), bytesOf(authority)])
  return { programAddress: token2022Program, accounts: [writable(mint)], data }
}

export function initializeStake(stake: Address, authority: Address): Instruction {
  const noLockup = Buffer.alloc(8 + 8 + 32)
  const accounts = [writable(stake), readonly(sysvars.rent)]
  return stakeInstruction(0, [bytesOf(authority), bytesOf(authority), noLockup], accounts)
}

/** Both authorities, one after the other: the first may still change the second. */
export function authorizeStake(stake: Address, authority: Address, newAuthority: Address): Instruction[] {
  const accounts = [writable(stake), readonly(sysvars.clock), signer(authority)]
  const [staker, withdrawer] = [Buffer.of(0, 0, 0, 0), Buffer.of(1, 0, 0, 0)]
  return [staker, withdrawer].map((kind) => stakeInstruction(1, [bytesOf(newAuthority), kind], accounts))
}

export function delegateStake(stake: Address, vote: Address, authority: Address): Instruction {
  const { clock, stakeHistory, stakeConfig } = sysvars
  const others = [vote, clock, stakeHistory, stakeConfig].map(readonly)
  return stakeInstruction(2, [], [writable(stake), ...others, signer(authority)])
}

export function deactivateStake(stake: Address, authority: Address): Instruction {
  return stakeInstruction(5, [], [writable(stake), readonly(sysvars.clock), signer(authority)])
}

export function withdrawStake(stake: Address, to: Address, authority: Address, lamports: bigint): Instruction {
  const accounts = [writable(stake), writable(to), readonly(sysvars.clock), readonly(sysvars.stakeHistory)]
  return stakeInstruction(4, [number(lamports)], [...accounts, signer(authority)])
}

/**
 * Without sysvars: the third account withdraws, the fourth may lift a lock-up, and the program does not look at the
 * fifth, where the layout with sysvars has the owner.
 */
export function forgeWithdrawal(stake: Address, authority: Address, lamports: bigint, named: Address): Instruction {
  const accounts = [writable(stake), writable(authority), signer(authority), signer(authority), readonly(named)]
  return stakeInstruction(4, [number(lamports)], accounts)
}

/** `target` is an account of the stake program that is not initialised. */
export function splitStake(stake: Address, target: Address, authority: Address, lamports: bigint): Instruction {
  return stakeInstruction(3, [number(lamports)], [writable(stake), writable(target), signer(authority)])
}

type Meta = NonNullable<Instruction['accounts']>[number]

function stakeInstruction(tag: number, parts: readonly Buffer[], accounts: readonly Meta[]): Instruction {
  return { programAddress: stakeProgram, accounts, data: Buffer.concat([Buffer.of(tag, 0, 0, 0), ...parts]) }
}

function writable(address: Address): Meta {
  return { address, role: AccountRole.WRITABLE }
}

function readonly(address: Address): Meta {
  return { address, role: AccountRole.READONLY }
}

function signer(address: Address): Meta {
  return { address, role: AccountRole.READONLY_SIGNER }
}
