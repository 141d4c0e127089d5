/**
 * Whatever happens on the chain, the drafts add up to the balances: to the lamport, and to the smallest unit of each
 * token. The world here keeps its own books of every account, and knows nothing of how the connector reads them.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { add, negate, zero, type Decimal, type TransactionDraft } from '@assay/core'
import fc from 'fast-check'
import type { ConnectorState, StoredRecord } from '../kit/connector.ts'
import { nativeMint } from './assets.ts'
import { connector } from './connector.ts'
import { friend, rent, startNode, usdc, wallet, type TestAccount, type TestNode } from './test-node.ts'

const otherMint = 'DeaXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'
const stakeProgram = { program: 'stake' }

interface Held {
  lamports: bigint
  token?: { mint: string; owner: string; units: bigint }
  isStake?: true
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
  count = 0
  atSeconds = 1_700_000_000

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
    const accounts = names.map((key): TestAccount => {
      const [was, is] = [before.get(key), this.accounts.get(key)]
      const token = is?.token ?? was?.token
      return {
        ...{ key, before: was?.lamports ?? 0n, after: is?.lamports ?? 0n },
        ...(token && {
          token: {
            ...{ mint: token.mint, owner: token.owner },
            ...(was?.token && { before: was.token.units }),
            ...(is?.token && { after: is.token.units }),
          },
        }),
      }
    })
    this.node.transactions.push({ signature: `signature ${this.count}`, atSeconds: this.atSeconds, accounts, ...more })
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
    for (const [pubkey, { lamports, token, isStake }] of this.accounts) {
      if (token?.owner === wallet) node.tokens.push({ pubkey, mint: token.mint, amount: token.units, lamports })
      if (isStake) node.stakes.set(pubkey, lamports)
    }
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
      if (held === undefined || held.token?.units !== 0n) return false
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
  'SOL was staked': (world, amount, which) => {
    const stakeAccount = `Stake ${which}`
    const info = { stakeAccount, authorized: { staker: wallet, withdrawer: wallet } }
    world.transact(
      [wallet, stakeAccount],
      () => {
        if (!world.lamports(wallet, -amount) || !world.lamports(stakeAccount, amount)) return false
        Object.assign(world.accounts.get(stakeAccount) ?? {}, { isStake: true })
        return true
      },
      [{ ...stakeProgram, parsed: { type: 'initialize', info } }],
    )
  },
  'all of a stake was withdrawn': (world, _, which) => {
    const stakeAccount = `Stake ${which}`
    const held = world.accounts.get(stakeAccount)
    if (held === undefined) return
    world.transact(
      [wallet, stakeAccount],
      () => world.accounts.delete(stakeAccount) && world.lamports(wallet, held.lamports),
      [{ ...stakeProgram, parsed: { type: 'withdraw', info: { stakeAccount, withdrawAuthority: wallet } } }],
    )
  },
  'a tip was shared': (world, amount, which) => {
    const name = `Stake ${which}`
    if (!world.accounts.has(name)) return
    world.transact([friend, name], () => world.lamports(friend, -amount) && world.lamports(name, amount))
  },
  'an epoch paid': (world, amount, which) => {
    const name = `Stake ${which}`
    if (!world.accounts.has(name)) return
    const epoch = epochOf(world.atSeconds)
    world.atSeconds += epochLength
    world.lamports(name, amount)
    world.node.rewards.set(`${name}:${epoch}`, { amount, effectiveSlot: (epoch + 1) * epochLength })
  },
}

/** Slots of these tests are seconds. */
const epochLength = 432_000

function epochOf(slot: number): number {
  return Math.floor(slot / epochLength)
}

const window = { unit: 'ms', start: 0, end: 1_760_000_000_000 } as const

/** Every list to its end, including those that were found while reading. */
async function readAll(node: TestNode): Promise<{ drafts: TransactionDraft[]; balances: Record<string, string> }> {
  const reader = connector.open({ type: 'wallet', address: wallet }, node.io)
  const { balances, state: first = { address: wallet } } = await reader.fetchBalances({ address: wallet })
  let state: ConnectorState = first
  const records: StoredRecord[] = []
  const done = new Set<string>()
  for (;;) {
    const lists = (await reader.listPartitions?.(state)) ?? []
    const list = lists.find(({ stream, partition }) => !done.has(`${stream} ${partition}`))
    if (list === undefined) break
    done.add(`${list.stream} ${list.partition}`)
    let pageMark: string | null = null
    do {
      const page = await reader.fetchPage({ ...list, window, pageMark, lastingMark: null, state })
      records.push(...page.records.map((record) => ({ ...record, ...list })))
      state = page.state ?? state
      pageMark = page.next
    } while (pageMark !== null)
  }
  const addresses = new Set(connector.ownAddresses?.(state))
  const stories = Map.groupBy(records, (record) => connector.linkKeys(record)[0])
  const drafts = [...stories.values()].flatMap((story) => connector.toTransactions(story, { addresses, state }))
  const total = ({ liquid, staked }: { liquid: Decimal; staked: Decimal }): string => `${liquid} + ${staked}`
  return { drafts, balances: Object.fromEntries(balances.map((one) => [one.assetId, total(one)])) }
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
      fc.asyncProperty(fc.array(happening, { maxLength: 40 }), async (happenings) => {
        const world = new World()
        for (const { name, amount, which } of happenings) events[name]?.(world, amount, which)
        const node = world.observe()
        const epoch = epochOf(world.atSeconds) + 1
        const absoluteSlot = epoch * epochLength + 100_000
        node.epoch = { epoch, slotIndex: 100_000, slotsInEpoch: epochLength, absoluteSlot }
        for (const pubkey of node.stakes.keys()) node.accounts.set(pubkey, {})
        const { drafts, balances } = await readAll(node)
        assert.deepEqual(addUp(drafts), balances)
      }),
      { numRuns: 60 },
    )
  })
})
