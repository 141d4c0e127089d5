/**
 * A chain for tests that keeps its own books of every account, and knows nothing of how the connector reads them; and
 * everything that a wallet's lists and balances say about it, read as the engine does.
 */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { add, negate, zero, type Decimal, type TransactionDraft } from '@assay/core'
import type { ConnectorState, StoredRecord } from '../kit/connector.ts'
import { nativeMint } from './assets.ts'
import { connector } from './connector.ts'
import { friend, rent, startNode, tokenProgram, usdc, wallet, type TestAccount, type TestNode } from './test-node.ts'

export const otherMint = 'DeaXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'
/** A stranger's, who can close it. */
export const fadingMint = 'DefXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'
export const stakeProgram = { program: 'stake' }

export interface Held {
  lamports: bigint
  token?: { mint: string; owner: string; units: bigint }
  /** Of a stake account: the only one who can withdraw from it. */
  withdrawer?: string
}

/** All accounts of the chain. A transaction is a change of some of them, with their state before and after. */
export class World {
  readonly node: TestNode = startNode()
  readonly accounts = new Map<string, Held>([
    [wallet, { lamports: 50_000_000_000n }],
    [friend, { lamports: 900_000_000_000n }],
    ['FriendUsdc', { lamports: rent, token: { mint: usdc, owner: friend, units: 10n ** 15n } }],
    ['FriendOther', { lamports: rent, token: { mint: otherMint, owner: friend, units: 10n ** 15n } }],
  ])
  readonly closedMints = new Set<string>()
  count = 0
  atSeconds = 1_700_000_000
  /** Of transactions before this time, nodes report no owners of tokens. */
  ownersSince = 0

  constructor() {
    const before = new Map<string, Held>([[wallet, { lamports: 0n }]])
    this.write([friend, wallet], before, {})
  }

  /**
   * `names` are the accounts of the transaction, the first pays. `change` changes them; false undoes it and leaves the
   * fee.
   */
  transact(names: readonly string[], change: () => boolean, instructions: readonly object[] = []): void {
    const before = structuredClone(this.accounts)
    const fee = 5_000n
    const isDone = change()
    if (!isDone) {
      this.accounts.clear()
      for (const [name, held] of structuredClone(before)) this.accounts.set(name, held)
    }
    const payer = this.accounts.get(names[0] ?? '')
    assert.ok(payer !== undefined)
    if (payer.lamports < fee) return
    payer.lamports -= fee
    this.write(names, before, { fee, instructions, ...(isDone ? {} : { err: { InstructionError: [0, 'Custom'] } }) })
  }

  private write(names: readonly string[], before: ReadonlyMap<string, Held>, more: object): void {
    this.count += 1
    this.atSeconds += 400
    const sides = names.map((key) => ({ key, was: before.get(key), is: this.accounts.get(key) }))
    // A node reports tokens only if the transaction names their program, which it has to do to change them.
    const isTokens = sides.some(({ was, is }) => !isDeepStrictEqual(was?.token, is?.token))
    const accounts = sides.map(({ key, was, is }): TestAccount => {
      const token = is?.token ?? was?.token
      return {
        ...{ key, before: was?.lamports ?? 0n, after: is?.lamports ?? 0n },
        ...(isTokens &&
          token &&
          !this.closedMints.has(token.mint) && {
            token: {
              mint: token.mint,
              ...(this.hasOwners() && { owner: token.owner, ...(was?.token && { ownerBefore: was.token.owner }) }),
              ...(was?.token && { before: was.token.units }),
              ...(is?.token && { after: is.token.units }),
            },
          }),
      }
    })
    const program = isTokens ? [{ key: tokenProgram, before: 1n, after: 1n }] : []
    this.node.transactions.push({
      ...{ signature: `signature ${this.count}`, atSeconds: this.atSeconds, accounts: [...accounts, ...program] },
      ...more,
    })
  }

