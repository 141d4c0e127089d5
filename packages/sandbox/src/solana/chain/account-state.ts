/**
 * Everything that a wallet holds and that happened to it, for an independent check: every account that is or was its
 * own, its balance according to the virtual machine, and every effect on it. A balance is the sum of its effects.
 *
 * The lamports of a token account are listed with the account. Whether they count as the wallet's SOL is not decided
 * here.
 */
import type { Address } from '@solana/kit'
import { decodeStake, decodeTokenAccount, isTokenAccount } from './layouts.ts'
import { stakeProgram } from './programs.ts'
import { newestSlot, timeOf } from './slots.ts'
import { token2022Program, tokenProgram } from './tokens.ts'
import type { Wallet, World } from '../world.ts'

type AccountKind = 'wallet' | 'token' | 'stake'

export interface OwnAccount {
  address: string
  kind: AccountKind
  lamports: string
  /** Set for a token account. The amount is a whole number of smallest units, as text. */
  token?: { mint: string; program: string; amount: string; decimals: number }
}

export interface Effect {
  account: string
  accountKind: AccountKind
  /** "native" for lamports, or the mint. */
  asset: string
  kind: 'transaction' | 'fee' | 'reward'
  /** Signed, in the smallest units. */
  amount: string
  /** Null for a reward. */
  signature: string | null
  slot: number
  time: string
}

export interface WalletState {
  address: string
  slot: number
  /** Those that exist now. */
  accounts: OwnAccount[]
  /** Oldest first; of accounts that were closed too. */
  effects: Effect[]
}

export function readWalletState({ chain, rewards }: World, wallet: Wallet, nowMs: number): WalletState {
  const self = wallet.actors.self.address
  const own = new Map<Address, AccountKind>([[self, 'wallet']])
  const effects: Effect[] = []
  const seen = new Set<string>()
  // Neither opening a token account nor handing one over has to name its owner.
  for (const account of [tokenProgram, token2022Program].flatMap((program) => chain.listOwned(program))) {
    const isOwn = chain.history
      .listOf(account)
      .some(({ keys, before, after }) =>
        [...before.tokens, ...after.tokens].some(
          ({ accountIndex, owner }) => owner === self && keys[accountIndex]?.address === account,
        ),
      )
    if (isOwn) own.set(account, 'token')
  }
  for (const stake of chain.listOwned(stakeProgram)) own.set(stake, 'stake')
  for (const [address, accountKind] of own) {
    for (const entry of chain.history.listOf(address)) {
      if (seen.has(entry.signature)) continue
      seen.add(entry.signature)
      effects.push(...effectsOf(entry, own, self))
    }
    for (const { reward, owner } of rewards.listOf(address)) {
      if (owner !== self) continue
      const { amount, effectiveSlot } = reward
      const moment = { signature: null, slot: effectiveSlot, time: toTime(effectiveSlot) }
      effects.push({
        ...{ account: address, accountKind, asset: 'native', kind: 'reward', amount: amount.toString() },
        ...moment,
      })
    }
  }
  return {
    address: self,
    slot: newestSlot(nowMs),
    accounts: [...own.keys()].flatMap((address) => describeOwn(chain, address, self)),
    effects: effects.toSorted((a, b) => a.slot - b.slot),
  }
}

type Chain = World['chain']
type Entry = ReturnType<Chain['send']>

function effectsOf(entry: Entry, own: ReadonlyMap<Address, AccountKind>, self: Address): Effect[] {
  const { keys, before, after, fee, signature, slot } = entry
  const moment = { signature, slot, time: toTime(slot) }
  const effects: Effect[] = []
  for (const [index, { address }] of keys.entries()) {
    const accountKind = own.get(address)
    if (accountKind === undefined) continue
    const add = (asset: string, kind: Effect['kind'], amount: bigint): void => {
      if (amount === 0n) return
      effects.push({ ...{ account: address, accountKind, asset, kind, amount: amount.toString() }, ...moment })
    }
    const paid = index === 0 ? fee : 0n
    add('native', 'fee', -paid)
    // A stake account is the wallet's while the wallet may withdraw from it.
    const [had = 0n, has = 0n] = [before, after].map(({ lamports, withdrawers }) =>
      [undefined, self].includes(withdrawers[index]) ? lamports[index] : 0n,
    )
    add('native', 'transaction', has - had + paid)
    const [held, holds] = [before, after].map(({ tokens }) => tokens.find((one) => one.accountIndex === index))
    const mint = held?.mint ?? holds?.mint
    if (mint !== undefined) add(mint, 'transaction', (holds?.amount ?? 0n) - (held?.amount ?? 0n))
  }
  return effects
}

function describeOwn(chain: Chain, address: Address, self: Address): OwnAccount[] {
  const account = chain.findAccount(address)
  if (account === undefined) return []
  const lamports = account.lamports.toString()
  if (address === self) return [{ address, kind: 'wallet', lamports }]
  const stake = decodeStake(account)
  if (stake !== undefined) return stake.withdrawer === self ? [{ address, kind: 'stake', lamports }] : []
  if (!isTokenAccount(account)) return []
  const { mint, amount } = decodeTokenAccount(account)
  const program = account.programAddress === token2022Program ? token2022Program : tokenProgram
  const decimals = chain.findAccount(mint)?.data[44] ?? 0
  return [{ address, kind: 'token', lamports, token: { mint, program, amount: amount.toString(), decimals } }]
}

function toTime(slot: number): string {
  return new Date(timeOf(slot) * 1_000).toISOString()
}
