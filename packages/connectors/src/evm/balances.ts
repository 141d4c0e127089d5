/**
 * What a wallet holds, from the chain itself and never from its history: coins by `eth_getBalance`, tokens by their
 * contracts. A chain does not say which tokens an address has, so an index names the contracts whose tokens it was ever
 * sent or sent away.
 *
 * A round asks one chain after the other. That takes some twenty requests, which rarely all succeed on a bad
 * connection: a round keeps the answers it has, and the next `fetchHoldings` continues from there.
 *
 * All calls to contracts go through Multicall3, which has one address on all chains (multicall3.com); where it is not
 * deployed, each contract is called separately.
 */
import { add, hourMs, isKnownAsset, isZero, SourceError, zero, type Decimal } from '@assay/core'
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
import { nativeAsset, nftAsset, toAmount, tokenAsset, wrappedContract, type NamedAsset } from './assets.ts'
import type { Chain } from './chains.ts'
import { AbortedCall, fetchBlockNumber, inGroups, RevertedCall, toBigInt, type ChainClient } from './client.ts'
import { toAction } from './pages.ts'
import { questionsPerCall, scanOn, startScan, withScanned } from './scan.ts'
import {
  keyOf,
  tokenStreams,
  untouched,
  withRoom,
  type ChainRound,
  type ChainState,
  type EvmState,
  type Nft,
  type Round,
  type Token,
  type Units,
} from './state.ts'

export interface Holdings {
  /** Undefined while the round has not ended. */
  balances: Balance[] | undefined
  chains: EvmState['chains']
  round?: Round
}

/** In a longer round, the first balances would be too old to be added to the last. */
const roundMaxMs = hourMs

interface Walk {
  address: Address
  chains: Record<string, ChainState>
  round: Round
  /** How many requests to indexes this `fetchHoldings` has made. */
  questions: number
  hasProgressed: boolean
}

export async function fetchHoldings(
  clients: readonly ChainClient[],
  address: Address,
  { chains, round }: EvmState,
  nowMs: number,
): Promise<Holdings> {
  const isOpen = round !== undefined && nowMs - round.startedAtMs < roundMaxMs
  const walk: Walk = {
    ...{ address, questions: 0, hasProgressed: false },
    chains: isOpen ? chains : { ...chains, ...(await fetchUsage(clients, address, chains)) },
    round: isOpen ? round : { startedAtMs: Math.round(nowMs), chains: {} },
  }
  const used = clients.filter(({ chain }) => walk.chains[chain.id]?.isUsed === true)
  const hasEnded = await readAll(used, walk)
  if (!hasEnded) return { balances: undefined, chains: walk.chains, round: walk.round }
  return { balances: fold(used.flatMap(({ chain }) => toHeld(chain, walk))), chains: walk.chains }
}

/** False when the round has to continue, either because this call has asked enough or because a request failed. */
async function readAll(used: readonly ChainClient[], walk: Walk): Promise<boolean> {
  try {
    for (const client of used) if (!(await readChain(client, walk))) return false
    return true
  } catch (error) {
    // If the provider is failing, the next call meets the failure first and throws it, because it makes no progress.
    const isPassing = error instanceof SourceError && passingFaults.has(error.fault)
    if (walk.hasProgressed && isPassing) return false
    throw error
  }
}

const passingFaults: ReadonlySet<SourceError['fault']> = new Set(['venue_down', 'unreadable_answer', 'rate_limited'])

/** One chain at a time, so that a failed request costs the other chains nothing. */
async function readChain(client: ChainClient, walk: Walk): Promise<boolean> {
  const { id } = client.chain
  const read = (walk.round.chains[id] ??= { height: await fetchBlockNumber(client), scans: {} })
  if (read.units !== undefined) return true
  if (!(await scanLists(client, walk, read))) return false
  read.units = await fetchUnits(client, walk.address, getState(walk, client.chain))
  walk.chains[id] = withScanned(client.chain, getState(walk, client.chain), read)
  walk.hasProgressed = true
  return true
}

function getState({ chains }: Walk, { id }: Chain): ChainState {
  return chains[id] ?? untouched
}

