/** Turns the steps of a story into transactions, with the ABIs of the committed contracts. */
import { readFileSync } from 'node:fs'
import { decodeFunctionResult, encodeFunctionData, toFunctionSelector, type Abi } from 'viem'
import { toUnits } from '../core/units.ts'
import type { Address, AddressBook, Role } from './chain/addresses.ts'
import type { PlannedTransaction } from './chain/chain.ts'
import type { Network, TokenCode, TokenFacts } from './chain/networks.ts'
import type { AssetCode, Deed } from './story.ts'

type ContractName = 'Token' | 'WrappedEther' | 'Collectible' | 'Items' | 'Router' | 'Splitter' | 'Reverter'

interface Artifact {
  abi: Abi
  bytecode: `0x${string}`
  deployedBytecode: `0x${string}`
}

const artifacts = JSON.parse(readFileSync(new URL('contracts/artifacts.json', import.meta.url), 'utf8')) as Record<
  ContractName,
  Artifact
>

const transferGas = 21_000n
const callGas = 400_000n
const multisendGas = 16_000_000n
const noDeadline = 4_102_444_800n

export interface Actors {
  self: Address
  of(role: Role): Address
}

export function actorsOf(book: AddressBook, self: Address): Actors {
  return { self, of: (role) => book.counterparty(self, role) }
}

export function bytecodeOf(contract: ContractName): `0x${string}` {
  return artifacts[contract].deployedBytecode
}

export function encode(contract: ContractName, functionName: string, args: readonly unknown[] = []): `0x${string}` {
  return encodeFunctionData({ abi: artifacts[contract].abi, functionName, args })
}

export function decode(contract: ContractName, functionName: string, data: `0x${string}`): unknown {
  return decodeFunctionResult({ abi: artifacts[contract].abi, functionName, data })
}

export function call(
  from: Address,
  to: Address,
  [contract, functionName, ...args]: readonly [ContractName, string, ...unknown[]],
  value = 0n,
): PlannedTransaction {
  return { from, to, value, data: encode(contract, functionName, args), gas: callGas }
}

export function tokenOf(network: Network, code: TokenCode): TokenFacts {
  const token = network.tokens[code]
  if (token === undefined) throw new RangeError(`chain ${network.chainId} has no ${code}`)
  return token
}

/** The transaction that moves an asset, whatever the asset is. */
export function moveAsset(
  network: Network,
  asset: AssetCode,
  amount: string,
  ends: { from: Address; to: Address },
): PlannedTransaction {
  if (asset === 'ETH') return { ...ends, value: toUnits(amount, 18), gas: transferGas }
  const { address, decimals } = tokenOf(network, asset)
  return call(ends.from, address, ['Token', 'transfer', ends.to, toUnits(amount, decimals)])
}

/** Undefined for what happens without a transaction. */
export function toTransaction(network: Network, actors: Actors, deed: Deed): PlannedTransaction | undefined {
  const { self } = actors
  const { contracts, weth } = network
  const ether = (amount: string): bigint => toUnits(amount, 18)
  switch (deed.kind) {
    case 'receive':
      return moveAsset(network, deed.asset, deed.amount, { from: actors.of(deed.from ?? 'exchange'), to: self })
    case 'send':
      return moveAsset(network, deed.asset, deed.amount, {
        from: self,
        to: deed.to === 'self' ? self : actors.of(deed.to),
      })
    case 'swap':
      return swap(network, self, deed)
    case 'wrap':
      return call(self, weth, ['WrappedEther', 'deposit'], ether(deed.amount))
    case 'unwrap':
      return call(self, weth, ['WrappedEther', 'withdraw', ether(deed.amount)])
    case 'approve': {
      const { address, decimals } = tokenOf(network, deed.asset)
      return call(self, address, ['Token', 'approve', contracts.Router, toUnits(deed.amount, decimals)])
    }
    case 'payout':
      return call(
        actors.of('employer'),
        contracts.Splitter,
        ['Splitter', 'split', [self, actors.of('friend')]],
        ether(deed.amount),
      )
    case 'split':
    case 'failing-split': {
      const name = deed.kind === 'split' ? 'split' : 'splitAndFail'
      const to = [actors.of('friend'), actors.of('exchange'), self]
      return call(self, contracts.Splitter, ['Splitter', name, to], ether(deed.amount))
    }
    case 'call-that-reverts':
      return call(self, contracts.Reverter, ['Reverter', 'fail'], ether(deed.amount))
    case 'deploy':
      return { from: self, data: artifacts.Splitter.bytecode, gas: 2_000_000n }
    case 'airdrop': {
      const { address, decimals } = tokenOf(network, deed.token)
      const others = [actors.of('friend'), self, actors.of('exchange')]
      return call(actors.of('spammer'), address, ['Token', 'airdrop', others, toUnits(deed.amount, decimals)])
    }
    case 'poison': {
      const args = [self, actors.of('poisoner'), 0n]
      return call(actors.of('spammer'), tokenOf(network, 'USDC').address, ['Token', 'transferFrom', ...args])
    }
    case 'multisend': {
      const { address } = tokenOf(network, deed.asset)
      const args = [self, BigInt(deed.first), BigInt(deed.count)]
      const sent = call(actors.of('employer'), address, ['Token', 'multisend', ...args])
      return { ...sent, gas: multisendGas }
    }
    case 'validator-withdrawal':
      return undefined
    default:
      return moveCollectible(network, actors, deed)
  }
}

