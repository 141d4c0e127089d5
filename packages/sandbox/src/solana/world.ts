/**
 * The chain, what was on it before the first story, and the wallets. Loaded when a Solana account is first minted or
 * called, because it loads the virtual machine. A transaction is one synchronous call, so no reader sees half of one. A
 * long story yields between its transactions, because the process may have other work.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address } from '@solana/kit'
import { keyOf, type Key, type Role } from './chain/addresses.ts'
import { Chain } from './chain/chain.ts'
import { toPlan, type Actors } from './deeds.ts'
import { createFunds } from './funds.ts'
import type { Entry } from './history.ts'
import { stakeProgram } from './chain/programs.ts'
import { createRewards, type Rewards } from './chain/rewards.ts'
import { newestSlot, slotAt } from './chain/slots.ts'
import type { AssetCode, Deed, Story } from './story.ts'

export interface Wallet {
  accountId: string
  actors: Actors
}

export interface World {
  chain: Chain
  rewards: Rewards
  /** Tells the wallet's story, unless that was done already. */
  ensureWallet(accountId: string, story: Story): Promise<Wallet>
  /** Does one thing more, now. */
  act(wallet: Wallet, deed: Deed): Entry
  /** Brings the chain up to the clock. */
  advance(): void
}

/** Some fifty milliseconds. */
const stepsInATurn = 25

export function openWorld(options: {
  seed: string
  nowMs: () => number
  /** Called with every address and signature of a wallet. */
  note: (text: string, accountId: string) => void
}): World {
  const { seed, nowMs, note } = options
  const chain = new Chain(seed, nowMs)
  const rewards = createRewards(chain)
  const funds = createFunds(chain, keyOf(seed, 'founder', 'self'))
  const wallets = new Map<string, Promise<Wallet>>()
  /** The actors of stories that have not reached the present: the chain's clock does not concern them yet. */
  const inThePast = new Set<Actors>()

  function advance(): void {
    chain.advance()
    rewards.pay(newestSlot(nowMs()), (withdrawer) => ![...inThePast].some((actors) => actors.has(withdrawer)))
  }

  function tell(wallet: Wallet, deed: Deed, slot: number): Entry {
    rewards.pay(slot, (withdrawer) => wallet.actors.has(withdrawer))
    const { role, assets } = spentBy(deed)
    if (role !== undefined) funds.ensure(wallet.actors.of(role), assets, slot, wallet.accountId)
    const entry = chain.send(toPlan(chain, wallet.actors, deed), slot, wallet.accountId)
    note(entry.signature, wallet.accountId)
    for (const { address } of ownAccountsIn(chain, entry, wallet.actors.self.address)) note(address, wallet.accountId)
    return entry
  }

  async function tellAll(accountId: string, story: Story): Promise<Wallet> {
    const wallet = createWallet(seed, accountId)
    inThePast.add(wallet.actors)
    for (const [index, { at, deed }] of story.steps.entries()) {
      if (index % stepsInATurn === stepsInATurn - 1) await nextTurn()
      const slot = slotAt(Date.parse(`${at.replace(' ', 'T')}Z`) / 1_000)
      // Steps in the future have not happened yet.
      if (slot <= newestSlot(nowMs())) tell(wallet, deed, slot)
    }
    inThePast.delete(wallet.actors)
    advance()
    return wallet
  }

  return {
    chain,
    rewards,
    ensureWallet(accountId, story) {
      const told = wallets.get(accountId) ?? tellAll(accountId, story)
      wallets.set(accountId, told)
      return told
    },
    act(wallet, deed) {
      advance()
      return tell(wallet, deed, newestSlot(nowMs()))
    },
    advance,
  }
}

function createWallet(seed: string, accountId: string): Wallet {
  const keys = new Map<Role, Key>()
  const of = (role: Role): Key => {
    const key = keys.get(role) ?? keyOf(seed, accountId, role)
    keys.set(role, key)
    return key
  }
  const self = keyOf(seed, accountId, 'self')
  const has = (address: Address): boolean => [self, ...keys.values()].some((key) => key.address === address)
  return { accountId, actors: { self, of, has } }
}

/** What each party must have before a deed can be done. */
function spentBy(deed: Deed): { role?: Role; assets: readonly AssetCode[] } {
  if (deed.kind === 'receive') return { role: deed.from ?? 'exchange', assets: [deed.asset] }
  if (deed.kind === 'airdrop') return { role: 'spammer', assets: [deed.asset] }
  if (deed.kind === 'swap') return { role: 'maker', assets: [deed.give, deed.take] }
  if (deed.kind === 'send' || deed.kind === 'send-all') return { role: deed.to, assets: [] }
  if ('by' in deed && deed.by !== undefined) return { role: deed.by, assets: ['SOL'] }
  return { assets: [] }
}

function ownAccountsIn(chain: Chain, entry: Entry, self: Address): { address: Address }[] {
  const owned = new Set([...entry.before.tokens, ...entry.after.tokens].filter(({ owner }) => owner === self))
  const indexes = new Set([...owned].map(({ accountIndex }) => accountIndex))
  const isStake = (address: Address): boolean => chain.findAccount(address)?.programAddress === stakeProgram
  return entry.keys.filter(({ address, isWritable }, index) => indexes.has(index) || (isWritable && isStake(address)))
}