  hasOwners(): boolean {
    return this.atSeconds >= this.ownersSince
  }

  lamports(name: string, change: bigint): boolean {
    const held = this.accounts.get(name) ?? { lamports: 0n }
    held.lamports += change
    this.accounts.set(name, held)
    return held.lamports >= 10_000n
  }

  units(name: string, change: bigint): boolean {
    const token = this.accounts.get(name)?.token
    if (token === undefined) return false
    token.units += change
    return token.units >= 0n
  }

  open(name: string, mint: string, payer: string): boolean {
    if (this.accounts.has(name)) return true
    this.accounts.set(name, { lamports: rent, token: { mint, owner: wallet, units: 0n } })
    return this.lamports(payer, -rent)
  }

  /** A node that reports what the wallet has now. */
  observe(): TestNode {
    const { node } = this
    node.lamports.set(wallet, this.accounts.get(wallet)?.lamports ?? 0n)
    for (const [pubkey, { lamports, token, withdrawer }] of this.accounts) {
      const isListed = token?.owner === wallet && !this.closedMints.has(token.mint)
      if (isListed) node.tokens.push({ pubkey, mint: token.mint, amount: token.units, lamports })
      if (withdrawer === wallet) node.stakes.set(pubkey, lamports)
      if (withdrawer === undefined) continue
      const data = { program: 'stake', parsed: { type: 'delegated', info: { meta: { authorized: { withdrawer } } } } }
      node.accounts.set(pubkey, { lamports, owner: 'Stake11111111111111111111111111111111111111', data })
    }
    const epoch = epochOf(this.atSeconds) + 1
    const absoluteSlot = epoch * epochLength + 100_000
    node.epoch = { epoch, slotIndex: 100_000, slotsInEpoch: epochLength, absoluteSlot }
    return node
  }
}

export type Event = (world: World, amount: bigint, which: number) => void