/** The contracts that the wallet has met since the last round. False when this call has asked enough. */
async function scanLists(client: ChainClient, walk: Walk, { scans }: ChainRound): Promise<boolean> {
  for (;;) {
    const { scannedTo } = getState(walk, client.chain)
    const open = tokenStreams.flatMap((stream) => {
      const scan = (scans[stream] ??= startScan(scannedTo))
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

/**
 * The chains that answered, and whether the wallet was used there. A chain that was never used may fail: an unreachable
 * network must not make six others unreadable, and the next round asks it again. When none answers and none is known to
 * be in use, that is the provider's failure.
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
    const rows = await client.list(toAction(stream), { address, page: 1, offset: 1, sort: 'asc' })
    if (rows.length > 0) return { ...before, isUsed: true }
  }
  return { ...before, checkedAtMs: nowMs }
}

async function fetchNative(client: ChainClient, address: Address): Promise<bigint> {
  return toBigInt('eth_getBalance', await client.rpc('eth_getBalance', [address, 'latest']))
}

/** Requested together, so that all of them come from nearly the same block. */
async function fetchUnits(client: ChainClient, address: Address, { tokens, nfts }: ChainState): Promise<Units> {
  const [native, ofTokens, ofNfts] = await Promise.all([
    fetchNative(client, address),
    fetchTokens(client, address, tokens),
    fetchNfts(client, address, nfts),
  ])
  return { native: native.toString(), tokens: ofTokens, nfts: ofNfts }
}

interface Held {
  asset: NamedAsset
  amount: Decimal
}

function toHeld(chain: Chain, walk: Walk): Held[] {
  const { units } = walk.round.chains[chain.id] ?? {}
  if (units === undefined) return []
  const { tokens, nfts } = getState(walk, chain)
  const held = [
    { asset: nativeAsset(chain), amount: toAmount(BigInt(units.native), 18) },
    ...withWrapped(chain, tokens).map((token) => ({
      asset: tokenAsset(chain, token),
      amount: toAmount(BigInt(units.tokens[token.address] ?? '0'), token.decimals),
    })),
    ...nfts.map((nft) => ({
      asset: nftAsset(chain, nft, nft.tokenId),
      amount: toAmount(BigInt(units.nfts[keyOf(nft)] ?? '0'), 0),
    })),
  ]
  return held.filter(({ amount }) => !isZero(amount))
}

interface ContractCall {
  to: Address
  data: Hex
  /** The contract is known to answer soon: if the node aborts the call, the node is overloaded. */
  isKnown?: boolean
}

async function fetchTokens(
  client: ChainClient,
  address: Address,
  tokens: readonly Token[],
): Promise<Record<string, string>> {
  const asked = withWrapped(client.chain, tokens)
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [address] })
  const answers = await ask(
    client,
    asked.map((token) => {
      const isKnown = isKnownAsset(tokenAsset(client.chain, token).assetId)
      return { to: token.address as Address, data, isKnown }
    }),
  )
  return toRecord(asked.map((token, index) => [token.address, findUint(answers[index])]))
}

function toRecord(units: readonly (readonly [string, bigint | undefined])[]): Record<string, string> {
  return Object.fromEntries(units.flatMap(([key, amount]) => (amount ? [[key, amount.toString()]] : [])))
}

/** Wrapping coins leaves no transfer in most indexes, so the wrapped coin is always queried. */
function withWrapped(chain: Chain, tokens: readonly Token[]): readonly Token[] {
  if (tokens.some(({ address }) => address === chain.wrapped.address)) return tokens
  return [...tokens, { ...wrappedContract(chain), decimals: 18 }]
}

const erc1155Abi = parseAbi(['function balanceOf(address account, uint256 id) view returns (uint256)'])

async function fetchNfts(client: ChainClient, address: Address, nfts: readonly Nft[]): Promise<Record<string, string>> {
  const calls = nfts.map(({ address: to, tokenId, standard }): ContractCall => {
    const id = BigInt(tokenId)
    const data =
      standard === 'erc721'
        ? encodeFunctionData({ abi: erc721Abi, functionName: 'ownerOf', args: [id] })
        : encodeFunctionData({ abi: erc1155Abi, functionName: 'balanceOf', args: [address, id] })
    return { to: to as Address, data }
  })
  const answers = await ask(client, calls)
  return toRecord(
    nfts.map((nft, index) => {
      const word = findUint(answers[index])
      const isOwner = word === BigInt(address)
      return [keyOf(nft), nft.standard === 'erc1155' ? word : isOwner ? 1n : 0n]
    }),
  )
}

/** Undefined where a destroyed or broken contract answers less than a word; its tokens cannot be moved either. */
function findUint(answer: Hex | undefined): bigint | undefined {
  return answer !== undefined && /^0x[0-9a-f]{64}/i.test(answer) ? BigInt(answer.slice(0, 66)) : undefined
}

const multicallAddress = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** Public nodes refuse calls that burn much gas; one balance takes about 3,000 to 30,000. */
const callsMax = 150

/**
 * Each takes some seconds. A stranger can send a wallet hundreds of tokens whose contracts take that long, so after this
 * many only known contracts are called.
 */
const abortedMax = 20

/** The answers in their order; undefined where the contract refused. */
async function ask(client: ChainClient, calls: readonly ContractCall[]): Promise<(Hex | undefined)[]> {
  let abortedCount = 0
  const askOne = async (call: ContractCall): Promise<Hex | undefined> => {
    if (abortedCount >= abortedMax && call.isKnown !== true) return undefined
    try {
      return await askAlone(client, call)
    } catch (error) {
      if (!(error instanceof AbortedCall) || call.isKnown === true) throw error
      abortedCount += 1
      return undefined
    }
  }
  const answers: (Hex | undefined)[] = []
  for (let at = 0; at < calls.length; at += callsMax) {
    const some = calls.slice(at, at + callsMax)
    answers.push(...((await askTogether(client, some)) ?? (await inGroups(some, askOne))))
  }
  return answers
}

/** Undefined where nothing is deployed at the address of Multicall3, or where one contract used up what all may use. */
async function askTogether(
  client: ChainClient,
  calls: readonly ContractCall[],
): Promise<(Hex | undefined)[] | undefined> {
  const packed = calls.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))
  const data = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [packed] })
  const answer = await askAlone(client, { to: multicallAddress, data }).catch((error: unknown) => {
    if (error instanceof AbortedCall) return undefined
    throw error
  })
  if (answer === undefined || answer === '0x') return undefined
  const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: answer })
  return results.map(({ success, returnData }) => (success ? returnData : undefined))
}

async function askAlone(client: ChainClient, { to, data }: ContractCall): Promise<Hex | undefined> {
  try {
    const answer = await client.rpc('eth_call', [{ to, data }, 'latest'])
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
