/**
 * Everything that a wallet holds and that happened to it, for an independent check: every account that is or was its
 * own, its balance according to the virtual machine, and every effect on it. A balance is the sum of its effects.
 */
import type { Address } from '@solana/kit'
import { decodeStake, decodeTokenAccount, isTokenAccount } from './layouts.ts'
import { stakeProgram } from './programs.ts'
import { newestSlot, timeOf } from './slots.ts'
import { token2022Program, tokenProgram } from './tokens.ts'
import type { Wallet, World } from '../world.ts'

export interface OwnAccount {
  address: string
  kind: 'wallet' | 'token' | 'stake'
  lamports: string
  /** Set for a token account. The amount is a whole number of smallest units, as text. */
  token?: { mint: string; program: string; amount: string; decimals: number }
}

export interface Effect {
  account: string
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
  const own = new Set<Address>([self])
  const effects: Effect[] = []
  const seen = new Set<string>()
  // A transfer to a token account names only that account, so the accounts are walked until no new one turns up.
  for (const address of own) {
    for (const entry of chain.history.listOf(address)) {
      for (const { accountIndex, owner } of [...entry.before.tokens, ...entry.after.tokens]) {
        const account = entry.keys[accountIndex]?.address
        if (owner === self && account !== undefined) own.add(account)
      }
    }
  }
  for (const stake of chain.listOwned(stakeProgram)) own.add(stake)
  for (const address of own) {
    for (const entry of chain.history.listOf(address)) {
      if (seen.has(entry.signature)) continue
      seen.add(entry.signature)
      effects.push(...effectsOf(entry, own, self))
    }
    for (const { reward, owner } of rewards.listOf(address)) {
      if (owner !== self) continue
      const { amount, effectiveSlot } = reward
      const moment = { signature: null, slot: effectiveSlot, time: toTime(effectiveSlot) }
      effects.push({ account: address, asset: 'native', kind: 'reward', amount: amount.toString(), ...moment })
    }
  }
  return {
    address: self,
    slot: newestSlot(nowMs),
    accounts: [...own].flatMap((address) => describeOwn(chain, address, self)),
    effects: effects.toSorted((a, b) => a.slot - b.slot),
  }
}

type Chain = World['chain']
type Entry = ReturnType<Chain['send']>

function effectsOf(entry: Entry, own: ReadonlySet<string>, self: Address): Effect[] {
  const { keys, before, after, fee, signature, slot } = entry
  const moment = { signature, slot, time: toTime(slot) }
  const effects: Effect[] = []
  const add = (account: string, asset: string, kind: Effect['kind'], amount: bigint): void => {
    if (amount !== 0n) effects.push({ account, asset, kind, amount: amount.toString(), ...moment })
  }
  for (const [index, { address }] of keys.entries()) {
    if (!own.has(address)) continue
    const paid = index === 0 ? fee : 0n
    add(address, 'native', 'fee', -paid)
    // A stake account is the wallet's while the wallet may withdraw from it.
    const [had = 0n, has = 0n] = [before, after].map(({ lamports, withdrawers }) =>
      [undefined, self].includes(withdrawers[index]) ? lamports[index] : 0n,
    )
    add(address, 'native', 'transaction', has - had + paid)
    const [held, holds] = [before, after].map(({ tokens }) => tokens.find((one) => one.accountIndex === index))
    const mint = held?.mint ?? holds?.mint
    if (mint !== undefined) add(address, mint, 'transaction', (holds?.amount ?? 0n) - (held?.amount ?? 0n))
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