export const events: Readonly<Record<string, Event>> = {
  'SOL came': (world, amount) =>
    world.transact([friend, wallet], () => world.lamports(friend, -amount) && world.lamports(wallet, amount)),
  'SOL went': (world, amount) =>
    world.transact([wallet, friend], () => world.lamports(wallet, -amount) && world.lamports(friend, amount)),
  'tokens came and opened the account': (world, amount, which) => {
    const name = `Usdc ${which}`
    world.transact([friend, wallet, 'FriendUsdc', name], () => {
      return world.open(name, usdc, friend) && world.units('FriendUsdc', -amount) && world.units(name, amount)
    })
  },
  'tokens came, and the wallet is not named': (world, amount, which) => {
    const name = `Usdc ${which}`
    world.transact([friend, 'FriendUsdc', name], () => world.units('FriendUsdc', -amount) && world.units(name, amount))
  },
  'tokens went to a new account': (world, amount, which) => {
    const [from, to] = [`Usdc ${which}`, `New ${world.count}`]
    world.transact([wallet, from, to], () => {
      world.accounts.set(to, { lamports: rent, token: { mint: usdc, owner: friend, units: 0n } })
      return world.lamports(wallet, -rent) && world.units(from, -amount) && world.units(to, amount)
    })
  },
  'an account was closed': (world, _, which) => {
    const name = `Usdc ${which}`
    world.transact([wallet, name], () => {
      const held = world.accounts.get(name)
      if (held === undefined || held.token?.units !== 0n || !world.hasOwners()) return false
      return world.accounts.delete(name) && world.lamports(wallet, held.lamports)
    })
  },
  'a swap': (world, amount) =>
    world.transact([wallet, friend, 'Other', 'FriendOther'], () => {
      const isPaid = world.lamports(wallet, -amount) && world.lamports(friend, amount)
      const isOpen = world.open('Other', otherMint, wallet)
      return isPaid && isOpen && world.units('FriendOther', -amount) && world.units('Other', amount)
    }),
  'SOL was wrapped': (world, amount) =>
    world.transact([wallet, 'Wrapped'], () => {
      const isOpen = world.open('Wrapped', nativeMint, wallet)
      return (
        isOpen && world.lamports(wallet, -amount) && world.lamports('Wrapped', amount) && world.units('Wrapped', amount)
      )
    }),
  'SOL was unwrapped': (world) => close(world, 'Wrapped', wallet),
  'SOL went to the account of wrapped SOL': (world, amount) => payAccount(world, 'Wrapped', wallet, amount),
  'a stranger paid SOL to the account of wrapped SOL': (world, amount) => payAccount(world, 'Wrapped', friend, amount),
  'SOL in its account was made tokens': (world, _, which) => {
    const { lamports, token } = world.accounts.get('Wrapped') ?? {}
    if (lamports === undefined || token === undefined) return
    world.transact([which === 1 ? wallet : friend, 'Wrapped'], () =>
      world.units('Wrapped', lamports - rent - token.units),
    )
  },
  'a stranger paid SOL to a token account': (world, amount, which) =>
    payAccount(world, `Usdc ${which}`, friend, amount),
  'SOL went to an own token account': (world, amount, which) => payAccount(world, `Usdc ${which}`, wallet, amount),
  'a stranger opened an account that only the stranger can close': (world, amount) => {
    if (world.accounts.has('Bait')) return
    world.transact([friend, 'Bait'], () => {
      const isOpen = world.open('Bait', usdc, friend)
      return isOpen && world.lamports(friend, -amount) && world.lamports('Bait', amount)
    })
  },
  'the stranger closed it': (world) => close(world, 'Bait', friend),
  'a stranger opened an account of a mint': (world) => {
    if (world.accounts.has('Fading') || world.closedMints.has(fadingMint)) return
    world.transact([friend, wallet, 'Fading'], () => world.open('Fading', fadingMint, friend))
  },
  'the mint was closed': (world) => world.closedMints.add(fadingMint),
  'the account of the mint was closed': (world) => close(world, 'Fading', wallet),
  'a token account was handed over': (world, _, which) => handOverTokens(world, `Usdc ${which}`),
  'a stranger’s token account was handed over, or back': (world) => handOverTokens(world, 'FriendUsdc'),
  'SOL was staked': (world, amount, which) => stake(world, `Stake ${which}`, wallet, amount),
  'a stranger staked': (world, amount, which) => stake(world, `Stake ${which}`, friend, amount),
  'all of a stake was withdrawn': (world, _, which) => withdraw(world, `Stake ${which}`),
  'a stake was handed over': (world, _, which) => handOver(world, `Stake ${which}`),
  'a stake was split': (world, amount, which) => split(world, `Stake ${which}`, `Split ${which}`, amount),
  'a stake that was split off was handed over': (world, _, which) => handOver(world, `Split ${which}`),
  'a stake that was split off was withdrawn': (world, _, which) => withdraw(world, `Split ${which}`),
  'two stakes were merged': (world, _, which) => merge(world, `Stake ${which}`, `Split ${which}`),
  'a tip was shared': (world, amount, which) => tip(world, `Stake ${which}`, amount),
  'an epoch paid': (world, amount, which) => payEpoch(world, `Stake ${which}`, amount),
}

/** Without the token program. */
export function payAccount(world: World, name: string, payer: string, amount: bigint): void {
  if (!world.accounts.has(name)) return
  world.transact([payer, name], () => world.lamports(payer, -amount) && world.lamports(name, amount))
}

/** The deposit, and wrapped SOL, go to the one who closes. */
export function close(world: World, name: string, closer: string): void {
  const { lamports } = world.accounts.get(name) ?? {}
  // The owner of an address that was closed then, and opened again, is not known.
  if (lamports === undefined || !world.hasOwners()) return
  world.transact([closer, name], () => world.accounts.delete(name) && world.lamports(closer, lamports))
}

