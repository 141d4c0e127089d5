/**
 * Both chains, the contracts on them, and the wallets. This file is loaded when an EVM account is first minted or
 * called, because it loads hardhat and viem. Everything that touches a chain runs in sequence (`run`): the next call
 * makes the due blocks, and a reader must not see half of a reorganisation.
 */
import { getAddress } from 'viem'
import type { Address, AddressBook, Role } from './chain/addresses.ts'
import { actorsOf, call, bytecodeOf, encode, toTransaction, type Actors } from './calls.ts'
import { Chain, type BlockPlan, type PlannedTransaction, type PlannedWithdrawal } from './chain/chain.ts'
import { networks, type ChainId, type Network } from './chain/networks.ts'
import { startNodes } from './chain/node.ts'
import type { Step, Story } from './story.ts'
import type { Wallet } from './wallets.ts'

export interface World {
  chains: ReadonlyMap<ChainId, Chain>
  /** Runs a task alone, with the chains up to date. */
  run<T>(task: () => Promise<T>): Promise<T>
  /** Adds the wallet's story to the newest blocks, unless the chain has it already. Call it inside `run`. */
  ensureWallet(wallet: Wallet): Promise<void>
  actorsOf(address: Address): Actors
  toChecksum(address: Address): Address
  close(): Promise<void>
}

const rich = 10n ** 25n
const roles: readonly Role[] = ['exchange', 'friend', 'employer', 'spammer']
/** Tokens that each wallet's exchange and employer have, in units. */
const supply = 10n ** 18n

export async function openWorld(options: {
  book: AddressBook
  /** The wallets that the chain has from its beginning. */
  prepared: readonly Wallet[]
  nowMs: () => number
}): Promise<World> {
  const { book, prepared, nowMs } = options
  const nodes = await startNodes(networks)
  const chains = new Map<ChainId, Chain>()
  for (const [at, network] of networks.entries()) {
    const node = nodes[at]
    if (node !== undefined) chains.set(network.chainId, new Chain(network, node))
  }
  const told = new Set<Address>()
  let last: Promise<unknown> = Promise.resolve()

  for (const chain of chains.values()) {
    const actors = prepared.map(({ address }) => actorsOf(book, address))
    await placeContracts(chain, actors)
    await tellStories(chain, book, prepared)
  }
  for (const { address } of prepared) told.add(address)

  async function advance(): Promise<void> {
    for (const chain of chains.values()) await chain.advanceTo(Math.floor(nowMs() / 1000))
  }

  return {
    chains,
    run<T>(task: () => Promise<T>): Promise<T> {
      const next = last.then(async () => {
        await advance()
        return task()
      })
      last = next.catch(() => undefined)
      return next
    },
    async ensureWallet(wallet) {
      if (told.has(wallet.address)) return
      told.add(wallet.address)
      for (const chain of chains.values()) {
        if (stepsOn(wallet.story, chain.network).length > 0) await tellNow(chain, book, wallet, nowMs)
      }
    },
    actorsOf: (address) => actorsOf(book, address),
    toChecksum: (address) => getAddress(address),
    async close() {
      await last
      await Promise.all(nodes.map((node) => node.close()))
    },
  }
}

/** The wallets share their blocks, because the steps of their stories have the same times. */
async function tellStories(chain: Chain, book: AddressBook, wallets: readonly Wallet[]): Promise<void> {
  const plans = new Map<string, { transactions: PlannedTransaction[]; withdrawals: PlannedWithdrawal[] }>()
  for (const { address, story } of wallets) {
    for (const step of stepsOn(story, chain.network)) {
      const plan = plans.get(step.at) ?? { transactions: [], withdrawals: [] }
      addStep(plan, chain.network, actorsOf(book, address), step)
      plans.set(step.at, plan)
    }
  }
  for (const [at, plan] of [...plans].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    await chain.mine({ atS: Date.parse(`${at.replace(' ', 'T')}Z`) / 1000, ...plan })
  }
}

/** The steps of one time share a block, as they do in the past. */
async function tellNow(chain: Chain, book: AddressBook, wallet: Wallet, nowMs: () => number): Promise<void> {
  const actors = actorsOf(book, wallet.address)
  const atS = Math.floor(nowMs() / 1000)
  await chain.mine({ atS, transactions: await fund(chain, [actors]) })
  for (const steps of Map.groupBy(stepsOn(wallet.story, chain.network), ({ at }) => at).values()) {
    const plan = { transactions: [], withdrawals: [] }
    for (const step of steps) addStep(plan, chain.network, actors, step)
    await chain.mine({ atS, ...plan })
  }
}

function stepsOn(story: Story, { chainId }: Network): readonly Step[] {
  return story.steps.filter((step) => step.chainId === chainId)
}

function addStep(
  plan: { transactions: PlannedTransaction[]; withdrawals: PlannedWithdrawal[] },
  network: Network,
  actors: Actors,
  { deed }: Step,
): void {
  if (deed.kind === 'validator-withdrawal') {
    plan.withdrawals.push({ address: actors.self, gwei: deed.gwei, validator: deed.validator })
    return
  }
  const transaction = toTransaction(network, actors, deed)
  if (transaction !== undefined) plan.transactions.push(transaction)
}

/** Funds the other parties of a story. Returns the transactions that mint their tokens. */
export async function fund(chain: Chain, wallets: readonly Actors[]): Promise<PlannedTransaction[]> {
  const { tokens } = chain.network
  const transactions: PlannedTransaction[] = []
  for (const actors of wallets) {
    for (const role of roles) await chain.setBalance(actors.of(role), rich)
    for (const role of ['exchange', 'employer'] as const) {
      const owner = actors.of(role)
      for (const code of ['USDC', 'GUSD', 'CBBTC'] as const) {
        const token = tokens[code]
        if (token !== undefined) transactions.push(call(owner, token.address, ['Token', 'mint', owner, supply]))
      }
    }
  }
  return transactions
}

/** Puts the code where the networks' table says, and gives each contract its name, its price and its stock. */
async function placeContracts(chain: Chain, wallets: readonly Actors[]): Promise<void> {
  const { network, node } = chain
  const { contracts, tokens, weth } = network
  const founder: Address = '0x00000000000000000000000000000000000f0d3e'
  await chain.setBalance(founder, rich)
  const transactions: PlannedTransaction[] = []
  for (const [name, address] of Object.entries(contracts)) {
    await node.request('hardhat_setCode', address, bytecodeOf(name as keyof typeof contracts))
  }
  transactions.push(call(founder, contracts.Router, ['Router', 'initialize', weth]))
  for (const [code, token] of Object.entries(tokens)) {
    const { address, name, symbol, decimals, unitsForEther } = token
    await node.request('hardhat_setCode', address, bytecodeOf(code === 'WETH' ? 'WrappedEther' : 'Token'))
    if (code === 'WETH') continue
    transactions.push(call(founder, address, ['Token', 'initialize', name, symbol, decimals]))
    if (unitsForEther === 0n) continue
    transactions.push(
      call(founder, contracts.Router, ['Router', 'setPrice', address, unitsForEther]),
      call(founder, address, ['Token', 'mint', contracts.Router, supply]),
    )
  }
  const stock = 10n ** 24n
  const toRouter = { to: weth, data: encode('WrappedEther', 'transfer', [contracts.Router, stock]), gas: 400_000n }
  transactions.push(
    call(founder, weth, ['WrappedEther', 'deposit'], stock),
    { from: founder, ...toRouter },
    ...(await fund(chain, wallets)),
  )
  const plan: BlockPlan = { atS: Date.parse(network.setupAt) / 1000, transactions }
  await chain.mine(plan)
}
