/**
 * What a wallet holds, from the chain itself and never from its history: coins by `eth_getBalance`, tokens by their
 * contracts. A chain does not say which tokens an address has, so the index names the contracts that it has ever met.
 *
 * All questions to contracts go through Multicall3, which has one address on all chains (multicall3.com); where it is not
 * deployed, each contract is called separately.
 */
import { add, isZero, SourceError, zero, type Decimal } from '@assay/core'
import {
  decodeFunctionResult,
  encodeFunctionData,
  erc20Abi,
  erc721Abi,
  multicall3Abi,
  parseAbi,
  type Address,
  type Hex,
} from 'viem'
import type { Balance } from '../kit/connector.ts'
import { nativeAsset, nftAsset, tokenAsset, type NamedAsset } from './assets.ts'
import type { Chain } from './chains.ts'
import { fetchBlockNumber, inGroups, RevertedCall, toBigInt, type ChainClient } from './client.ts'
import { pageSize, pagesMax, toAction } from './pages.ts'
import { parseToken, type Token as TokenRow } from './records.ts'
import { isFungible, listPieces, toAmount, toContract, toDecimals, wrappedContract } from './tokens.ts'
import { untouched, withNfts, withTokens, type ChainState, type EvmState, type Nft, type Token } from './state.ts'

export interface Holdings {
  balances: Balance[]
  chains: Record<string, ChainState>
}

/** A wallet that never sent anything on a chain may still be sent tokens there; this is checked once a day. */
const probeEveryMs = 24 * 3_600_000

export async function fetchHoldings(
  clients: readonly ChainClient[],
  address: Address,
  before: EvmState['chains'],
): Promise<Holdings> {
  const used = await readUsage(clients, address, before)
  const read = await Promise.all(used.map((usage) => readChain(usage, address)))
  const chains = { ...before }
  for (const { id, state } of read) chains[id] = state
  return { balances: fold(read.flatMap(({ held }) => held)), chains }
}

/** The chains on which the wallet was used, ignoring its tokens. */
export async function fetchUsage(clients: readonly ChainClient[], address: Address): Promise<EvmState['chains']> {
  const used = await readUsage(clients, address, {})
  return Object.fromEntries(used.map(({ client, state }) => [client.chain.id, state]))
}

interface Held {
  asset: NamedAsset
  amount: Decimal
}

interface Usage {
  client: ChainClient
  native: bigint
  state: ChainState
}

/**
 * A chain where the wallet was never used may fail: one unreachable network must not make six others unreadable. It is
 * asked again by the next read. When none answers, that is the provider's failure.
 */
async function readUsage(
  clients: readonly ChainClient[],
  address: Address,
  before: EvmState['chains'],
): Promise<Usage[]> {
  const answers = await Promise.all(
    clients.map(async (client): Promise<Usage | SourceError> => {
      const state = before[client.chain.id] ?? untouched
      try {
        const native = toBigInt('eth_getBalance', await client.rpc('eth_getBalance', [address, 'latest']))
        return { client, native, state: state.isUsed ? state : await probe(client, address, state, native) }
      } catch (error) {
        if (error instanceof SourceError && !state.isUsed) return error
        throw error
      }
    }),
  )
  const used = answers.flatMap((answer) => (answer instanceof SourceError ? [] : [answer]))
  const failed = answers.find((answer) => answer instanceof SourceError)
  if (failed !== undefined && used.length === 0) throw failed
  return used
}

async function readChain(
  { client, native, state }: Usage,
  address: Address,
): Promise<{ id: number; state: ChainState; held: Held[] }> {
  const { chain } = client
  if (!state.isUsed) return { id: chain.id, state, held: [] }
  const scanned = await scan(client, address, state)
  const held = [
    { asset: nativeAsset(chain), amount: toAmount(native, 18) },
    ...(await fetchTokens(client, address, scanned.tokens)),
    ...(await fetchNfts(client, address, scanned.nfts)),
  ]
  return { id: chain.id, state: scanned, held: held.filter(({ amount }) => !isZero(amount)) }
}

async function probe(client: ChainClient, address: Address, before: ChainState, native: bigint): Promise<ChainState> {
  if (native > 0n) return { ...before, isUsed: true }
  const count = await client.rpc('eth_getTransactionCount', [address, 'latest'])
  if (toBigInt('eth_getTransactionCount', count) > 0n) return { ...before, isUsed: true }
  const nowMs = Math.round(client.now())
  if (before.checkedAtMs !== null && nowMs - before.checkedAtMs < probeEveryMs) return before
  for (const stream of ['erc20', 'erc721', 'erc1155', 'transactions'] as const) {
    const rows = await client.list(toAction(stream), { address, page: 1, offset: 1, sort: 'asc' })
    if (rows.length > 0) return { ...before, isUsed: true }
  }
  return { ...before, checkedAtMs: nowMs }
}

/** Longer lists are scanned further by the next read. */
const questionsPerScan = 10

const skippedMax = 50_000

/** The contracts that the wallet has met since the last time. */
async function scan(client: ChainClient, address: Address, state: ChainState): Promise<ChainState> {
  const height = await fetchBlockNumber(client)
  const lists = await Promise.all(
    (['erc20', 'erc721', 'erc1155'] as const).map((stream) => scanList(client, address, stream, state.scannedTo)),
  )
  const [tokens, single, multiple] = lists.map(({ rows }) => rows)
  const found = (tokens ?? [])
    .filter((row) => isFungible(client.chain, row))
    .map((row): Token => ({ ...toContract(row), decimals: toDecimals(row) }))
  const nfts = [...toNfts('erc721', single ?? []), ...toNfts('erc1155', multiple ?? [])]
  // What is not final may be replaced, and an index is behind.
  const final = Math.max(state.scannedTo, height - 2 * client.chain.depth)
  const scannedTo = Math.min(final, ...lists.flatMap(({ endedAt }) => endedAt ?? []))
  // Nothing was found: a new state is not worth writing until there is much to skip.
  if (found.length + nfts.length === 0 && scannedTo - state.scannedTo < skippedMax) return state
  return {
    ...state,
    tokens: withTokens(client.chain, state.tokens, found),
    nfts: withNfts(state.nfts, nfts),
    scannedTo,
  }
}

