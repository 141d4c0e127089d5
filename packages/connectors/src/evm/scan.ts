/**
 * Which tokens and collectibles a wallet has met, by the lists of the index: a chain does not say which tokens an
 * address has. A list is read by blocks, one query at a time, and everything that a query finds is kept.
 */
import type { Address } from 'viem'
import type { RawRecord } from '../kit/connector.ts'
import { AnswerTooLong } from '../kit/http.ts'
import { getChain, toReplaceableDepth, type Chain } from './chains.ts'
import type { ChainClient } from './client.ts'
import { pageSize, pagesMaxOf, toSmaller } from './page-sizes.ts'
import { toAction } from './pages.ts'
import { parseToken, type TokenRow } from './records.ts'
import {
  keyOf,
  tokenStreams,
  withNfts,
  withRoom,
  withTokens,
  type ChainRound,
  type ChainState,
  type EvmState,
  type Nft,
  type Scan,
  type Token,
} from './state.ts'
import { isFungible, listPieces, toContract } from './assets.ts'

type TokenStream = (typeof tokenStreams)[number]

/**
 * The most queries in one call: for two chains, how far the index is and the lists. The budget charges this many; the
 * next call continues.
 */
export const questionsPerCall = 2 * (1 + tokenStreams.length)

/**
 * The most requests for one list. The rest of a longer list is left to the next round, so that its balances do not
 * wait.
 */
const questionsPerScan = 10

const skippedMax = 50_000

/** What was scanned above the present height may have been scanned too early, so everything is scanned again. */
export function startScan(scannedTo: number, height: number): Scan {
  return { block: scannedTo > height ? 0 : scannedTo, page: 1, questions: 0, rows: 0 }
}

export interface ScanStep {
  scan: Scan
  /** Adds what was found to what is known of the chain. */
  learn(before: ChainState): ChainState
}

/** Sends one query. */
export async function scanOn(
  client: ChainClient,
  address: Address,
  stream: TokenStream,
  scan: Scan,
): Promise<ScanStep> {
  const { block: startblock, page, size = pageSize } = scan
  const params = { address, startblock, page, offset: size, sort: 'asc' }
  const answer = await client.list(toAction(stream), params).catch(orTooLong)
  if (answer === undefined) return { scan: withFewerRows(scan), learn: (before) => before }
  const rows = answer.flatMap((row) => findToken(JSON.stringify(row)) ?? [])
  return {
    scan: moveOn(scan, rows, answer.length),
    learn: (before) => withContracts(client.chain, before, stream, rows),
  }
}

/**
 * The state with the contracts that a page shows, so that the balances never know fewer of them than the history. An
 * index may list a transfer after the scan has passed its block. Undefined if the page shows none that is new.
 */
export function learnContracts(
  { address, chains, round }: EvmState,
  stream: string,
  partition: string,
  records: readonly RawRecord[],
): EvmState | undefined {
  const before = chains[partition]
  const list = tokenStreams.find((name) => name === stream)
  if (before === undefined || list === undefined) return undefined
  const rows = records.flatMap(({ body }) => findToken(body) ?? [])
  const after = withContracts(getChain(partition), before, list, rows)
  if (namesOf(after) === namesOf(before)) return undefined
  // Its places in the lists of the state have changed, so this chain is asked again.
  const others = Object.fromEntries(Object.entries(round?.chains ?? {}).filter(([id]) => id !== partition))
  const left = { startedAtMs: 0, ...round, chains: others }
  const kept = withRoom({ chains: { ...chains, [partition]: after }, round: left })
  if (namesOf(kept[partition] ?? before) === namesOf(before)) return undefined
  return { address, chains: kept, ...(round === undefined ? {} : { round: left }) }
}

function namesOf({ tokens, nfts }: ChainState): string {
  return [...tokens.map(({ address }) => address), ...nfts.map(keyOf)].join()
}

function withContracts(chain: Chain, before: ChainState, stream: TokenStream, rows: readonly TokenRow[]): ChainState {
  return stream === 'erc20'
    ? { ...before, tokens: withTokens(chain, before.tokens, toTokens(chain, rows)) }
    : { ...before, nfts: withNfts(before.nfts, toNfts(stream, rows)) }
}

function orTooLong(error: unknown): undefined {
  if (!(error instanceof AnswerTooLong)) throw error
}

/** One row that is too long is passed over: the history has its token. */
function withFewerRows(scan: Scan): Scan {
  const size = toSmaller(scan.size ?? pageSize)
  return size === undefined ? moveOn(scan, [], 1) : { ...scan, page: 1, size }
}

/** Only an empty page ends a list: an index may give fewer rows for a page than it was asked for. */
function moveOn(scan: Scan, rows: readonly TokenRow[], count: number): Scan {
  const { block, page, size = pageSize } = scan
  const asked = { ...scan, questions: scan.questions + 1, rows: scan.rows + count }
  if (count === 0) return { ...asked, ended: 'whole' }
  const last = Math.max(block, ...rows.map(({ blockNumber }) => Number(blockNumber)))
  const isCut = asked.questions >= questionsPerScan
  // The next round begins with the first page of a block, so a scan that is cut moves on to its last one.
  if (count < size && page < pagesMaxOf(size) && !isCut) return { ...asked, page: page + 1 }
  const isPassed = page >= pagesMaxOf(size) || (isCut && size < pageSize)
  return { ...asked, ...toPlace({ block, page, last, isPassed }), ...(isCut ? { ended: 'cut' } : {}) }
}

/**
 * A block may fill several pages. One with more rows than an index gives is passed over, and so is one with more long
 * rows than one scan asks for: the next would begin with its first page again.
 */
function toPlace({ block, page, last, isPassed }: Place): Pick<Scan, 'block' | 'page'> {
  if (last > block) return { block: last, page: 1 }
  return isPassed ? { block: last + 1, page: 1 } : { block, page: page + 1 }
}

interface Place {
  block: number
  page: number
  last: number
  isPassed: boolean
}

/** After all lists were read: the block up to which they need not be read again. */
export function withScanned(chain: Chain, state: ChainState, { height, scans }: ChainRound): ChainState {
  const all = Object.values(scans)
  // A block may be replaced.
  const before = state.scannedTo > height ? 0 : state.scannedTo
  const final = Math.max(before, height - toReplaceableDepth(chain))
  const scannedTo = Math.min(final, ...all.flatMap(({ ended, block }) => (ended === 'cut' ? block : [])))
  // Nothing was found: a new state is not worth writing until there is much to skip.
  const isIdle = all.every(({ rows }) => rows === 0) && Math.abs(scannedTo - state.scannedTo) < skippedMax
  return isIdle ? state : { ...state, scannedTo }
}

/** A row that cannot be parsed is reported by its page. */
function findToken(body: string): TokenRow | undefined {
  try {
    return parseToken(body)
  } catch {
    return undefined
  }
}

function toTokens(chain: Chain, rows: readonly TokenRow[]): Token[] {
  return rows
    .filter((row) => isFungible(chain, row))
    .map((row) => ({ ...toContract(row), unsaid: { block: Number(row.blockNumber), times: 0, atMs: 0 } }))
}

function toNfts(standard: Nft['standard'], rows: readonly TokenRow[]): Nft[] {
  return rows.flatMap((row) => {
    const contract = toContract(row)
    return listPieces(row).map(({ tokenId }): Nft => ({ ...contract, standard, tokenId }))
  })
}
