/**
 * How much a wallet has of every token and collectible that it has met, in base units, by the contracts themselves.
 */
import { isKnownAsset } from '@assay/core'
import { encodeFunctionData, erc20Abi, erc721Abi, parseAbi, type Address } from 'viem'
import { askContracts, requestsPerCall, startAsking, type Asking, type Question } from './ask-contracts.ts'
import { tokenAsset, wrappedContract } from './assets.ts'
import type { Chain } from './chains.ts'
import { toBigInt, type ChainClient } from './client.ts'
import type { ContractCall } from './multicall.ts'
import { keyOf, type ChainRound, type ChainState, type Nft, type Token, type Units } from './state.ts'

/** One token or piece, and how its contract is asked. */
interface Position extends ContractCall {
  list: 'tokens' | 'nfts'
  key: string
  isKnown: boolean
  toUnits(word: bigint): bigint
}

export async function fetchNative(client: ChainClient, address: Address): Promise<bigint> {
  return toBigInt('eth_getBalance', await client.rpc('eth_getBalance', [address, 'latest']))
}

/** Completes `read.units`. False when this call has made enough requests. */
export async function readUnits(
  client: ChainClient,
  asking: Asking,
  state: ChainState,
  read: ChainRound,
): Promise<boolean> {
  const positions = listPositions(client.chain, asking.address, state)
  if (read.units === undefined) {
    const unasked = startAsking(positions)
    // A chain whose contracts answer is asked by one call, so that all balances come from nearly the same block.
    if (asking.spent.requests + 1 + unasked.groups.length > requestsPerCall) return false
    const native = await fetchNative(client, asking.address)
    Object.assign(read, { units: { native: native.toString(), tokens: {}, nfts: {} }, unasked })
  }
  const { units, unasked } = read
  if (units !== undefined && unasked !== undefined) {
    const questions = positions.map((position) => toQuestion(position, units))
    if (!(await askContracts(client, asking, questions, unasked))) return false
  }
  delete read.unasked
  return true
}

/** The tokens of a contract that refuses cannot be moved either. */
function toQuestion({ list, key, toUnits, ...position }: Position, units: Units): Question {
  return {
    ...position,
    keep(verdict) {
      const amount = typeof verdict === 'bigint' ? toUnits(verdict) : 0n
      if (amount > 0n) units[list][key] = amount.toString()
    },
  }
}

const erc1155Abi = parseAbi(['function balanceOf(address account, uint256 id) view returns (uint256)'])

/** Known tokens are first. */
function listPositions(chain: Chain, address: Address, { tokens, nfts }: ChainState): Position[] {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [address] })
  const ofTokens = withWrapped(chain, tokens).map((token): Position => {
    const isKnown = isKnownAsset(tokenAsset(chain, token).assetId)
    return { list: 'tokens', key: token.address, to: token.address as Address, data, isKnown, toUnits: (word) => word }
  })
  const all = [...ofTokens, ...nfts.map((nft) => toPosition(address, nft))]
  return all.toSorted((a, b) => Number(b.isKnown) - Number(a.isKnown))
}

function toPosition(address: Address, nft: Nft): Position {
  const id = BigInt(nft.tokenId)
  const common = { list: 'nfts', key: keyOf(nft), to: nft.address as Address, isKnown: false } as const
  if (nft.standard === 'erc1155') {
    const data = encodeFunctionData({ abi: erc1155Abi, functionName: 'balanceOf', args: [address, id] })
    return { ...common, data, toUnits: (word) => word }
  }
  const data = encodeFunctionData({ abi: erc721Abi, functionName: 'ownerOf', args: [id] })
  return { ...common, data, toUnits: (word) => (word === BigInt(address) ? 1n : 0n) }
}

/** Wrapping coins leaves no transfer in most indexes, so the wrapped coin is always queried. */
export function withWrapped(chain: Chain, tokens: readonly Token[]): readonly Token[] {
  if (tokens.some(({ address }) => address === chain.wrapped.address)) return tokens
  return [...tokens, { ...wrappedContract(chain), decimals: 18 }]
}
