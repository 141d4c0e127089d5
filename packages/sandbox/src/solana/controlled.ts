/**
 * What the control API can see and change of a simulated wallet.
 *
 *   entries    { type: "deposit" | "withdrawal", asset, amount, subtype?, address? }: a transfer from or to the
 *              wallet's exchange, in the newest slot, so `finalized` shows it 13 seconds later. `asset` is SOL or a
 *              code of `tokens.ts`; `subtype` is a memo; `address` is where a withdrawal goes instead, such as another
 *              wallet. The ids are signatures. A chain books nothing in the past, so `time` is refused.
 *   withdrawn  { ids }: the fork that these transactions were on is abandoned, all or none. They must not be final, and
 *              what came later on the same accounts goes with them.
 */
import type { Address } from '@solana/kit'
import type { Controlled, NewEntry } from '../control.ts'
import { toUnits } from '../core/units.ts'
import { fromBase58 } from './chain/addresses.ts'
import type { Solana } from './index.ts'
import type { AssetCode, Deed } from './story.ts'
import { tokens } from './chain/tokens.ts'
import type { Wallet, World } from './world.ts'

export function controlSolana(solana: Solana, url: string, nowMs: () => number): Controlled {
  const { accounts } = solana.wallets

  return {
    providerId: 'solana',
    url,
    scenarios: accounts.scenarios,
    async mint(scenario, text) {
      const account = accounts.mint(scenario, text)
      if (account === undefined) return undefined
      const { wallet } = await solana.openWallet(account)
      return { account_id: account.id, credentials: { address: wallet.actors.self.address } }
    },
    async state(id) {
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      const { world, wallet } = await solana.openWallet(account)
      const { readWalletState } = await import('./chain/account-state.ts')
      const state = readWalletState(world, wallet, nowMs())
      return { account_id: id, provider_id: 'solana', scenario: account.scenario.name, ...state }
    },
    async addEntries(id, entries, _, refid) {
      if (refid !== undefined) throw new RangeError('transactions have no references: they have signatures')
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      const deeds = entries.map(toDeed)
      const { world, wallet } = await solana.openWallet(account)
      return bookAll(world, wallet, deeds)
    },
    async withdraw(id, ids) {
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      const { world } = await solana.openWallet(account)
      world.chain.drop(ids)
      return { withdrawn: ids }
    },
    changeKey(id) {
      if (accounts.findById(id) === undefined) return undefined
      throw new RangeError('a wallet has no key: anyone can read its address')
    },
  }
}

/** All or none. Throws a RangeError when a transfer fails, which the chain itself would keep and charge for. */
function bookAll(world: World, wallet: Wallet, deeds: readonly Deed[]): string[] {
  const booked: string[] = []
  try {
    for (const deed of deeds) {
      const { err, logs, signature } = world.act(wallet, deed)
      booked.push(signature)
      if (err !== null)
        throw new RangeError(`the transfer fails: ${JSON.stringify(err)} ${logs.join('; ').slice(0, 300)}`)
    }
  } catch (error) {
    world.chain.drop(booked)
    throw error
  }
  return booked
}

function toDeed({ type, subtype, asset, amount, address, ...rest }: NewEntry): Deed {
  const refused = Object.entries(rest).filter(([, value]) => value !== undefined)
  if (refused.length > 0) {
    throw new RangeError(`a chain decides this itself: ${refused.map(([name]) => name).join(', ')}`)
  }
  if (type !== 'deposit' && type !== 'withdrawal') {
    throw new RangeError(`${type} cannot be booked here; deposit and withdrawal can`)
  }
  if (asset !== 'SOL' && !Object.hasOwn(tokens, asset)) {
    throw new RangeError(`no asset ${asset}; there are SOL, ${Object.keys(tokens).join(', ')}`)
  }
  const positive = amount.replace(/^-/, '')
  const decimals = asset === 'SOL' ? 9 : tokens[asset as keyof typeof tokens].decimals
  if (toUnits(positive, decimals) === 0n) throw new RangeError('a transfer of nothing cannot be booked')
  const told = { asset: asset as AssetCode, amount: positive, ...(subtype !== undefined && { memo: subtype }) }
  if (address === undefined) {
    return type === 'deposit' ? { kind: 'receive', ...told } : { kind: 'send', to: 'exchange', ...told }
  }
  if (type === 'deposit')
    throw new RangeError('a deposit comes from the exchange: book a withdrawal at the other wallet')
  if (fromBase58(address)?.length !== 32) throw new RangeError(`not an address: ${address}`)
  return { kind: 'pay', address: address as Address, ...told }
}