async function scanList(
  client: ChainClient,
  address: Address,
  stream: 'erc20' | 'erc721' | 'erc1155',
  since: number,
): Promise<{ rows: TokenRow[]; endedAt: number | undefined }> {
  const rows: TokenRow[] = []
  let [startblock, page] = [since, 1]
  for (let questions = 0; questions < questionsPerScan; questions += 1) {
    const answer = await client.list(toAction(stream), { address, startblock, page, offset: pageSize, sort: 'asc' })
    const read = answer.flatMap((row) => findToken(row) ?? [])
    rows.push(...read)
    if (answer.length < pageSize) return { rows, endedAt: undefined }
    const last = Math.max(startblock, ...read.map(({ blockNumber }) => Number(blockNumber)))
    // A block may fill several pages. One that has more than an index gives is passed over.
    if (last > startblock) [startblock, page] = [last, 1]
    else if (page < pagesMax) page += 1
    else [startblock, page] = [last + 1, 1]
  }
  return { rows, endedAt: startblock }
}

/** A row that cannot be parsed is reported by its page. */
function findToken(row: unknown): TokenRow | undefined {
  try {
    return parseToken(JSON.stringify(row))
  } catch {
    return undefined
  }
}

function toNfts(standard: Nft['standard'], rows: readonly TokenRow[]): Nft[] {
  return rows.flatMap((row) => listPieces(row).map(({ tokenId }): Nft => ({ ...toContract(row), standard, tokenId })))
}

interface Question {
  to: Address
  data: Hex
}

async function fetchTokens(client: ChainClient, address: Address, tokens: readonly Token[]): Promise<Held[]> {
  const { chain } = client
  const asked = withWrapped(chain, tokens)
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [address] })
  const answers = await ask(
    client,
    asked.map((token) => ({ to: token.address as Address, data })),
  )
  return asked.flatMap((token, index): Held[] => {
    const units = findUint(answers[index])
    return units === undefined ? [] : [{ asset: tokenAsset(chain, token), amount: toAmount(units, token.decimals) }]
  })
}

/** Wrapping coins leaves no transfer in most indexes, so the wrapped coin is always queried. */
function withWrapped(chain: Chain, tokens: readonly Token[]): readonly Token[] {
  if (tokens.some(({ address }) => address === chain.wrapped.address)) return tokens
  return [...tokens, { ...wrappedContract(chain), decimals: 18 }]
}

const erc1155Abi = parseAbi(['function balanceOf(address account, uint256 id) view returns (uint256)'])

async function fetchNfts(client: ChainClient, address: Address, nfts: readonly Nft[]): Promise<Held[]> {
  const questions = nfts.map(({ address: to, tokenId, standard }): Question => {
    const id = BigInt(tokenId)
    const data =
      standard === 'erc721'
        ? encodeFunctionData({ abi: erc721Abi, functionName: 'ownerOf', args: [id] })
        : encodeFunctionData({ abi: erc1155Abi, functionName: 'balanceOf', args: [address, id] })
    return { to: to as Address, data }
  })
  const answers = await ask(client, questions)
  return nfts.flatMap((nft, index): Held[] => {
    const word = findUint(answers[index])
    if (word === undefined) return []
    const amount = nft.standard === 'erc1155' ? word : word === BigInt(address) ? 1n : 0n
    return [{ asset: nftAsset(client.chain, nft, nft.tokenId), amount: toAmount(amount, 0) }]
  })
}

/** Contracts that are gone or broken answer something else than one word; their tokens cannot be moved either. */
function findUint(answer: Hex | undefined): bigint | undefined {
  return answer !== undefined && /^0x[0-9a-f]{64}/i.test(answer) ? BigInt(answer.slice(0, 66)) : undefined
}

const multicallAddress = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** Public nodes refuse calls that burn much gas; one balance takes about 3,000 to 30,000. */
const questionsMax = 150

/** The answers in their order; undefined where the contract refused. */
async function ask(client: ChainClient, questions: readonly Question[]): Promise<(Hex | undefined)[]> {
  const answers: (Hex | undefined)[] = []
  for (let at = 0; at < questions.length; at += questionsMax) {
    const some = questions.slice(at, at + questionsMax)
    answers.push(...((await askTogether(client, some)) ?? (await inGroups(some, (one) => askAlone(client, one)))))
  }
  return answers
}

/** Undefined where nothing is deployed at the address of Multicall3. */
async function askTogether(
  client: ChainClient,
  questions: readonly Question[],
): Promise<(Hex | undefined)[] | undefined> {
  const calls = questions.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))
  const data = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [calls] })
  const answer = await askAlone(client, { to: multicallAddress, data })
  if (answer === undefined || answer === '0x') return undefined
  const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: answer })
  return results.map(({ success, returnData }) => (success ? returnData : undefined))
}

async function askAlone(client: ChainClient, question: Question): Promise<Hex | undefined> {
  try {
    const answer = await client.rpc('eth_call', [question, 'latest'])
    if (typeof answer === 'string' && /^0x[0-9a-f]*$/i.test(answer)) return answer as Hex
  } catch (error) {
    if (error instanceof RevertedCall) return undefined
    throw error
  }
  throw new SourceError('unreadable_answer', `${client.chain.name}: eth_call: not hexadecimal`)
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
