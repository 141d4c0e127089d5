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
 * each time beside one that answered, has no decimals. The state keeps the tries of its tokens, and the late rows of the
 * history those of contracts that the state has no place for.
 */
import { dayMs, findAssetByContract, hourMs, SourceError } from '@assay/core'
import { encodeFunctionData, erc20Abi, type Address } from 'viem'
import { askAlone, askContracts, startAsking, withCount } from './ask-contracts.ts'
import type { Asking, Question, Spending } from './ask-contracts.ts'
import { decimalsMax } from './assets.ts'
import { nodesApartBlocks, toBigInt, type ChainClient } from './client.ts'
import type { LateRows, Tries } from './late-rows.ts'
import type { Verdict } from './multicall.ts'
import type { Token } from './state.ts'

/** Most contracts are asked once, so the search for those that fail may take longer than that of balances. */
const effortMax = 500

const data = encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' })

interface Unsaid {
  address: string
  /** A block in which the token was transferred. */
  block: number
  unsaid: Tries | undefined
}

/** What contracts have answered, by their addresses. */
export interface Heard {
  decimals: Map<string, number>
  /** Unknown contracts that were asked in vain. */
  vain: Set<string>
  /** Unknown contracts whose group has failed, and the size of the group in which they are asked next. */
  narrowed: Map<string, number>
}

export function startHearing(): Heard {
  return { decimals: new Map(), vain: new Set(), narrowed: new Map() }
}

export interface DecimalsSearch {
  contracts: readonly Unsaid[]
  /** What was done to find contracts that fail. */
  search: { effort: number }
  /** Receives the answers as they come. */
  heard: Heard
}

/** False when this call has made enough requests. */
export async function findDecimals(
  client: ChainClient,
  asking: Pick<Asking, 'spent' | 'hasProgressed'>,
  { contracts, search, heard }: DecimalsSearch,
): Promise<boolean> {
  const short: Unsaid[] = []
  const questions = contracts
    .toSorted((a, b) => (a.unsaid?.atMs ?? 0) - (b.unsaid?.atMs ?? 0))
    .map((contract) => toQuestion(client, contract, heard, short))
    .toSorted((a, b) => Number(b.isKnown) - Number(a.isKnown) || sizeOf(b) - sizeOf(a))
  const unasked = { ...startAsking(questions), effort: search.effort }
  // A contract that uses up the gas of a group makes those after it fail. This one answers unless that happened.
  const last = { to: client.chain.wrapped.address as Address, data }
  try {
    // Those that are asked once more are asked by the same call. Otherwise each call would begin with them again.
    const countReserved = (): number => (short.length === 0 ? 0 : 1 + short.length)
    const hasEnded = await askContracts(client, asking, questions, unasked, { last, effortMax, countReserved })
    return (await askShort(client, asking, short, heard)) && hasEnded
  } finally {
    search.effort = unasked.effort
  }
}

/** Large groups first: with one request they find all the decimals of contracts that are not to blame. */
const sizeOf = ({ partSize = Infinity }: Question): number => partSize

function toQuestion(client: ChainClient, contract: Unsaid, heard: Heard, short: Unsaid[]): Question {
  const { address, unsaid } = contract
  const isKnown = isKnownToken(client, address)
  const isNarrow = !isKnown && unsaid?.partSize !== undefined
  return {
    ...{ to: address as Address, data, isKnown, ...(isNarrow && { partSize: unsaid.partSize }) },
    keep(verdict) {
      if (verdict === 'short' && !isKnown) short.push(contract)
      else if (!isKnown || isDecimals(verdict)) keepVerdict(address, verdict, heard)
    },
    narrow(partSize) {
      if (!isKnown) heard.narrowed.set(address, partSize)
    },
  }
}

export function isKnownToken({ chain }: Pick<ChainClient, 'chain'>, contract: string): boolean {
  return findAssetByContract(`evm:${chain.id}`, contract) !== undefined
}

function isDecimals(verdict: Verdict | undefined): verdict is bigint {
  return typeof verdict === 'bigint' && verdict <= decimalsMax
}

function keepVerdict(address: string, verdict: Verdict | undefined, { decimals, vain }: Heard): void {
  if (verdict === undefined) vain.add(address)
  else decimals.set(address, isDecimals(verdict) ? Number(verdict) : 0)
}

