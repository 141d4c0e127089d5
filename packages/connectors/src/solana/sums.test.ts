/**
 * Whatever happens on the chain, the drafts add up to the balances: to the lamport, and to the smallest unit of each
 * token. The world here keeps its own books of every account, and knows nothing of how the connector reads them.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { add, negate, zero, type Decimal, type TransactionDraft } from '@assay/core'
import { base58 } from '@scure/base'
import fc from 'fast-check'
import type { ConnectorState, StoredRecord } from '../kit/connector.ts'
import { toAssociatedAddress } from './addresses.ts'
import { nativeMint } from './assets.ts'
import { connector } from './connector.ts'
import { friend, rent, startNode, tokenProgram, usdc, wallet, type TestAccount, type TestNode } from './test-node.ts'

const otherMint = 'DeaXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'
/** A stranger's, who can close it. */
const fadingMint = 'DefXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'
const stakeProgram = { program: 'stake' }

interface Held {
  lamports: bigint
  token?: { mint: string; owner: string; units: bigint }
  /** Of a stake account: the only one who can withdraw from it. */
  withdrawer?: string
}

/** All accounts of the chain. A transaction is a change of some of them, with their state before and after. */
class World {
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

type Event = (world: World, amount: bigint, which: number) => void

const events: Readonly<Record<string, Event>> = {
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
function payAccount(world: World, name: string, payer: string, amount: bigint): void {
  if (!world.accounts.has(name)) return
  world.transact([payer, name], () => world.lamports(payer, -amount) && world.lamports(name, amount))
}

/** The deposit, and wrapped SOL, go to the one who closes. */
function close(world: World, name: string, closer: string): void {
  const { lamports } = world.accounts.get(name) ?? {}
  // The owner of an address that was closed then, and opened again, is not known.
  if (lamports === undefined || !world.hasOwners()) return
  world.transact([closer, name], () => world.accounts.delete(name) && world.lamports(closer, lamports))
}

/** From the wallet to the friend, or back. */
function handOverTokens(world: World, account: string): void {
  const token = world.accounts.get(account)?.token
  if (token === undefined) return
  const authority = token.owner
  const newAuthority = authority === wallet ? friend : wallet
  const info = { account, authority, authorityType: 'accountOwner', newAuthority }
  world.transact([authority, account], () => ((token.owner = newAuthority), true), [
    { program: 'spl-token', parsed: { type: 'setAuthority', info } },
  ])
}

function payEpoch(world: World, name: string, amount: bigint): void {
  if (!world.accounts.has(name)) return
  const epoch = epochOf(world.atSeconds)
  world.atSeconds += epochLength
  world.lamports(name, amount)
  world.node.rewards.set(`${name}:${epoch}`, { amount, effectiveSlot: (epoch + 1) * epochLength })
}

function stake(world: World, name: string, withdrawer: string, amount: bigint): void {
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

function withdraw(world: World, stakeAccount: string): void {
  const { lamports, withdrawer } = world.accounts.get(stakeAccount) ?? {}
  if (lamports === undefined || withdrawer === undefined) return
  world.transact(
    [withdrawer, stakeAccount],
    () => world.accounts.delete(stakeAccount) && world.lamports(withdrawer, lamports),
    [{ ...stakeProgram, parsed: { type: 'withdraw', info: { stakeAccount, withdrawAuthority: withdrawer } } }],
  )
}

/** From the wallet to the friend, or back. The new owner is written into the instruction, and is not an account of it. */
function handOver(world: World, stakeAccount: string): void {
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
function split(world: World, stakeAccount: string, newSplitAccount: string, amount: bigint): void {
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

function merge(world: World, destination: string, source: string): void {
  const [to, from] = [world.accounts.get(destination), world.accounts.get(source)]
  if (to?.withdrawer === undefined || from === undefined || to.withdrawer !== from.withdrawer) return
  world.transact(
    [friend, destination, source],
    () => world.accounts.delete(source) && world.lamports(destination, from.lamports),
    [{ ...stakeProgram, parsed: { type: 'merge', info: { destination, source, stakeAuthority: friend } } }],
  )
}

function tip(world: World, name: string, amount: bigint): void {
  if (!world.accounts.has(name)) return
  world.transact([friend, name], () => world.lamports(friend, -amount) && world.lamports(name, amount))
}

/** Slots of these tests are seconds. */
const epochLength = 432_000

function epochOf(slot: number): number {
  return Math.floor(slot / epochLength)
}

const endMs = 1_760_000_000_000

interface Books {
  drafts: TransactionDraft[]
  balances: Record<string, string>
  state: ConnectorState
}

/**
 * Every list to its end, including those that were found while reading: first everything since `edgeMs`, and then the
 * rest, as the engine does. `given` is the state of an earlier read.
 */
async function readAll(
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
  return { drafts, balances: Object.fromEntries(balances.map((one) => [one.assetId, total(one)])), state }
}

/** Inputs − outputs − fees, by asset and place. */
function addUp(drafts: readonly TransactionDraft[]): Record<string, string> {
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

describe('the sums of a Solana wallet', () => {
  it('any history explains the resulting balances', async () => {
    const happening = fc.record({
      name: fc.constantFrom(...Object.keys(events)),
      amount: fc.bigInt({ min: 0n, max: 3_000_000_000n }),
      which: fc.integer({ min: 1, max: 2 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 40 }), fc.nat(), fc.nat(40), async (happenings, edge, old) => {
        const world = new World()
        world.ownersSince = world.atSeconds + old * 400
        const startMs = world.atSeconds * 1_000
        for (const { name, amount, which } of happenings) events[name]?.(world, amount, which)
        const edgeMs = startMs + (edge % (world.atSeconds * 1_000 - startMs + 1))
        const { drafts, balances } = await readAll(world.observe(), { edgeMs })
        assert.deepEqual(addUp(drafts), balances)
      }),
      { numRuns: 60 },
    )
  })
})

describe('a stake account that changes hands', () => {
  const sol = 1_000_000_000n
  const funding = 'receive deposit +50 SOL'

  /** In order of time, without what the first transaction of the world gave the wallet. */
  async function tell(world: World, more: Parameters<typeof readAll>[1] = {}): Promise<string[]> {
    const { drafts, balances } = await readAll(world.observe(), more)
    assert.deepEqual(addUp(drafts), balances)
    const say = (sign: string, legs: TransactionDraft['inputs']): string[] =>
      legs.map(({ amount, place }) => `${sign}${amount} ${place === 'staked' ? 'staked' : 'SOL'}`)
    const lines = drafts
      .toSorted((a, b) => a.occurredAtMs - b.occurredAtMs)
      .map(({ type, category, inputs, outputs }) =>
        [type, category, ...say('+', inputs), ...say('-', outputs)].join(' '),
      )
    assert.equal(lines[0], funding)
    return lines.slice(1)
  }

  function takeOut(world: World, name: string, amount: bigint): void {
    const { withdrawer = '' } = world.accounts.get(name) ?? {}
    world.transact([withdrawer, name], () => world.lamports(name, -amount) && world.lamports(withdrawer, amount), [
      { ...stakeProgram, parsed: { type: 'withdraw', info: { stakeAccount: name, withdrawAuthority: withdrawer } } },
    ])
  }

  /** A stranger's account with a past: SOL that came and went, and the rewards of two epochs. */
  function liveElsewhere(world: World): void {
    stake(world, 'Stake 1', friend, 700n * sol)
    events['an epoch paid']?.(world, 5n * sol, 1)
    tip(world, 'Stake 1', 3n * sol)
    takeOut(world, 'Stake 1', 600n * sol)
    events['an epoch paid']?.(world, 4n * sol, 1)
  }

  for (const edgeMs of [0, 1_700_500_000_000, 1_759_000_000_000]) {
    it(`counts from then on with the balance that it had, whatever its past (since ${edgeMs})`, async () => {
      const world = new World()
      liveElsewhere(world)
      handOver(world, 'Stake 1')
      tip(world, 'Stake 1', sol)
      events['an epoch paid']?.(world, 2n * sol, 1)
      assert.deepEqual(await tell(world, { edgeMs }), [
        'receive deposit +112 staked',
        'input_only staking_reward +1 staked',
        'input_only staking_reward +2 staked',
      ])
    })
  }

  it('counts from then on, though the stranger did everything in one slot', async () => {
    const world = new World()
    const { atSeconds } = world
    for (const act of [
      () => stake(world, 'Stake 1', friend, 700n * sol),
      () => takeOut(world, 'Stake 1', 699n * sol),
      () => handOver(world, 'Stake 1'),
    ]) {
      world.atSeconds = atSeconds
      act()
    }
    assert.deepEqual(await tell(world), ['receive deposit +1 staked'])
  })

  it('counts from then on when it is handed over between two reads', async () => {
    const world = new World()
    liveElsewhere(world)
    const { state } = await readAll(world.observe())
    handOver(world, 'Stake 1')
    assert.deepEqual(await tell(world, { given: state }), ['receive deposit +112 staked'])
  })

  it('counts until the wallet hands it over to another', async () => {
    const world = new World()
    stake(world, 'Stake 1', wallet, 7n * sol)
    events['an epoch paid']?.(world, sol, 1)
    const { state } = await readAll(world.observe())
    handOver(world, 'Stake 1')
    world.node.stakes.clear()
    liveElsewhere(world)
    tip(world, 'Stake 1', 3n * sol)
    events['an epoch paid']?.(world, 9n * sol, 1)
    for (const given of [undefined, state]) {
      assert.deepEqual(await tell(world, given && { given }), [
        'input_and_output staking_lock +7 staked -7 SOL',
        'input_only staking_reward +1 staked',
        'send withdrawal -8 staked',
      ])
    }
  })

  it('is not the wallet’s because a stranger writes the wallet into an instruction as the one who hands it over', async () => {
    const world = new World()
    liveElsewhere(world)
    // The stake program looks for the owner among all signers, wherever they are named.
    const info = { stakeAccount: 'Stake 1', authority: wallet, newAuthority: wallet, authorityType: 'Withdrawer' }
    const held = world.accounts.get('Stake 1')
    assert.ok(held !== undefined)
    world.transact([friend, 'Stake 1', wallet], () => ((held.withdrawer = wallet), true), [
      { ...stakeProgram, parsed: { type: 'authorize', info } },
    ])
    assert.deepEqual(await tell(world), ['receive deposit +112 staked'])
  })

  it('is not the wallet’s because a stranger who withdraws puts the wallet where an older node expects the owner', async () => {
    const world = new World()
    stake(world, 'Stake 1', friend, 800n * sol)
    split(world, 'Stake 1', 'Split 1', 300n * sol)
    payEpoch(world, 'Split 1', 10n * sol)
    // Without sysvars the third account withdraws, and the program does not look at the fifth.
    const [stakeAccount, destination, clockSysvar, stakeHistorySysvar] = ['Split 1', friend, friend, friend]
    const info = { stakeAccount, destination, clockSysvar, stakeHistorySysvar, withdrawAuthority: wallet }
    world.transact(
      [friend, 'Split 1', wallet],
      () => world.accounts.delete('Split 1') && world.lamports(friend, 310n * sol),
      [{ ...stakeProgram, parsed: { type: 'withdraw', info } }],
    )
    // The transaction names the wallet, and changes nothing that it has.
    assert.deepEqual(await tell(world), ['uncategorized other'])
  })

  it('is the wallet’s when its instructions have no sysvars, and an older node does not parse them', async () => {
    const world = new World()
    const unparsed = (accounts: readonly string[], ...data: number[]): object => ({
      ...{ programId: 'Stake11111111111111111111111111111111111111', accounts },
      data: base58.encode(Uint8Array.of(...data)),
    })
    const made = { lamports: 7n * sol, withdrawer: wallet }
    world.transact(
      [wallet, 'Stake 1'],
      () => (world.accounts.set('Stake 1', made), world.lamports(wallet, -7n * sol)),
      [unparsed(['Stake 1', friend, wallet], 9, 0, 0, 0)],
    )
    payEpoch(world, 'Stake 1', sol)
    world.transact([wallet, 'Stake 1'], () => world.accounts.delete('Stake 1') && world.lamports(wallet, 8n * sol), [
      unparsed(['Stake 1', wallet, wallet], 4, 0, 0, 0, ...Buffer.alloc(8)),
    ])
    assert.deepEqual(await tell(world), [
      'input_and_output staking_lock +7 staked -7 SOL',
      'input_only staking_reward +1 staked',
      'input_and_output staking_unlock +8 SOL -8 staked',
    ])
  })

  it('gives the account that is split off it to its owner at that time', async () => {
    const world = new World()
    stake(world, 'Stake 1', friend, 9n * sol)
    split(world, 'Stake 1', 'Split 1', 4n * sol)
    merge(world, 'Stake 1', 'Split 1')
    handOver(world, 'Stake 1')
    split(world, 'Stake 1', 'Split 1', 2n * sol)
    merge(world, 'Stake 1', 'Split 1')
    const lines = await tell(world)
    assert.equal(lines[0], 'receive deposit +9 staked')
    // The owner took no part in the others, and has as much as before.
    assert.deepEqual(lines.slice(1), ['uncategorized other', 'uncategorized other'])
  })

  it('is a hole when the node does not have the beginning of its history', async () => {
    const world = new World()
    liveElsewhere(world)
    handOver(world, 'Stake 1')
    world.node.transactions = world.node.transactions.filter(({ instructions }) => {
      const [first] = (instructions ?? []) as { parsed: { type: string } }[]
      return first?.parsed.type !== 'initialize'
    })
    await assert.rejects(readAll(world.observe()), { fault: 'data_hole' })
  })

  describe('in a transaction that does not show it', () => {
    function hide(world: World): void {
      stake(world, 'Stake 1', friend, 7n * sol)
      handOver(world, 'Stake 1')
      Object.assign(world.node.transactions.at(-1) ?? {}, { instructions: [] })
      tip(world, 'Stake 1', sol)
    }

    it('is in neither the balance nor the history, also when the wallet withdraws from it', async () => {
      const world = new World()
      hide(world)
      const { state } = await readAll(world.observe())
      assert.deepEqual(await tell(world, { given: state }), [])
      takeOut(world, 'Stake 1', 2n * sol)
      assert.deepEqual(await tell(world, { given: state }), ['receive deposit +2 SOL'])
    })

    it('is left out, too, when it is split off, or begins in a transaction that cannot be read', async () => {
      const world = new World()
      hide(world)
      split(world, 'Stake 1', 'Split 1', sol)
      world.accounts.set('Stake 2', { lamports: 7n * sol, withdrawer: wallet })
      tip(world, 'Stake 2', 0n)
      Object.assign(world.node.transactions.at(-1) ?? {}, { version: 128 })
      const { state } = await readAll(world.observe())
      assert.deepEqual(await tell(world, { given: state }), ['receive deposit +1 staked'])
    })

    it('is counted when the node has listed that transaction, and no longer asked for after a day', async () => {
      const world = new World()
      hide(world)
      const node = world.observe()
      const { state } = await readAll(node)
      const later = new World()
      stake(later, 'Stake 1', friend, 7n * sol)
      handOver(later, 'Stake 1')
      const { state: known } = await readAll(later.observe(), { given: state })
      assert.deepEqual(await tell(later, { given: known }), ['receive deposit +7 staked'])
      node.nowMs += 86_400_001
      const { state: confirmed } = await readAll(node, { given: state })
      node.asked.length = 0
      await readAll(node, { given: confirmed })
      assert.deepEqual(
        node.asked.filter(({ params }) => params[0] === 'Stake 1'),
        [],
      )
    })

    it('is left out when it had an earlier life, which stays in the history', async () => {
      for (const isReadBetween of [true, false]) {
        const world = new World()
        for (const [name, amount] of [
          ['Stake 1', 2n * sol],
          ['Stake 2', 3n * sol],
        ] as const) {
          stake(world, name, friend, amount)
          handOver(world, name)
        }
        const before = isReadBetween ? (await readAll(world.observe())).state : undefined
        merge(world, 'Stake 2', 'Stake 1')
        const hidden = { lamports: 7n * sol, withdrawer: wallet }
        world.transact(
          [friend, 'Stake 1'],
          () => world.accounts.set('Stake 1', hidden) && world.lamports(friend, -7n * sol),
        )
        const { state } = await readAll(world.observe(), before && { given: before })
        const lines = await tell(world, { given: state })
        assert.deepEqual(lines, ['receive deposit +2 staked', 'receive deposit +3 staked', 'uncategorized other'])
      }
    })

    it('is left out when it was another’s, and was read before', async () => {
      const world = new World()
      stake(world, 'Stake 1', friend, 2n * sol)
      handOver(world, 'Stake 1')
      stake(world, 'Stake 2', friend, 3n * sol)
      handOver(world, 'Stake 2')
      merge(world, 'Stake 2', 'Stake 1')
      stake(world, 'Stake 1', friend, 7n * sol)
      const { state: before } = await readAll(world.observe())
      handOver(world, 'Stake 1')
      Object.assign(world.node.transactions.at(-1) ?? {}, { instructions: [] })
      const { state } = await readAll(world.observe(), { given: before })
      assert.deepEqual(await tell(world, { given: state }), [
        'receive deposit +2 staked',
        'receive deposit +3 staked',
        'uncategorized other',
      ])
    })

    it('keeps several lives before it, however often it is looked at', async () => {
      const world = new World()
      const live = (amount: bigint): void => {
        stake(world, 'Stake 1', friend, amount)
        handOver(world, 'Stake 1')
      }
      stake(world, 'Stake 2', friend, 3n * sol)
      handOver(world, 'Stake 2')
      live(2n * sol)
      let { state } = await readAll(world.observe())
      merge(world, 'Stake 2', 'Stake 1')
      live(5n * sol)
      merge(world, 'Stake 2', 'Stake 1')
      const hidden = { lamports: 7n * sol, withdrawer: wallet }
      world.transact(
        [friend, 'Stake 1'],
        () => world.accounts.set('Stake 1', hidden) && world.lamports(friend, -7n * sol),
      )
      for (let runs = 0; runs < 3; runs += 1) ({ state } = await readAll(world.observe(), { given: state }))
      const lines = await tell(world, { given: state })
      assert.deepEqual(lines, [
        'receive deposit +3 staked',
        'receive deposit +2 staked',
        'uncategorized other',
        'receive deposit +5 staked',
        'uncategorized other',
      ])
    })

    it('is left out when it is given and taken in one transaction', async () => {
      const world = new World()
      const info = { stakeAccount: 'Stake 1', authorized: { staker: friend, withdrawer: wallet } }
      world.transact(
        [friend, 'Stake 1', wallet],
        () => {
          world.accounts.set('Stake 1', { lamports: sol, withdrawer: friend })
          return world.lamports(friend, -sol)
        },
        [{ ...stakeProgram, parsed: { type: 'initialize', info } }],
      )
      const given = { address: wallet, stakes: ['Stake 1'] }
      const { state } = await readAll(world.observe(), { given })
      assert.deepEqual(await tell(world, { given: state }), ['uncategorized other'])
    })

    it('is a hole where the wallet signed for it', async () => {
      const world = new World()
      hide(world)
      const given = { address: wallet, stakes: ['Stake 1'], signedStakes: ['Stake 1'] }
      await assert.rejects(readAll(world.observe(), { given }), { fault: 'data_hole' })
    })
  })

  it('is read on behind a transaction that cannot be read', async () => {
    const world = new World()
    stake(world, 'Stake 1', wallet, 7n * sol)
    tip(world, 'Stake 1', 0n)
    Object.assign(world.node.transactions.at(-1) ?? {}, { version: 128 })
    tip(world, 'Stake 1', sol)
    assert.deepEqual(await tell(world), [
      'input_and_output staking_lock +7 staked -7 SOL',
      'input_only staking_reward +1 staked',
    ])
  })
})

describe('a token account in the time before nodes reported owners', () => {
  const year = 365 * 86_400

  /** In order of time, without what the first transaction of the world gave the wallet. */
  async function tell(world: World, edgeMs: number): Promise<string[]> {
    const { drafts, balances } = await readAll(world.observe(), { edgeMs })
    assert.deepEqual(addUp(drafts), balances)
    return drafts
      .toSorted((a, b) => a.occurredAtMs - b.occurredAtMs)
      .slice(1)
      .flatMap(({ type, inputs, outputs, incomplete }) => {
        assert.deepEqual(incomplete, [])
        const moved = [
          ...inputs.map((leg) => ({ sign: '+', ...leg })),
          ...outputs.map((leg) => ({ sign: '-', ...leg })),
        ]
        const tokens = moved.filter(({ symbol }) => symbol === 'USDC')
        return tokens.map(({ sign, amount }) => `${type} ${sign}${amount}`)
      })
  }

  function newWorld(): World {
    const world = new World()
    world.ownersSince = world.atSeconds + year
    return world
  }

  function comeAlone(world: World, amount: bigint, name = 'Usdc 1'): void {
    world.transact([friend, 'FriendUsdc', name], () => world.units('FriendUsdc', -amount) && world.units(name, amount))
  }

  function pay(world: World, amount: bigint, to = 'FriendUsdc'): void {
    world.transact([wallet, 'Usdc 1', to], () => world.units('Usdc 1', -amount) && world.units(to, amount))
  }

  // Everything in one window; a second window with the last months; one with nothing but the first days before it.
  for (const edgeMs of [0, 1_735_000_000_000, 1_700_001_000_000]) {
    describe(`with an edge at ${edgeMs}`, () => {
      it('has its deposits, though strangers signed them and it is not the associated account', async () => {
        const world = newWorld()
        events['tokens came and opened the account']?.(world, 1_000_000n, 1)
        comeAlone(world, 5_000_000n)
        pay(world, 2_000_000n)
        assert.deepEqual(await tell(world, edgeMs), ['receive +1', 'receive +5', 'send -2'])
      })

      it('of a recipient takes no payment out of the history when the recipient hands it over', async () => {
        const world = newWorld()
        events['tokens came and opened the account']?.(world, 9_000_000n, 1)
        world.accounts.set('Payee', { lamports: rent, token: { mint: usdc, owner: friend, units: 0n } })
        pay(world, 6_000_000n, 'Payee')
        world.transact([friend, 'Payee', 'FriendUsdc'], () => {
          return world.units('Payee', -6_000_000n) && world.units('FriendUsdc', 6_000_000n)
        })
        world.atSeconds += year
        handOverTokens(world, 'Payee')
        assert.deepEqual(await tell(world, edgeMs), ['receive +9', 'send -6'])
        // The address is closed, and opened again for the wallet.
        const again = newWorld()
        events['tokens came and opened the account']?.(again, 9_000_000n, 1)
        again.accounts.set('Payee', { lamports: rent, token: { mint: usdc, owner: friend, units: 0n } })
        pay(again, 6_000_000n, 'Payee')
        again.atSeconds += year
        const emptied = { lamports: rent, token: { mint: usdc, owner: wallet, units: 0n } }
        again.transact([friend, 'Payee', 'FriendUsdc'], () => {
          return again.units('FriendUsdc', 6_000_000n) && again.accounts.delete('Payee') && again.lamports(friend, rent)
        })
        again.transact([friend, 'Payee'], () => (again.accounts.set('Payee', emptied), again.lamports(friend, -rent)))
        assert.deepEqual(await tell(again, edgeMs), ['receive +9', 'send -6'])
      })

      it('is the wallet’s before an escrow program of that time took it', async () => {
        const world = newWorld()
        events['tokens came and opened the account']?.(world, 1_000_000n, 1)
        handOverTokens(world, 'Usdc 1')
        // With a further account behind it, nodes name the authority otherwise.
        const info = { account: 'Usdc 1', authorityType: 'accountOwner', multisigAuthority: wallet, signers: [wallet] }
        const parsed = { type: 'setAuthority', info: { ...info, newAuthority: friend } }
        Object.assign(world.node.transactions.at(-1) ?? {}, { instructions: [{ program: 'spl-token', parsed }] })
        world.atSeconds += year
        handOverTokens(world, 'Usdc 1')
        assert.deepEqual(await tell(world, edgeMs), ['receive +1', 'send -1', 'receive +1'])
      })

      it('is the wallet’s before it lay with a program, and after it came back', async () => {
        const world = newWorld()
        events['tokens came and opened the account']?.(world, 1_000_000n, 1)
        comeAlone(world, 2_000_000n)
        world.atSeconds += year
        handOverTokens(world, 'Usdc 1')
        handOverTokens(world, 'Usdc 1')
        comeAlone(world, 4_000_000n)
        assert.deepEqual(await tell(world, edgeMs), ['receive +1', 'receive +2', 'send -3', 'receive +3', 'receive +4'])
      })

      it('counts from the instruction that gave it to the wallet', async () => {
        const world = newWorld()
        world.accounts.set('Gift', { lamports: rent, token: { mint: usdc, owner: friend, units: 0n } })
        comeAlone(world, 5_000_000n, 'Gift')
        handOverTokens(world, 'Gift')
        comeAlone(world, 2_000_000n, 'Gift')
        assert.deepEqual(await tell(world, edgeMs), ['receive +5', 'receive +2'])
      })

      it('that is the associated one counts, though it was closed and opened again', async () => {
        const world = newWorld()
        const name = toAssociatedAddress(wallet, usdc)
        const come = (): void =>
          world.transact([friend, 'FriendUsdc', name], () => {
            return world.open(name, usdc, friend) && world.units('FriendUsdc', -7n) && world.units(name, 7n)
          })
        come()
        world.transact([wallet, name, 'FriendUsdc'], () => {
          return world.units('FriendUsdc', 7n) && world.accounts.delete(name) && world.lamports(wallet, rent)
        })
        world.atSeconds += year
        come()
        assert.deepEqual(await tell(world, edgeMs), ['receive +0.000007', 'send -0.000007', 'receive +0.000007'])
      })
    })
  }

  it('is marked as incomplete, and is not spam, where a transaction that cannot be read may have given it away', async () => {
    const world = newWorld()
    events['tokens came and opened the account']?.(world, 1_000_000n, 1)
    comeAlone(world, 5_000_000n)
    world.atSeconds += year
    payAccount(world, 'Usdc 1', friend, 1n)
    const [newest] = world.node.transactions.slice(-1)
    Object.assign(newest ?? {}, { version: 128 })
    const { drafts } = await readAll(world.observe())
    assert.deepEqual(
      drafts.map(({ inputs, incomplete, spam }) => [inputs.length, incomplete.length, spam]),
      [
        [0, 2, false],
        [1, 0, false],
        [0, 2, false],
      ],
    )
  })
})
