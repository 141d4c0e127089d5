/** Transfers that a test books: one transaction for each, all in the next block of their chain. */
import type { Address } from './chain/addresses.ts'
import { moveAsset, tokenOf } from './calls.ts'
import { fund, type World } from './world.ts'
import type { ChainId } from './chain/networks.ts'
import type { AssetCode } from './story.ts'
import { readBalance } from './chain/token-facts.ts'
import { toUnits } from '../core/units.ts'

export interface Move {
  chainId: ChainId
  asset: AssetCode
  amount: string
  direction: 'in' | 'out'
  /** The other side; the wallet's own exchange when left out. It needs to have what it sends. */
  other?: Address
}

/** Throws a RangeError when a sender does not have the amount. Returns the hashes. */
export async function bookMoves(world: World, self: Address, moves: readonly Move[], nowMs: number): Promise<string[]> {
  const hashes: string[] = []
  for (const [chainId, ofChain] of Map.groupBy(moves, (move) => move.chainId)) {
    const chain = world.chains.get(chainId)
    if (chain === undefined) throw new RangeError(`no chain ${chainId}`)
    const actors = world.actorsOf(self)
    const atS = Math.floor(nowMs / 1000)
    const exchange = actors.of('exchange')
    const isFunded = BigInt(await chain.node.request('eth_getBalance', exchange, 'latest')) > 0n
    if (!isFunded) await chain.mine({ atS, transactions: await fund(chain, [actors]) })
    const transactions = []
    for (const { asset, amount, direction, other = exchange } of ofChain) {
      const ends = direction === 'in' ? { from: other, to: self } : { from: self, to: other }
      await requireFunds(world, chainId, asset, amount, ends.from)
      transactions.push(moveAsset(chain.network, asset, amount, ends))
    }
    hashes.push(...(await chain.mineReplaceable({ atS, transactions })))
  }
  return hashes
}

/** Checked here, because a transfer that the sender cannot afford would be a failed transaction, or stall the node. */
async function requireFunds(
  world: World,
  chainId: ChainId,
  asset: AssetCode,
  amount: string,
  from: Address,
): Promise<void> {
  const chain = world.chains.get(chainId)
  if (chain === undefined) throw new RangeError(`no chain ${chainId}`)
  const wei = BigInt(await chain.node.request('eth_getBalance', from, 'latest'))
  // This covers any transfer's gas at the highest price, and the fee for its data.
  const gasWei = 500_000n * chain.network.fees.maxWei
  const needed = asset === 'ETH' ? toUnits(amount, 18) + gasWei : gasWei
  if (wei < needed)
    throw new RangeError(`${from} has ${wei} wei on chain ${chainId}, and ${needed} are needed with gas`)
  if (asset === 'ETH') return
  const { address, decimals } = tokenOf(chain.network, asset)
  const held = await readBalance(chain, { contract: address, standard: 'erc20', tokenId: undefined }, from)
  if (held < toUnits(amount, decimals)) throw new RangeError(`${from} has ${held} units of ${asset}, not ${amount}`)
}
