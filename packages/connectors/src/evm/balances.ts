/**
 * What a wallet holds, from the chain itself and never from its history: coins by `eth_getBalance`, tokens by their
 * contracts. A chain does not say which tokens an address has, so an index names the contracts whose tokens it was ever
 * sent or sent away.
 *
 * A round asks one chain after the other. That takes some twenty requests, which rarely all succeed on a bad
 * connection: a round keeps the answers it has, and the next `fetchHoldings` continues from there. A round ends without
 * the chains that still fail when a call gets no further: what the wallet held there stays as it was last read, and the
 * chain's history is not read until its balances are.
 *
 * One `fetchHoldings` makes a limited number of requests, which its price covers. A wallet with much to ask for takes
 * several.
 */
import { add, hourMs, isZero, SourceError, zero, type Decimal } from '@assay/core'
import type { Address } from 'viem'
import type { Balance, FailedNetwork } from '../kit/connector.ts'
import { requestsPerCall, withCount, type Asking } from './ask-contracts.ts'
import { nativeAsset, nftAsset, toAmount, tokenAsset, type NamedAsset } from './assets.ts'
import type { Chain } from './chains.ts'
import { fetchHead, toBigInt, type ChainClient } from './client.ts'
import { findDecimals, isDue, startHearing, withDecimals } from './decimals.ts'
import { fetchReach } from './index-height.ts'
import { toAction } from './pages.ts'
import { questionsPerCall, scanOn, startScan, withScanned } from './scan.ts'
import {
  findNetworkFault,
  keyOf,
  tokenStreams,
  untouched,
  withRoom,
  type ChainRound,
  type ChainState,
  type EvmState,
  type Round,
} from './state.ts'
import { fetchNative, readUnits, withWrapped } from './units.ts'

export interface Holdings {
  /** Undefined while the round has not ended, and when it ended without a new balance. */
  balances: Balance[] | undefined
  /** Chains that the round ended without. */
  failed: FailedNetwork[]
  chains: EvmState['chains']
  round?: Round
}

/** In a longer round, the first balances would be too old to be added to the last. */
const roundMaxMs = hourMs

interface Walk extends Asking {
  chains: Record<string, ChainState>
  round: Round
  /** How many requests to indexes this `fetchHoldings` has made. */
  questions: number
}

export async function fetchHoldings(
  clients: readonly ChainClient[],
  address: Address,
  { chains, round }: EvmState,
  nowMs: number,
): Promise<Holdings> {
  const spent = { requests: 0, requestsMax: requestsPerCall }
  const counted = clients.map((client) => withCount(client, spent))
  const isOpen = round !== undefined && nowMs - round.startedAtMs < roundMaxMs
  const walk: Walk = {
    ...{ address, questions: 0, spent, hasProgressed: false },
    chains: isOpen ? chains : { ...chains, ...(await fetchUsage(counted, address, chains)) },
    round: isOpen ? round : { startedAtMs: Math.round(nowMs), chains: {} },
  }
  const used = counted.filter(({ chain }) => walk.chains[chain.id]?.isUsed === true)
  const failed = await readAll(used, walk)
  if (failed === undefined) return { balances: undefined, failed: [], chains: walk.chains, round: walk.round }
  const isNew = used.length === 0 || failed.length < used.length
  const balances = isNew ? fold(used.flatMap(({ chain }) => toHeld(chain, getState(walk, chain)))) : undefined
  return { balances, failed, chains: walk.chains, ...toRest(walk.round, failed) }
}

/** What is known of the chains that could not be read to their end. The others are asked again in the next call. */
function toRest(round: Round, failed: readonly FailedNetwork[]): { round?: Round } {
  const begun = Object.entries(round.chains).filter(([id]) => failed.some(({ partition }) => partition === id))
  return begun.length === 0 ? {} : { round: { ...round, chains: Object.fromEntries(begun) } }
}

