/**
 * One simulated chain: a node, an index of it, and the rules for making blocks. A block's number and time follow the
 * sandbox's clock (`networks.ts` has the length of a block); the blocks between two that hold transactions are empty.
 *
 * The node knows neither validator withdrawals nor the data fee of a chain above another. Both are balances that change
 * without a transaction, so the simulator sets the balance right after the block, and shows where they belong: the
 * block's `withdrawals`, and the receipt's `l1Fee`. The block's own hash does not cover them.
 */
import type { Address } from './addresses.ts'
import { createChainIndex, type ChainIndex, type DataFee, type IndexedTransaction } from './chain-index.ts'
import type { Network } from './networks.ts'
import { toQuantity, type EvmNode } from './node.ts'
import { canCallOut, readBlock, readTrace } from './read-block.ts'

export interface PlannedTransaction {
  from: Address
  to?: Address
  value?: bigint
  data?: `0x${string}`
  gas: bigint
}

export interface PlannedWithdrawal {
  address: Address
  gwei: number
  validator: number
}

export interface BlockPlan {
  atS: number
  transactions: readonly PlannedTransaction[]
  withdrawals?: readonly PlannedWithdrawal[]
}

interface Head {
  number: number
  timeS: number
  /**
   * How many blocks exist beyond those due by the clock, because each of several bookings at one time needs its own.
   */
  surplus: number
}

interface Replaceable {
  snapshot: string
  parent: Head
  plan: BlockPlan
  hashes: readonly string[]
}

export class Chain {
  readonly network: Network
  readonly node: EvmNode
  readonly index: ChainIndex = createChainIndex()
  readonly #impersonated = new Set<Address>()
  readonly #callsOut = new Map<Address, boolean>()
  #head: Head
  #withdrawalsTotal = 0
  #replaceable: Replaceable | undefined
  #untraced: IndexedTransaction[] = []

  constructor(network: Network, node: EvmNode) {
    this.network = network
    this.node = node
    this.#head = { number: 0, timeS: network.genesisS, surplus: 0 }
  }

  headNumber(): number {
    return this.#head.number
  }

  async setBalance(address: Address, wei: bigint): Promise<void> {
    await this.node.request('hardhat_setBalance', address, toQuantity(wei))
  }

  /** Makes the empty blocks that are due. */
  async advanceTo(nowS: number): Promise<void> {
    await this.#fillTo(this.#numberAt(nowS))
  }

