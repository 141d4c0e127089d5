/**
 * How many decimals a token has, by its contract alone (EIP-20, `decimals()`). An index leaves them out for a token that
 * it has not catalogued yet, or is wrong about them, and both the history and the balances would follow it: with six
 * decimals too few, a dollar is a million dollars.
 *
 * A contract need not have this function. Its tokens are then counted in base units. A known token has decimals, so
 * while its contract does not say them, its amounts cannot be read.
 *
 * Decimals are never asked for again once they are known, so that a contract has none is believed only from the contract
 * itself. An error of the node says nothing. An empty answer does not either: a node that is behind gives it for a
 * contract that it does not have yet. It counts when it is that of a block after a transfer of the token, which such a
 * node cannot answer for. A contract that has destroyed itself is then known to be gone.
 *
 * Until then the token is not among the balances, and its rows are unreadable (late-rows.ts reads them again). A stranger
 * may have written a contract that no node can answer for, so this ends: a contract that was asked in vain for a week,
 * each time beside one that answered, has no decimals.
 */
import { dayMs, findAssetByContract, hourMs, SourceError } from '@assay/core'
import { encodeFunctionData, erc20Abi, type Address } from 'viem'
import {
  askAlone,
  askContracts,
  requestsPerCall,
  startAsking,
  withCount,
  type Asking,
  type Question,
} from './ask-contracts.ts'
import { decimalsMax } from './assets.ts'
import { nodesApartBlocks, toBigInt, type ChainClient } from './client.ts'
import type { Verdict } from './multicall.ts'
import type { Token } from './state.ts'

/** Most contracts are asked once, so the search for those that fail may take longer than that of balances. */
const effortMax = 500
/** Each has as many requests as one call for balances. A page of a stranger's tokens must end. */
const roundsMax = 5

const data = encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' })

interface Unsaid {
  address: string
  /** A block in which the token was transferred. */
  block: number
}

export interface DecimalsSearch {
  contracts: readonly Unsaid[]
  /** What was done to find contracts that fail. */
  search: { effort: number }
  /** Receives the decimals as they are found, by contract. */
  found: Map<string, number>
  /** Receives the unknown contracts that were asked in vain. */
  unsaid: Set<string>
}

/** False when this call has made enough requests. */
export async function findDecimals(
  client: ChainClient,
  asking: Pick<Asking, 'spent' | 'hasProgressed'>,
  { contracts, search, found, unsaid }: DecimalsSearch,
): Promise<boolean> {
  const short: Unsaid[] = []
  const questions = contracts
    .map((contract) => toQuestion(client, contract, { found, unsaid, short }))
    .toSorted((a, b) => Number(b.isKnown) - Number(a.isKnown))
  const unasked = { ...startAsking(questions), effort: search.effort }
  // A contract that uses up the gas of a group makes those after it fail. This one answers unless that happened.
  const last = { to: client.chain.wrapped.address as Address, data }
  try {
    // Those that are asked once more are asked by the same call. Otherwise each call would begin with them again.
    const countReserved = (): number => (short.length === 0 ? 0 : 1 + short.length)
    const hasEnded = await askContracts(client, asking, questions, unasked, { last, effortMax, countReserved })
    return (await askShort(client, asking, short, { found, unsaid })) && hasEnded
  } finally {
    search.effort = unasked.effort
  }
}

type Found = Pick<DecimalsSearch, 'found' | 'unsaid'>

function toQuestion(client: ChainClient, contract: Unsaid, { short, ...kept }: Found & { short: Unsaid[] }): Question {
  const { address } = contract
  const isKnown = findAssetByContract(`evm:${client.chain.id}`, address) !== undefined
  return {
    ...{ to: address as Address, data, isKnown },
    keep(verdict) {
      if (verdict === 'short' && !isKnown) short.push(contract)
      else if (!isKnown || isDecimals(verdict)) keepVerdict(address, verdict, kept)
    },
  }
}

function isDecimals(verdict: Verdict | undefined): verdict is bigint {
  return typeof verdict === 'bigint' && verdict <= decimalsMax
}

function keepVerdict(address: string, verdict: Verdict | undefined, { found, unsaid }: Found): void {
  if (verdict === undefined) unsaid.add(address)
  else found.set(address, isDecimals(verdict) ? Number(verdict) : 0)
}

/** Asks the contracts once more that gave an empty answer, each for a block after its transfer. */
async function askShort(
  client: ChainClient,
  { spent }: Pick<Asking, 'spent'>,
  short: readonly Unsaid[],
  kept: Found,
): Promise<boolean> {
  if (short.length === 0) return true
  const head = Number(toBigInt('eth_blockNumber', await client.rpc('eth_blockNumber', [])))
  // Nodes keep the state of newer blocks than this one, and those that are a little behind have it too.
  const block = head - nodesApartBlocks
  for (const { address, block: transferredAt } of short) {
    if (spent.requests >= requestsPerCall) return false
    keepVerdict(address, transferredAt <= block ? await findVerdict(client, address, block) : undefined, kept)
  }
  return true
}

async function findVerdict(client: ChainClient, address: string, block: number): Promise<Verdict | undefined> {
  try {
    return await askAlone(client, { to: address as Address, data }, block)
  } catch (error) {
    if (error instanceof SourceError && error.fault === 'unreadable_answer') return undefined
    throw error
  }
}

/** A contract that failed is asked after an hour, twice, and then once a day. */
const triesSoon = 3
const triesMax = 10

export function isDue({ now }: Pick<ChainClient, 'now'>, { decimals, unsaid }: Token): boolean {
  if (decimals !== undefined) return false
  if (unsaid === undefined || unsaid.times === 0) return true
  return now() - unsaid.atMs >= (unsaid.times < triesSoon ? hourMs : dayMs)
}

/** The token with what was found out about its decimals. */
export function withDecimals({ now }: Pick<ChainClient, 'now'>, token: Token, { found, unsaid: vain }: Found): Token {
  const { unsaid, ...named } = token
  const decimals = found.get(token.address)
  if (decimals !== undefined) return { ...named, decimals }
  if (unsaid === undefined || !vain.has(token.address)) return token
  const times = unsaid.times + 1
  return {
    ...named,
    ...(times < triesMax ? { unsaid: { ...unsaid, times, atMs: Math.round(now()) } } : { decimals: 0 }),
  }
}

/**
 * The decimals of these contracts, each with a block in which it was transferred: those of the state, and of others that
 * a reader asks for once.
 */
export type FindDecimals = (
  tokens: readonly Token[],
  contracts: ReadonlyMap<string, number>,
) => Promise<ReadonlyMap<string, number>>

export function rememberDecimals(client: ChainClient): FindDecimals {
  const [found, unsaid] = [new Map<string, number>(), new Set<string>()]
  return async (tokens, contracts) => {
    for (const token of tokens) {
      if (token.decimals !== undefined) found.set(token.address, token.decimals)
      // The balances ask it again. If the history knew its amounts before them, the two would not agree.
      else if (token.unsaid !== undefined && token.unsaid.times > 0) unsaid.add(token.address)
    }
    const search = { effort: 0 }
    let hasEnded = false
    for (let round = 0; round < roundsMax && !hasEnded; round += 1) {
      const asked = [...contracts].flatMap(([address, block]): Unsaid[] =>
        found.has(address) || unsaid.has(address) ? [] : [{ address, block }],
      )
      const spent = { requests: 0 }
      const asking = { spent, hasProgressed: false }
      hasEnded = await findDecimals(withCount(client, spent), asking, { contracts: asked, search, found, unsaid })
    }
    return found
  }
}