/**
 * The chains that could not be read; undefined when the round has to continue, either because this call has asked
 * enough or because a request failed and others did not.
 */
async function readAll(used: readonly ChainClient[], walk: Walk): Promise<FailedNetwork[] | undefined> {
  const failed: FailedNetwork[] = []
  // Chains that have failed come last: otherwise they could use up what each call may ask.
  const hasFailed = ({ chain }: ChainClient): boolean => getState(walk, chain).failed !== undefined
  for (const client of used.toSorted((a, b) => Number(hasFailed(a)) - Number(hasFailed(b)))) {
    try {
      if (!(await readChain(client, walk))) return undefined
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      // All hosts share one budget, so a limit ends the call.
      if (error.fault === 'rate_limited' && walk.hasProgressed) return undefined
      const fault = findNetworkFault(error)
      if (fault === undefined) throw error
      walk.chains[client.chain.id] = { ...getState(walk, client.chain), failed: fault }
      failed.push({ partition: String(client.chain.id), error })
    }
  }
  // If a chain is failing, the next call meets the failure again, and makes no progress.
  return failed.length > 0 && walk.hasProgressed ? undefined : failed
}

/** One chain at a time, so that a failed request costs the other chains nothing. */
async function readChain(client: ChainClient, walk: Walk): Promise<boolean> {
  const { id } = client.chain
  const before = walk.round.chains[id]
  if (before?.units !== undefined && before.unasked === undefined) return true
  if (walk.spent.requests >= requestsPerCall) return false
  if (before === undefined && walk.questions >= questionsPerCall) return false
  const read = before ?? (await startRead(client, walk))
  walk.round.chains[id] = read
  if (!(await scanLists(client, walk, read))) return false
  if (!(await learnDecimals(client, walk, read))) return false
  if (!(await readUnits(client, walk, getState(walk, client.chain), read))) return false
  const state = {
    ...withScanned(client.chain, getState(walk, client.chain), read),
    ...(read.units && { held: read.units }),
  }
  delete state.failed
  walk.chains[id] = state
  walk.hasProgressed = true
  return true
}

async function startRead(client: ChainClient, walk: Walk): Promise<ChainRound> {
  const head = await fetchHead(client)
  walk.questions += 1
  return { height: await fetchReach(client, head), scans: {} }
}

function getState({ chains }: Walk, { id }: Chain): ChainState {
  return chains[id] ?? untouched
}

/** The contracts that the wallet has met since the last round. False when this call has asked enough. */
async function scanLists(client: ChainClient, walk: Walk, { height, scans }: ChainRound): Promise<boolean> {
  for (;;) {
    const { scannedTo } = getState(walk, client.chain)
    const open = tokenStreams.flatMap((stream) => {
      const scan = (scans[stream] ??= startScan(scannedTo, height))
      return scan.ended === undefined ? [{ stream, scan }] : []
    })
    if (open.length === 0) return true
    if (walk.questions + open.length > questionsPerCall) return false
    walk.questions += open.length
    const answers = await Promise.allSettled(
      open.map(async ({ stream, scan }) => ({ stream, ...(await scanOn(client, walk.address, stream, scan)) })),
    )
    for (const answer of answers) {
      if (answer.status === 'rejected') continue
      const { stream, scan, learn } = answer.value
      scans[stream] = scan
      walk.chains[client.chain.id] = learn(getState(walk, client.chain))
      walk.hasProgressed = true
    }
    walk.chains = withRoom(walk)
    const lost = answers.find((answer) => answer.status === 'rejected')
    if (lost !== undefined) throw lost.reason
  }
}