/** From the wallet to the friend, or back. */
export function handOverTokens(world: World, account: string): void {
  const token = world.accounts.get(account)?.token
  if (token === undefined) return
  const authority = token.owner
  const newAuthority = authority === wallet ? friend : wallet
  const info = { account, authority, authorityType: 'accountOwner', newAuthority }
  world.transact([authority, account], () => ((token.owner = newAuthority), true), [
    { program: 'spl-token', parsed: { type: 'setAuthority', info } },
  ])
}

export function payEpoch(world: World, name: string, amount: bigint): void {
  if (!world.accounts.has(name)) return
  const epoch = epochOf(world.atSeconds)
  world.atSeconds += epochLength
  world.lamports(name, amount)
  world.node.rewards.set(`${name}:${epoch}`, { amount, effectiveSlot: (epoch + 1) * epochLength })
}

export function stake(world: World, name: string, withdrawer: string, amount: bigint): void {
  if (world.accounts.has(name) || amount < 10_000n) return
  const info = { stakeAccount: name, authorized: { staker: friend, withdrawer } }
  world.transact(
    [withdrawer, name],
    () => {
      world.accounts.set(name, { lamports: amount, withdrawer })
      return world.lamports(withdrawer, -amount)
    },
    [{ ...stakeProgram, parsed: { type: 'initialize', info } }],
  )
}

export function withdraw(world: World, stakeAccount: string): void {
  const { lamports, withdrawer } = world.accounts.get(stakeAccount) ?? {}
  if (lamports === undefined || withdrawer === undefined) return
  world.transact(
    [withdrawer, stakeAccount],
    () => world.accounts.delete(stakeAccount) && world.lamports(withdrawer, lamports),
    [{ ...stakeProgram, parsed: { type: 'withdraw', info: { stakeAccount, withdrawAuthority: withdrawer } } }],
  )
}

/** From the wallet to the friend, or back. The new owner is written into the instruction, and is not an account of it. */
export function handOver(world: World, stakeAccount: string): void {
  const held = world.accounts.get(stakeAccount)
  const authority = held?.withdrawer
  if (held === undefined || authority === undefined) return
  const newAuthority = authority === wallet ? friend : wallet
  const info = { stakeAccount, authority, newAuthority, authorityType: 'Withdrawer' }
  world.transact([authority, stakeAccount], () => ((held.withdrawer = newAuthority), true), [
    { ...stakeProgram, parsed: { type: 'authorize', info } },
  ])
}

/** The one who may stake, and not the owner, asks for it: the instruction does not say who that is. */
export function split(world: World, stakeAccount: string, newSplitAccount: string, amount: bigint): void {
  const held = world.accounts.get(stakeAccount)
  if (held?.withdrawer === undefined || world.accounts.has(newSplitAccount) || amount < 10_000n) return
  const { withdrawer } = held
  const info = { stakeAccount, newSplitAccount, stakeAuthority: friend }
  world.transact(
    [friend, stakeAccount, newSplitAccount],
    () => {
      world.accounts.set(newSplitAccount, { lamports: amount, withdrawer })
      return world.lamports(stakeAccount, -amount)
    },
    [{ ...stakeProgram, parsed: { type: 'split', info } }],
  )
}

export function merge(world: World, destination: string, source: string): void {
  const [to, from] = [world.accounts.get(destination), world.accounts.get(source)]
  if (to?.withdrawer === undefined || from === undefined || to.withdrawer !== from.withdrawer) return
  world.transact(
    [friend, destination, source],
    () => world.accounts.delete(source) && world.lamports(destination, from.lamports),
    [{ ...stakeProgram, parsed: { type: 'merge', info: { destination, source, stakeAuthority: friend } } }],
  )
}

export function tip(world: World, name: string, amount: bigint): void {
  if (!world.accounts.has(name)) return
  world.transact([friend, name], () => world.lamports(friend, -amount) && world.lamports(name, amount))
}

/** Slots of these tests are seconds. */
export const epochLength = 432_000

