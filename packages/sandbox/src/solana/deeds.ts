/** Turns a step of a story into a transaction. */
import { getCreateAccountWithSeedInstruction, getTransferSolInstruction } from '@solana-program/system'
import {
  getApproveCheckedInstruction,
  getBurnCheckedInstruction,
  getCloseAccountInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getRecoverNestedAssociatedTokenInstruction,
  getSyncNativeInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token'
import { createNoopSigner, type Address, type Instruction } from '@solana/kit'
import { toUnits } from '../core/units.ts'
import type { Key, Role } from './chain/addresses.ts'
import type { Chain, Plan } from './chain/chain.ts'
import {
  authorizeStake,
  computeBudget,
  deactivateStake,
  delegateStake,
  forgeWithdrawal,
  initializeStake,
  memo,
  splitStake,
  withdrawStake,
} from './chain/instructions.ts'
import { stakeAccountBytes } from './chain/layouts.ts'
import { addressWithSeed, associatedAddress, placeOf, stakeProgram } from './chain/programs.ts'
import type { AssetCode, Deed } from './story.ts'
import {
  bringMint,
  closeAccountOfMint,
  closeMint,
  layBait,
  openWithSeed,
  seededAccountOf,
  takeBait,
} from './token-accounts.ts'
import { tokenOf, tokens, type Token, type TokenCode } from './chain/tokens.ts'

export const solDecimals = 9
const secondSeed = 'second'
export const validator = placeOf('validator')

export interface Actors {
  self: Key
  of(role: Role): Key
  /** Whether the address is the wallet's, or that of a party that has acted. */
  has(address: Address): boolean
}

type DeedOf<Kind extends Deed['kind']> = Extract<Deed, { kind: Kind }>

export function toPlan(chain: Chain, actors: Actors, deed: Deed): Plan {
  switch (deed.kind) {
    case 'receive':
      return toTransfer(chain, actors.of(deed.from ?? 'exchange'), actors.self.address, deed)
    case 'airdrop':
      return toTransfer(chain, actors.of('spammer'), actors.self.address, deed)
    case 'send':
      return toTransfer(chain, actors.self, actors.of(deed.to).address, deed)
    case 'send-all': {
      const { payer, instructions } = toTransfer(chain, actors.self, actors.of(deed.to).address, deed)
      return {
        payer,
        instructions: [...instructions, ...toTokenCare(chain, actors, { kind: 'close', asset: deed.asset })],
      }
    }
    case 'pay':
      return toTransfer(chain, actors.self, deed.address, deed)
    case 'swap':
      return toSwap(chain, actors, deed)
    case 'wrap':
    case 'unwrap':
    case 'sync-wrapped':
      return { payer: actors.self, instructions: toWrapping(actors.self, deed) }
    case 'pay-account': {
      const payer = deed.by === undefined ? actors.self : actors.of(deed.by)
      const destination = accountOf(actors.self.address, deed.asset)
      const amount = toUnits(deed.amount, solDecimals)
      return {
        payer,
        instructions: [getTransferSolInstruction({ source: createNoopSigner(payer.address), destination, amount })],
      }
    }
    case 'bait':
    case 'take-bait': {
      const payer = actors.of(deed.by)
      const given = { code: deed.asset, by: payer.address, owner: actors.self.address }
      if (deed.kind === 'take-bait') return { payer, instructions: [takeBait(given)] }
      return { payer, instructions: layBait(chain, { ...given, lamports: toUnits(deed.amount, solDecimals) }) }
    }
    case 'bring-mint':
    case 'close-mint':
    case 'close-of-mint': {
      const [maker, owner] = [actors.of(deed.by), actors.self]
      const given = { maker: maker.address, owner: owner.address }
      if (deed.kind === 'bring-mint') return { payer: maker, instructions: bringMint(chain, given) }
      if (deed.kind === 'close-mint') return { payer: maker, instructions: [closeMint(given)] }
      return { payer: owner, instructions: [closeAccountOfMint(given)] }
    }
    case 'stake':
    case 'unstake':
    case 'split-stake':
    case 'withdraw-stake': {
      const payer = deed.by === undefined ? actors.self : actors.of(deed.by)
      return { payer, instructions: toStaking(chain, payer.address, actors.self.address, deed) }
    }
    case 'hand-over-stake': {
      const [from, to] = 'by' in deed ? [actors.of(deed.by), actors.self] : [actors.self, actors.of(deed.to)]
      const account = stakeAccountOf(from.address, deed.seed)
      return { payer: from, instructions: authorizeStake(account, from.address, to.address) }
    }
    default:
      return { payer: actors.self, instructions: toTokenCare(chain, actors, deed), version: 'legacy' }
  }
}

export function accountOf(owner: Address, code: TokenCode): Address {
  return associatedAddress(owner, tokenOf(code))
}

/** The wallet's second account of a token. */
export function secondAccountOf(owner: Address, code: TokenCode): Address {
  return seededAccountOf(owner, code, secondSeed)
}

export function stakeAccountOf(owner: Address, seed: string): Address {
  return addressWithSeed(owner, seed, stakeProgram)
}

export function unitsOf(asset: AssetCode, amount: string): bigint {
  return toUnits(amount, asset === 'SOL' ? solDecimals : tokenOf(asset).decimals)
}

function toTransfer(
  chain: Chain,
  from: Key,
  to: Address,
  deed: { asset: AssetCode; amount: string; memo?: string; priority?: number },
): Plan {
  const instructions = [...moveAsset(chain, from.address, to, from.address, deed)]
  if (deed.memo !== undefined) instructions.push(memo(from.address, deed.memo))
  if (deed.priority === undefined) return { payer: from, instructions, version: 'legacy' }
  const units = 200_000
  const priorityFee = BigInt(Math.ceil((units * deed.priority) / 1_000_000))
  return { payer: from, instructions: [...computeBudget(units, deed.priority), ...instructions], priorityFee }
}

/** Opens the receiver's account when it has none; `payer` pays its rent. */
function moveAsset(
  chain: Chain,
  from: Address,
  to: Address,
  payer: Address,
  { asset, amount }: { asset: AssetCode; amount: string },
): Instruction[] {
  const units = unitsOf(asset, amount)
  if (asset === 'SOL')
    return [getTransferSolInstruction({ source: createNoopSigner(from), destination: to, amount: units })]
  const target = accountOf(to, asset)
  const opening = chain.findAccount(target) === undefined ? [openAccount(payer, to, asset)] : []
  return [...opening, moveTokens(tokenOf(asset), from, accountOf(from, asset), target, units)]
}

function openAccount(payer: Address, owner: Address, code: TokenCode): Instruction {
  const { mint, program } = tokenOf(code)
  return getCreateAssociatedTokenIdempotentInstruction({
    ...{ payer: createNoopSigner(payer), ata: accountOf(owner, code), owner, mint, tokenProgram: program },
  })
}

function moveTokens(token: Token, owner: Address, source: Address, destination: Address, amount: bigint): Instruction {
  const { mint, decimals, program } = token
  const authority = createNoopSigner(owner)
  return getTransferCheckedInstruction(
    { source, mint, destination, authority, amount, decimals },
    { programAddress: program },
  )
}

/** Both sign: an offer of a market maker that the wallet took. The table makes room for the accounts. */
function toSwap(chain: Chain, actors: Actors, { give, amount, take, taken }: DeedOf<'swap'>): Plan {
  const maker = actors.of('maker')
  const { address: self } = actors.self
  const held = (['USDC', 'USDT', 'BONK', 'JUP'] as const).map((code) => accountOf(maker.address, code))
  return {
    payer: actors.self,
    signers: [maker],
    instructions: [
      ...computeBudget(150_000, 20_000),
      ...moveAsset(chain, self, maker.address, self, { asset: give, amount }),
      ...moveAsset(chain, maker.address, self, self, { asset: take, amount: taken }),
    ],
    priorityFee: 3_000n,
    table: {
      address: placeOf(`lookup table of ${maker.address}`),
      addresses: [...held, ...Object.values(tokens).map(({ mint }) => mint)],
    },
  }
}

function toWrapping({ address }: Key, deed: DeedOf<'wrap' | 'unwrap' | 'sync-wrapped'>): Instruction[] {
  const account = accountOf(address, 'WSOL')
  const owner = createNoopSigner(address)
  if (deed.kind === 'sync-wrapped') return [getSyncNativeInstruction({ account })]
  if (deed.kind === 'unwrap') return [getCloseAccountInstruction({ account, destination: address, owner })]
  const amount = toUnits(deed.amount, solDecimals)
  return [
    openAccount(address, address, 'WSOL'),
    getTransferSolInstruction({ source: owner, destination: account, amount }),
    getSyncNativeInstruction({ account }),
  ]
}

function toTokenCare(
  chain: Chain,
  actors: Actors,
  deed: DeedOf<
    'open-second' | 'move-to-second' | 'move-from-second' | 'close' | 'nest' | 'recover-nested' | 'burn' | 'approve'
  >,
): Instruction[] {
  const { address: self } = actors.self
  const token = tokenOf(deed.asset)
  const { mint, decimals } = token
  const first = accountOf(self, deed.asset)
  const second = secondAccountOf(self, deed.asset)
  const owner = createNoopSigner(self)
  const config = { programAddress: token.program }
  switch (deed.kind) {
    case 'open-second':
      return openWithSeed(chain, self, deed.asset, { name: secondSeed, lamports: 0n })
    case 'move-to-second':
      return [moveTokens(token, self, first, second, unitsOf(deed.asset, deed.amount))]
    case 'move-from-second':
      return [moveTokens(token, self, second, first, unitsOf(deed.asset, deed.amount))]
    case 'close':
      return [getCloseAccountInstruction({ account: deed.second ? second : first, destination: self, owner }, config)]
    case 'nest':
      return moveAsset(chain, self, first, self, deed)
    case 'recover-nested':
      return [recoverNested(self, deed.asset)]
    case 'burn': {
      const amount = unitsOf(deed.asset, deed.amount)
      return [getBurnCheckedInstruction({ account: first, mint, authority: owner, amount, decimals }, config)]
    }
    case 'approve': {
      const delegate = actors.of('maker').address
      const amount = unitsOf(deed.asset, deed.amount)
      return [getApproveCheckedInstruction({ source: first, mint, delegate, owner, amount, decimals }, config)]
    }
  }
}

function recoverNested(self: Address, code: TokenCode): Instruction {
  const { mint, program } = tokenOf(code)
  const own = accountOf(self, code)
  return getRecoverNestedAssociatedTokenInstruction({
    ...{ nestedAssociatedAccountAddress: accountOf(own, code), nestedTokenMintAddress: mint },
    ...{ destinationAssociatedAccountAddress: own, ownerAssociatedAccountAddress: own, ownerTokenMintAddress: mint },
    ...{ walletAddress: createNoopSigner(self), tokenProgram: program },
  })
}

function toStaking(
  chain: Chain,
  self: Address,
  wallet: Address,
  deed: DeedOf<'stake' | 'unstake' | 'split-stake' | 'withdraw-stake'>,
): Instruction[] {
  const account = stakeAccountOf(self, deed.seed)
  switch (deed.kind) {
    case 'unstake':
      return [deactivateStake(account, self)]
    case 'withdraw-stake': {
      const all = chain.findAccount(account)?.lamports ?? 0n
      const lamports = deed.amount === undefined ? all : toUnits(deed.amount, solDecimals)
      if ('isForged' in deed) return [forgeWithdrawal(account, self, lamports, wallet)]
      return [withdrawStake(account, self, self, lamports)]
    }
    case 'split-stake': {
      const target = stakeAccountOf(self, deed.into)
      const split = splitStake(account, target, self, toUnits(deed.amount, solDecimals))
      return [openStake(chain, self, deed.into, 0n), split]
    }
    case 'stake':
      return [
        openStake(chain, self, deed.seed, toUnits(deed.amount, solDecimals)),
        initializeStake(account, self),
        delegateStake(account, validator, self),
      ]
  }
}

function openStake(chain: Chain, self: Address, seed: string, lamports: bigint): Instruction {
  const rent = chain.svm.minimumBalanceForRentExemption(BigInt(stakeAccountBytes))
  return getCreateAccountWithSeedInstruction({
    ...{ payer: createNoopSigner(self), newAccount: stakeAccountOf(self, seed), base: self, seed },
    ...{ amount: lamports + rent, space: stakeAccountBytes, programAddress: stakeProgram },
  })
}