/** The decimals of the tokens that are new. False when this call has asked enough. */
async function learnDecimals(client: ChainClient, walk: Walk, read: ChainRound): Promise<boolean> {
  const search = (read.decimals ??= { effort: 0, hasEnded: false })
  if (search.hasEnded) return true
  const state = getState(walk, client.chain)
  const contracts = state.tokens
    .filter(({ decimals, unsaid }) => decimals === undefined && isDue(client, unsaid))
    .map(({ address, unsaid }) => ({ address, block: unsaid?.block ?? Infinity, unsaid }))
  const heard = startHearing()
  try {
    search.hasEnded = await findDecimals(client, walk, { contracts, search, heard })
    return search.hasEnded
  } finally {
    const tokens = state.tokens.map((token) => withDecimals(client, token, heard))
    walk.chains[client.chain.id] = { ...state, tokens }
  }
}

/**
 * The chains that answered, and whether the wallet was used there. A chain that was never used may fail: an unreachable
 * network must not make six others unreadable, and the next round asks it again. Until it has answered once, it is not
 * in the state, and its lists are reported as unread. When none answers and none is known to be in use, that is the
 * provider's failure.
 */
export async function fetchUsage(
  clients: readonly ChainClient[],
  address: Address,
  before: EvmState['chains'],
): Promise<EvmState['chains']> {
  const answers = await Promise.all(
    clients.map(async (client): Promise<[number, ChainState] | SourceError> => {
      const state = before[client.chain.id] ?? untouched
      try {
        return [client.chain.id, state.isUsed ? state : await probe(client, address, state)]
      } catch (error) {
        if (error instanceof SourceError) return error
        throw error
      }
    }),
  )
  const answered = answers.flatMap((answer) => (answer instanceof SourceError ? [] : [answer]))
  const failed = answers.find((answer) => answer instanceof SourceError)
  if (failed !== undefined && answered.length === 0) throw failed
  return Object.fromEntries(answered)
}

/** A wallet that never sent anything on a chain may still be sent tokens there; this is checked once a day. */
const probeEveryMs = 24 * hourMs

async function probe(client: ChainClient, address: Address, before: ChainState): Promise<ChainState> {
  if ((await fetchNative(client, address)) > 0n) return { ...before, isUsed: true }
  const count = await client.rpc('eth_getTransactionCount', [address, 'latest'])
  if (toBigInt('eth_getTransactionCount', count) > 0n) return { ...before, isUsed: true }
  const nowMs = Math.round(client.now())
  if (before.checkedAtMs !== null && nowMs - before.checkedAtMs < probeEveryMs) return before
  for (const stream of [...tokenStreams, 'transactions'] as const) {
    const rows = await client.list(toAction(stream), { address, page: 1, offset: 1, sort: 'asc' }, true)
    if (rows.length > 0) return { ...before, isUsed: true }
  }
  return { ...before, checkedAtMs: nowMs }
}

interface Held {
  asset: NamedAsset
  amount: Decimal
}

function toHeld(chain: Chain, { held: units, tokens, nfts }: ChainState): Held[] {
  if (units === undefined) return []
  const held = [
    { asset: nativeAsset(chain), amount: toAmount(BigInt(units.native), 18) },
    ...withWrapped(chain, tokens).flatMap(({ decimals, ...token }) => {
      if (decimals === undefined) return []
      return [
        { asset: tokenAsset(chain, token), amount: toAmount(BigInt(units.tokens[token.address] ?? '0'), decimals) },
      ]
    }),
    ...nfts.map((nft) => ({
      asset: nftAsset(chain, nft, nft.tokenId),
      amount: toAmount(BigInt(units.nfts[keyOf(nft)] ?? '0'), 0),
    })),
  ]
  return held.filter(({ amount }) => !isZero(amount))
}

/** One asset may lie on several chains. */
function fold(held: readonly Held[]): Balance[] {
  const folded = new Map<string, Balance>()
  for (const { asset, amount } of held) {
    const before = folded.get(asset.assetId) ?? { ...asset, liquid: zero, staked: zero }
    folded.set(asset.assetId, { ...before, liquid: add(before.liquid, amount) })
  }
  return [...folded.values()]
}