/** Asks the contracts once more that gave an empty answer, each for a block after its transfer. */
async function askShort(
  client: ChainClient,
  { spent }: Pick<Asking, 'spent'>,
  short: readonly Unsaid[],
  heard: Heard,
): Promise<boolean> {
  if (short.length === 0) return true
  const head = Number(toBigInt('eth_blockNumber', await client.rpc('eth_blockNumber', [])))
  // Nodes keep the state of newer blocks than this one, and those that are a little behind have it too.
  const block = head - nodesApartBlocks
  for (const { address, block: transferredAt } of short) {
    if (spent.requests >= spent.requestsMax) return false
    keepVerdict(address, transferredAt <= block ? await findVerdict(client, address, block) : undefined, heard)
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

export function isDue({ now }: Pick<ChainClient, 'now'>, unsaid: Tries | undefined): boolean {
  if (unsaid === undefined || unsaid.times === 0) return true
  return now() - unsaid.atMs >= (unsaid.times < triesSoon ? hourMs : dayMs)
}

/** What is known of a contract after it was asked: its decimals, or the tries. */
function toKnown(
  { now }: Pick<ChainClient, 'now'>,
  { address, unsaid }: { address: string; unsaid?: Tries | undefined },
  { decimals: said, vain, narrowed }: Heard,
): { decimals: number } | { unsaid: Tries } | undefined {
  const decimals = said.get(address)
  if (decimals !== undefined) return { decimals }
  const { times, atMs, partSize } = { times: 0, atMs: 0, ...unsaid }
  const size = narrowed.get(address) ?? partSize
  const narrow = size === undefined ? {} : { partSize: size }
  if (!vain.has(address)) return size === undefined ? undefined : { unsaid: { times, atMs, ...narrow } }
  const isLast = times + 1 >= triesMax
  return isLast ? { decimals: 0 } : { unsaid: { times: times + 1, atMs: Math.round(now()), ...narrow } }
}

/** The token with what was found out about its decimals. */
export function withDecimals(client: Pick<ChainClient, 'now'>, token: Token, heard: Heard): Token {
  const { unsaid, ...named } = token
  const known = unsaid === undefined ? { decimals: heard.decimals.get(token.address) } : toKnown(client, token, heard)
  if (known === undefined) return token
  if ('unsaid' in known) return { ...named, unsaid: { block: unsaid?.block ?? 0, ...known.unsaid } }
  return known.decimals === undefined ? token : { ...named, decimals: known.decimals }
}

// -----------------------------------------------------------------------------------------------------------------
// the history

/**
 * The same contracts with what is known about their decimals, after as many requests as the page may make. What is then
 * still unknown is asked for by a later page.
 */
export type FindDecimals = (
  tokens: readonly Token[],
  contracts: readonly LateRows[],
  spent: Spending,
) => Promise<LateRows[]>

export function rememberDecimals(client: ChainClient): FindDecimals {
  // The late rows have room for two hundred contracts. Of a further one the next page knows that it was asked.
  const [said, asked] = [new Map<string, number>(), new Set<string>()]
  return async (tokens, contracts, spent) => {
    const inState = new Map(tokens.map((token) => [token.address, token]))
    const heard = startHearing()
    const open = contracts.flatMap(({ contract: address, first: block, decimals, unsaid }): Unsaid[] => {
      const token = inState.get(address)
      if ((token?.decimals ?? decimals ?? said.get(address)) !== undefined || isAskedByBalances(token)) return []
      return asked.has(address) || !isDue(client, unsaid) ? [] : [{ address, block, unsaid }]
    })
    const [counted, asking] = [withCount(client, spent), { spent, hasProgressed: false }]
    await findDecimals(counted, asking, { contracts: open, search: { effort: 0 }, heard })
    for (const [address, decimals] of heard.decimals) said.set(address, decimals)
    for (const address of heard.vain) asked.add(address)
    return contracts.map((late): LateRows => {
      const token = inState.get(late.contract)
      const { decimals: before, unsaid, ...rows } = late
      if (token?.decimals !== undefined) return { ...rows, decimals: token.decimals }
      if (isAskedByBalances(token)) return rows
      const decimals = before ?? said.get(late.contract)
      if (decimals !== undefined) return { ...rows, decimals }
      return { ...late, ...toKnown(client, { address: late.contract, unsaid }, heard) }
    })
  }
}

/** If the history knew the amounts of such a token before the balances, the two would not agree. */
function isAskedByBalances(token: Token | undefined): boolean {
  return token?.decimals === undefined && token?.unsaid !== undefined && token.unsaid.times > 0
}
