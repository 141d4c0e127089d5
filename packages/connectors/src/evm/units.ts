/**
 * How much a wallet has of every token and collectible that it has met, in base units, by the contracts themselves.
 *
 * The contracts are called in groups through Multicall3, which has one address on all chains (multicall3.com); where it
 * is not deployed, each contract is called separately. A stranger can send a wallet tokens whose contracts use up the
 * gas, the time or the length of the answer of the whole call, and nodes and their proxies have many words for that. So
 * after any failure but a limit or a lost connection, the group is asked again in parts, down to single contracts. An
 * unknown contract that fails alone is left out.
 *
 * The node may have failed as well. Known contracts answer, and the wrapped coin of every chain is one, so they are
 * asked first: as long as one of them fails, that is a fault, and no other contract is left out.
 *
 * One call of the connector makes no more requests than its price covers. What is left stays in the round.
 */
import { isKnownAsset, SourceError } from '@assay/core'
import { encodeFunctionData, erc20Abi, erc721Abi, parseAbi, type Address, type Hex } from 'viem'
import { tokenAsset, wrappedContract } from './assets.ts'
import type { Chain } from './chains.ts'
import { groupSize, RevertedCall, toBigInt, type ChainClient } from './client.ts'
import { findWord, MalformedAnswer, packCalls, readResults, type ContractCall } from './multicall.ts'
import { keyOf, type ChainRound, type ChainState, type Nft, type Token, type Units } from './state.ts'

/** The most requests to nodes in one call. The budget charges this many; the next call continues. */
export const requestsPerCall = 24

/** Public nodes refuse calls that burn much gas; one balance takes about 3,000 to 30,000. */
const callsMax = 150
/** A group that failed is asked in parts of this size, and a part that failed one by one. */
const partMax = 15

/**
 * The most requests in a round that search the groups of one chain for the contracts that fail. After that, only known
 * contracts of such groups are asked, and the others are left out.
 */
const searchMax = 100
/** A call that fails without a verdict of its contract may have taken the node seconds, and counts as this many. */
const failedWeight = 5

type Group = NonNullable<ChainRound['unasked']>['groups'][number]

/** One token or piece, and how its contract is asked. */
interface Position extends ContractCall {
  list: 'tokens' | 'nfts'
  key: string
  /** The contract is known to answer soon and briefly: if the call fails, the node did that. */
  isKnown: boolean
  toUnits(word: bigint): bigint
}

export interface Asking {
  address: Address
  /** How many requests to nodes this call has made. */
  spent: { requests: number }
  hasProgressed: boolean
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
    const knownCount = positions.filter(({ isKnown }) => isKnown).length
    const groups = [...split([0, knownCount], callsMax), ...split([knownCount, positions.length], callsMax)]
    // A chain whose contracts answer is asked by one call, so that all balances come from nearly the same block.
    if (asking.spent.requests + 1 + groups.length > requestsPerCall) return false
    const native = await fetchNative(client, asking.address)
    Object.assign(read, { units: { native: native.toString(), tokens: {}, nfts: {} }, unasked: { groups, effort: 0 } })
  }
  const { units, unasked } = read
  while (units !== undefined && unasked !== undefined && unasked.groups.length > 0) {
    if (unasked.effort >= searchMax) unasked.groups = unasked.groups.filter((group) => isStillAsked(positions, group))
    const room = requestsPerCall - asking.spent.requests
    if (room <= 0) return false
    await askSome(client, asking, positions, { units, unasked, count: Math.min(room, groupSize) })
  }
  delete read.unasked
  return true
}

interface Rest {
  units: Units
  unasked: NonNullable<ChainRound['unasked']>
  count: number
}

async function askSome(
  client: ChainClient,
  asking: Asking,
  positions: readonly Position[],
  { units, unasked, count }: Rest,
): Promise<void> {
  const knownCount = unasked.groups.filter((group) => isKnown(positions, group)).length
  const groups = unasked.groups.splice(0, Math.min(count, knownCount === 0 ? count : knownCount))
  const answers = await Promise.allSettled(groups.map((group) => askGroup(client, positions.slice(...group))))
  const again = groups.flatMap((group, index): Group[] => {
    const answer = answers[index]
    if (answer?.status !== 'fulfilled') return [group]
    asking.hasProgressed = true
    const { words, effort = 0, partSize } = answer.value
    unasked.effort += effort
    if (partSize !== undefined) return split(group, partSize)
    for (const [at, { list, key, toUnits }] of positions.slice(...group).entries()) {
      const word = words?.[at]
      const amount = word === undefined ? 0n : toUnits(word)
      if (amount > 0n) units[list][key] = amount.toString()
    }
    return []
  })
  unasked.groups.unshift(...again)
  const lost = answers.find((answer) => answer.status === 'rejected')
  if (lost !== undefined) throw lost.reason
}

function split([from, to]: Group, size: number): Group[] {
  const groups: Group[] = []
  for (let at = from; at < to; at += size) groups.push([at, Math.min(at + size, to)])
  return groups
}

const sizeOf = ([from, to]: Group): number => to - from

/** A group has either known contracts or unknown ones. Those with known ones are first. */
function isKnown(positions: readonly Position[], [from]: Group): boolean {
  return positions[from]?.isKnown === true
}

/** After the search: a group that was not asked yet may still answer as a whole. */
function isStillAsked(positions: readonly Position[], group: Group): boolean {
  return sizeOf(group) > partMax || isKnown(positions, group)
}

interface GroupAnswer {
  /** Undefined where a contract refused, or answered less than a word: its tokens cannot be moved either. */
  words?: readonly (bigint | undefined)[]
  /** The group has to be asked again in parts of this size. */
  partSize?: number
  /** What this answer takes from the search of the round. */
  effort?: number
}

async function askGroup(client: ChainClient, positions: readonly Position[]): Promise<GroupAnswer> {
  const isWhole = positions.length > partMax
  const effort = isWhole ? 0 : 1
  const partSize = isWhole ? partMax : 1
  const alone = positions.length === 1 ? positions[0] : undefined
  try {
    if (alone !== undefined) {
      const answer = await askAlone(client, alone)
      return { words: [answer && findWord(answer)], effort }
    }
    // Undefined where one contract used up what all may use.
    const answer = await askAlone(client, packCalls(positions))
    return answer === undefined ? { partSize, effort } : { words: readResults(answer, positions.length), effort }
  } catch (error) {
    if (!(error instanceof SourceError) || error.fault !== 'unreadable_answer' || alone?.isKnown === true) throw error
    if (alone !== undefined) return { words: [], effort: failedWeight }
    // No contract failed, so calling each one separately does not count as a search.
    if (error instanceof MalformedAnswer) return { partSize: 1, effort: -positions.length }
    return { partSize, effort: failedWeight }
  }
}

async function askAlone(client: ChainClient, { to, data }: ContractCall): Promise<Hex | undefined> {
  try {
    const answer = await client.rpc('eth_call', [{ to, data }, 'latest'])
    if (typeof answer === 'string' && /^0x[0-9a-f]*$/i.test(answer)) return answer as Hex
  } catch (error) {
    if (error instanceof RevertedCall) return undefined
    throw error
  }
  throw new MalformedAnswer('unreadable_answer', `${client.chain.name}: eth_call: not hexadecimal`)
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