type CollectibleDeed = Extract<Deed, { kind: `${string}-collectible` | `${string}-item` | `${string}-items` }>

function moveCollectible(network: Network, actors: Actors, deed: CollectibleDeed): PlannedTransaction {
  const { self } = actors
  const { Collectible, Items } = network.contracts
  switch (deed.kind) {
    case 'mint-collectible':
      return call(self, Collectible, ['Collectible', 'mint', tokenIdOf(self, deed.number)])
    case 'send-collectible': {
      const args = [self, actors.of('friend'), tokenIdOf(self, deed.number)]
      return call(self, Collectible, ['Collectible', 'transferFrom', ...args])
    }
    case 'mint-item':
      return call(self, Items, ['Items', 'mint', BigInt(deed.id), BigInt(deed.count)])
    case 'mint-items':
      return call(self, Items, ['Items', 'mintBatch', deed.ids.map(BigInt), deed.counts.map(BigInt)])
    case 'send-item': {
      const args = [self, actors.of('friend'), BigInt(deed.id), BigInt(deed.count), '0x']
      return call(self, Items, ['Items', 'safeTransferFrom', ...args])
    }
  }
}

/** Each wallet has its own portrait numbers. They are larger than 2^53, as real ones often are. */
function tokenIdOf(self: Address, number: number): bigint {
  return BigInt(self) * 1_000n + BigInt(number)
}

function swap(network: Network, self: Address, deed: Extract<Deed, { kind: 'swap' }>): PlannedTransaction {
  const { Router } = network.contracts
  const side = (asset: AssetCode): { address: Address; decimals: number } =>
    asset === 'ETH' ? { address: network.weth, decimals: 18 } : tokenOf(network, asset)
  const [give, take] = [side(deed.give), side(deed.take)]
  const amount = toUnits(deed.amount, give.decimals)
  const atLeast = toUnits(deed.atLeast ?? '0', take.decimals)
  const rest = [[give.address, take.address], self, noDeadline]
  if (deed.give === 'ETH') return call(self, Router, ['Router', 'swapExactETHForTokens', atLeast, ...rest], amount)
  const name = deed.take === 'ETH' ? 'swapExactTokensForETH' : 'swapExactTokensForTokens'
  return call(self, Router, ['Router', name, amount, atLeast, ...rest])
}

/** The function that an input calls, as an explorer writes it: its name, and each argument with its type. */
export function functionNameOf(input: string): string {
  return functionNames.get(input.slice(0, 10)) ?? ''
}

const functionNames = new Map<string, string>(
  Object.values(artifacts)
    .flatMap(({ abi }) => abi.filter((item) => item.type === 'function'))
    .map((item) => {
      const inputs = item.inputs.map(({ type, name = '' }) => `${type} ${name}`.trim())
      return [toFunctionSelector(item), `${item.name}(${inputs.join(', ')})`]
    }),
)