export function epochOf(slot: number): number {
  return Math.floor(slot / epochLength)
}

export const endMs = 1_760_000_000_000

export interface Books {
  drafts: TransactionDraft[]
  balances: Record<string, string>
  state: ConnectorState
  /** Lists of which older windows are read again, because they were read under a mistake. */
  corrected: string[]
}

/**
 * Every list to its end, including those that were found while reading: first everything since `edgeMs`, and then the
 * rest, as the engine does. `given` is the state of an earlier read.
 */
export async function readAll(
  node: TestNode,
  { edgeMs = 0, given = { address: wallet } }: { edgeMs?: number; given?: ConnectorState } = {},
): Promise<Books> {
  const reader = connector.open({ type: 'wallet', address: wallet }, node.io)
  const { balances, state: first = given } = await reader.fetchBalances(given)
  let state: ConnectorState = first
  const records: StoredRecord[] = []
  const windows = [
    { unit: 'ms', start: edgeMs, end: endMs },
    ...(edgeMs === 0 ? [] : [{ unit: 'ms', start: 0, end: edgeMs } as const]),
  ] as const
  const lastingMarks = new Map<string, string>()
  const corrected: string[] = []
  for (const window of windows) {
    const done = new Set<string>()
    for (;;) {
      const lists = ((await reader.listPartitions?.(state)) ?? []).toSorted((a, b) =>
        a.partition < b.partition ? -1 : 1,
      )
      const idOf = ({ stream, partition }: (typeof lists)[number]): string => `${stream} ${partition}`
      const isLeft = (list: (typeof lists)[number]): boolean => !done.has(idOf(list))
      const list = lists.find((one) => one.stream === 'transactions' && isLeft(one)) ?? lists.find(isLeft)
      if (list === undefined) break
      done.add(idOf(list))
      let pageMark: string | null = null
      do {
        const lastingMark = lastingMarks.get(idOf(list)) ?? null
        const page = await reader.fetchPage({ ...list, window, pageMark, lastingMark, state })
        records.push(...page.records.map((record) => ({ ...record, ...list })))
        if (page.isCorrected === true) corrected.push(list.partition)
        if (page.lastingMark !== undefined) lastingMarks.set(idOf(list), page.lastingMark)
        state = page.state ?? state
        pageMark = page.next
      } while (pageMark !== null)
    }
  }
  const addresses = new Set(connector.ownAddresses?.(state))
  const readable = records.filter(({ unreadable }) => unreadable === undefined)
  const stories = Map.groupBy(readable, (record) => connector.linkKeys(record)[0])
  const drafts = [...stories.values()].flatMap((story) => connector.toTransactions(story, { addresses, state }))
  const total = ({ liquid, staked }: { liquid: Decimal; staked: Decimal }): string => `${liquid} + ${staked}`
  return { drafts, balances: Object.fromEntries(balances.map((one) => [one.assetId, total(one)])), state, corrected }
}

/** Inputs − outputs − fees, by asset and place. */
export function addUp(drafts: readonly TransactionDraft[]): Record<string, string> {
  const sums = new Map<string, Record<'liquid' | 'staked', Decimal>>()
  const post = (assetId: string, place: 'liquid' | 'staked', amount: Decimal): void => {
    const before = sums.get(assetId) ?? { liquid: zero, staked: zero }
    sums.set(assetId, { ...before, [place]: add(before[place], amount) })
  }
  for (const { inputs, outputs, fees } of drafts) {
    for (const { assetId, place = 'liquid', amount } of inputs) post(assetId, place, amount)
    for (const { assetId, place = 'liquid', amount } of [...outputs, ...fees]) post(assetId, place, negate(amount))
  }
  const shown = [...sums].map(([assetId, { liquid, staked }]): [string, string] => [assetId, `${liquid} + ${staked}`])
  return Object.fromEntries(shown.filter(([, text]) => text !== '0 + 0'))
}