  /** Makes the blocks up to one with these transactions. Returns their hashes. */
  async mine(plan: BlockPlan): Promise<string[]> {
    const number = Math.max(this.#head.number + 1, this.#numberAt(plan.atS))
    await this.#fillTo(number - 1)
    const hashes: string[] = []
    for (const transaction of plan.transactions) hashes.push(await this.#send(transaction))
    const { genesisS, blockS, hasDataFee } = this.network
    const surplus = this.#head.surplus + Math.max(0, number - this.#numberAt(plan.atS))
    const timeS = Math.max(this.#head.timeS, Math.min(plan.atS, genesisS + (number - surplus) * blockS))
    await this.node.request('hardhat_setNextBlockBaseFeePerGas', toQuantity(baseFeeOf(this.network, number)))
    await this.node.request('evm_setNextBlockTimestamp', timeS)
    await this.node.request('evm_mine')
    this.#head = { number, timeS, surplus }
    const read = await readBlock(this.node, this.index, number, hasDataFee ? dataFeeOf : () => undefined)
    const taken = read.transactions.length
    if (taken !== hashes.length) {
      throw new Error(`chain ${this.network.chainId}: block ${number} took ${taken} of ${hashes.length} transactions`)
    }
    this.#untraced.push(...read.transactions)
    await this.#settleOutsideTransactions(read, plan.withdrawals ?? [])
    this.#replaceable = undefined
    return hashes
  }

  /** Like `mine`, in a block that `reorganise` can replace until the next one with transactions. */
  async mineReplaceable(plan: BlockPlan): Promise<string[]> {
    await this.#fillTo(this.#numberAt(plan.atS) - 1)
    const parent = this.#head
    const snapshot = await this.node.request('evm_snapshot')
    const hashes = await this.mine(plan)
    this.#replaceable = { snapshot, parent, plan, hashes }
    return hashes
  }

  /**
   * Replaces the newest block that holds transactions. They disappear, or move to the block after it. Throws a
   * RangeError when these are not the newest transactions, or when they cannot be replaced.
   */
  async reorganise(hashes: readonly string[], how: 'drop' | 'move'): Promise<void> {
    const last = this.#replaceable
    if (last?.hashes.length !== hashes.length || !last.hashes.every((hash) => hashes.includes(hash))) {
      const expected = last === undefined ? 'there are none' : `they are ${last.hashes.join(', ')}`
      throw new RangeError(`only the transactions of the newest booked block can be reorganised: ${expected}`)
    }
    await this.node.request('evm_revert', last.snapshot)
    this.#impersonated.clear()
    this.#replaceable = undefined
    this.#head = last.parent
    this.index.forgetFrom(last.parent.number + 1)
    this.#untraced = this.#untraced.filter(({ block }) => block.number <= last.parent.number)
    await this.#fillTo(last.parent.number + 1)
    if (how === 'move') await this.mineReplaceable({ ...last.plan, atS: this.#head.timeS })
  }

  /** The number of the last block at or before a time; the first block for a time before it. */
  async blockNumberAt(timeS: number): Promise<number> {
    let [low, high] = [0, this.#head.number]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((await this.timeOf(middle)) <= timeS) low = middle
      else high = middle - 1
    }
    return low
  }

  async timeOf(blockNumber: number): Promise<number> {
    const params = [toQuantity(blockNumber), false]
    const { timestamp } = await this.node.request<{ timestamp: string }>('eth_getBlockByNumber', ...params)
    return Number(timestamp)
  }

  /** Fills in the internal transfers, which take a trace for each transaction that can have some. */
  async readTraces(): Promise<void> {
    const waiting = this.#untraced
    this.#untraced = []
    for (const transaction of waiting) {
      if (!(await this.#canHaveInternals(transaction))) continue
      for (const internal of await readTrace(this.node, transaction)) this.index.addInternal(internal)
    }
  }

  #numberAt(timeS: number): number {
    return Math.floor((timeS - this.network.genesisS) / this.network.blockS) + this.#head.surplus
  }

  async #fillTo(number: number): Promise<void> {
    const count = number - this.#head.number
    if (count <= 0) return
    const { genesisS, blockS } = this.network
    const { number: before, timeS, surplus } = this.#head
    const firstS = Math.max(timeS, genesisS + (before + 1 - surplus) * blockS)
    await this.node.request('evm_setNextBlockTimestamp', firstS)
    await this.node.request('hardhat_mine', toQuantity(count), toQuantity(blockS))
    this.#head = { number, timeS: firstS + (count - 1) * blockS, surplus }
  }

  async #send({ from, to, value = 0n, data, gas }: PlannedTransaction): Promise<string> {
    if (!this.#impersonated.has(from)) {
      await this.node.request('hardhat_impersonateAccount', from)
      this.#impersonated.add(from)
    }
    const { tipWei, maxWei } = this.network.fees
    return this.node.request('eth_sendTransaction', {
      ...{ from, ...(to !== undefined && { to }), ...(data !== undefined && { data }) },
      ...{ value: toQuantity(value), gas: toQuantity(gas) },
      ...{ maxFeePerGas: toQuantity(maxWei), maxPriorityFeePerGas: toQuantity(tipWei) },
    })
  }

  async #settleOutsideTransactions(
    { block, transactions }: Awaited<ReturnType<typeof readBlock>>,
    withdrawals: readonly PlannedWithdrawal[],
  ): Promise<void> {
    const changes = new Map<Address, bigint>()
    const add = (address: Address, change: bigint): void => {
      changes.set(address, (changes.get(address) ?? 0n) + change)
    }
    for (const { from, dataFee } of transactions) if (dataFee !== undefined) add(from, -dataFee.fee)
    for (const { address, gwei, validator } of withdrawals) {
      const number = this.#withdrawalsTotal
      this.#withdrawalsTotal += 1
      this.index.addWithdrawal({ block, number, validator, address, gwei: BigInt(gwei) })
      add(address, BigInt(gwei) * 10n ** 9n)
    }
    for (const [address, change] of changes) {
      const after = BigInt(await this.node.request('eth_getBalance', address, 'latest')) + change
      if (after < 0n) throw new Error(`chain ${this.network.chainId}: ${address} cannot pay the data fee`)
      await this.setBalance(address, after)
    }
  }

  async #canHaveInternals({ to }: IndexedTransaction): Promise<boolean> {
    if (to === null) return true
    const known = this.#callsOut.get(to)
    if (known !== undefined) return known
    const answer = canCallOut(await this.node.request('eth_getCode', to, 'latest'))
    this.#callsOut.set(to, answer)
    return answer
  }
}

/** Rises and falls from block to block, as a busy chain's does. */
function baseFeeOf({ fees }: Network, number: number): bigint {
  const { base, swing, unitWei } = fees
  return (base + ((BigInt(number) * 7_919n) % swing)) * unitWei
}

/**
 * What a transaction pays for its data, by the formula of OP stack chains since Ecotone, with prices that stand still.
 * https://specs.optimism.io/protocol/ecotone/l1-attributes.html
 */
export const dataPrices = {
  baseFeeScalar: 2_269n,
  blobBaseFeeScalar: 1_055_762n,
  gasPrice: 12_345_678_901n,
  blobBaseFee: 1n,
}

function dataFeeOf(input: string): DataFee {
  const { baseFeeScalar, blobBaseFeeScalar, gasPrice, blobBaseFee } = dataPrices
  // A signed transaction is its input and some 110 bytes; each byte counts as 16 gas.
  const gasUsed = 16n * (110n + BigInt((input.length - 2) / 2))
  const weighted = 16n * baseFeeScalar * gasPrice + blobBaseFeeScalar * blobBaseFee
  return { gasUsed, gasPrice, fee: (gasUsed * weighted) / 16_000_000n }
}
