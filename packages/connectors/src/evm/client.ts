/**
 * Calls to one chain: its node (JSON-RPC 2.0, ethereum.github.io/execution-apis) and its index (Etherscan's account
 * module). viem's own transport is not used: it retries and wraps errors, and a connector does neither.
 *
 * An index answers HTTP 200 for nearly everything: `status` "1" with rows, "0" with a message. Of the messages, "No …
 * found" means an empty list, and one about a rate limit means to wait. Blockscout's status "2" means that its internal
 * transactions of these blocks are not complete yet.
 */
import { dayMs, hourMs, SourceError, type Fault } from '@assay/core'
import { z } from 'zod'
import type { Io } from '../kit/connector.ts'
import { fetchAnswer, toStatusError, type HttpAnswer } from '../kit/http.ts'
import { isJsonObject, parseJson, parseJsonVerbatim, readAnswer } from '../kit/json.ts'
import { toPageRows } from '../kit/records.ts'
import { chains, type Chain } from './chains.ts'

export interface ChainClient {
  chain: Chain
  rpc(method: string, params: readonly unknown[]): Promise<unknown>
  /** Rows as the index wrote them but for `omittedMembers`, to be kept verbatim; `isBare` leaves out more. */
  list(action: string, params: Params, isBare?: boolean): Promise<readonly unknown[]>
  /** What another module of the index answers. */
  ask(module: string, action: string, params: Params): Promise<IndexAnswer>
  now(): number
  /** What was found out about the node. */
  node: { isOfChain: boolean }
}

type Params = Readonly<Record<string, string | number>>

/** A contract refused the call. The caller decides whether that matters. */
export class RevertedCall extends SourceError {}

/** The index does not have this list or module. Blockscout says so with status 400. */
export class UnknownAction extends SourceError {}

const unknownAction = /unknown (?:action|module)|invalid (?:action|module) name/i

/**
 * What a transaction gave its recipient to run. Anyone can send a wallet 128 kB of it, which an index writes in
 * hexadecimal: 64 such transactions, for some dollars on most chains, are longer than an answer may be. And how many
 * blocks have followed, which says nothing of the transaction: every run would find each row of the overlap changed.
 */
const omittedMembers = ['input', 'confirmations']
/** What else a stranger can make long: names of a contract and of its functions, and the pieces of a batch. */
const longMembers = ['tokenName', 'tokenSymbol', 'functionName', 'tokenIDs', 'values', 'tokenURI', 'logs']

interface NodeAndIndex {
  rpc: string
  index: string
}

/** The chains that can be read here. */
export function createClients(io: Io): ChainClient[] {
  return chains.flatMap((chain) => {
    const urls = findUrls(chain, io)
    return urls === undefined ? [] : [createClient(chain, urls, io)]
  })
}

function findUrls(chain: Chain, { baseUrl, chainUrls }: Io): NodeAndIndex | undefined {
  if (baseUrl !== undefined) {
    if (chain.inSandbox !== true) return undefined
    return { rpc: `${baseUrl}/rpc/${chain.id}`, index: `${baseUrl}/index/${chain.id}/api` }
  }
  const { rpc = chain.rpcUrl, index = chain.indexUrl } = chainUrls?.[`evm:${chain.id}`] ?? {}
  return index === null ? undefined : { rpc, index }
}

function createClient(chain: Chain, urls: NodeAndIndex, io: Io): ChainClient {
  // A node and an index of one chain may be away while all others answer.
  const reach = io.reach ?? ((_, request) => request())

  /** A page of HTML in place of the API counts as silence, so the answer is read before it counts. */
  async function fetchIndex<T>(
    module: string,
    action: string,
    params: Params,
    read: (text: string) => T,
    omitted = omittedMembers,
  ): Promise<T> {
    const url = new URL(urls.index)
    const query = { module, action, ...params }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
    return reach(`${chain.network} index`, async () => {
      const answer = await fetchAnswer(io, url.href, { omittedMembers: omitted })
      if (answer.status === 200) return read(answer.text)
      if (answer.status === 400 && unknownAction.test(answer.text)) {
        throw new UnknownAction('unreadable_answer', `${chain.name}: ${action}`)
      }
      throw toStatusError(answer, io, { 400: 'unreadable_answer', 404: 'unreadable_answer' })
    })
  }

  return {
    chain,
    async rpc(method, params) {
      const headers = { 'Content-Type': 'application/json' }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      return reach(`${chain.network} node`, async () => {
        const answer = await fetchAnswer(io, urls.rpc, { method: 'POST', headers, body, ...limitsOf(method) })
        if (answer.status !== 200) throw toStatusError(answer, io, faultsOf(method, answer))
        const { result, error } = readAnswer(method, rpcAnswer, parseJson(answer.text))
        if (error !== undefined && error !== null) throw toRpcError(chain, method, error)
        if (result === undefined) throw new SourceError('unreadable_answer', `${chain.name}: ${method} has no result`)
        return result
      })
    },
    list: (action, params, isBare = false) =>
      fetchIndex(
        'account',
        action,
        params,
        (text) => readRows(`${chain.name}: ${action}`, text),
        isBare ? [...omittedMembers, ...longMembers] : omittedMembers,
      ),
    ask: (module, action, params) =>
      fetchIndex(module, action, params, (text) =>
        readAnswer(`${chain.name}: ${action}`, indexAnswer, parseJson(text)),
      ),
    now: () => io.now(),
    node: { isOfChain: false },
  }
}

/**
 * A group of 150 balances has 48,000 digits. The authors of contracts decide how much theirs return, and ten groups are
 * asked for at once.
 */
const callBytesMax = 1024 * 1024

function limitsOf(method: string): { bytesMax?: number } {
  return method === 'eth_call' ? { bytesMax: callBytesMax } : {}
}

/** The host limits us, or says that the node behind it is away, whatever was called. */
const statusesOfHost: ReadonlySet<number> = new Set([418, 429, 502, 503])
const limited = /rate limit|too many requests/i

/**
 * A proxy may refuse what a contract answers with a status of its own and an error in the body (proxyd, in front of
 * many public nodes: HTTP 500 and −32020 "backend response too large").
 */
function faultsOf(method: string, { status, text }: HttpAnswer): Readonly<Record<number, Fault>> {
  const isOfCall = method === 'eth_call' && !statusesOfHost.has(status)
  return isOfCall && /"error"\s*:\s*\{/.test(text) && !limited.test(text) ? { [status]: 'unreadable_answer' } : {}
}

const rpcAnswer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.coerce.string(), message: z.string().catch('') }).nullish(),
})

/**
 * How nodes say that a contract ended a call: by the errors of the virtual machine (go-ethereum, core/vm/errors.go), or
 * in one phrase for all of them ("VM execution error").
 */
const contractErrors = [
  /revert|invalid opcode|out of gas|gas uint64 overflow|invalid jump|write protection|return data out of bounds/i,
  /stack (?:underflow|limit)|max call depth|vm exception|(?:vm|transaction) execution error/i,
]
/** 3 is a revert with data (geth), −32015 any end of a call by its contract (Nethermind, OpenEthereum). */
const contractCodes = new Set(['3', '-32015'])

/**
 * EIP-1474 §"Error codes", and what nodes send beside it: −32005 is a limit. A stranger may have written the contract
 * that is called, so an error of `eth_call` says nothing about the node, even if its text is unknown here.
 */
function toRpcError(chain: Chain, method: string, { code, message }: { code: string; message: string }): SourceError {
  const detail = `${chain.name}: ${method}: error ${code}`
  const isCall = method === 'eth_call'
  if (isCall && (contractCodes.has(code) || contractErrors.some((pattern) => pattern.test(message)))) {
    return new RevertedCall('unreadable_answer', detail)
  }
  if (code === '-32005' || code === '429' || limited.test(message)) return new SourceError('rate_limited', detail)
  const isOurs = ['-32600', '-32601', '-32602', '-32700'].includes(code)
  return new SourceError(isOurs || isCall ? 'unreadable_answer' : 'venue_down', detail)
}

const indexAnswer = z.custom<Record<string, unknown>>(isJsonObject).pipe(
  z.looseObject({
    // A number in some answers of Routescan.
    status: z.preprocess((value) => (typeof value === 'string' ? value : JSON.stringify(value)), z.string().catch('')),
    message: z.string().catch(''),
    result: z.unknown().optional(),
  }),
)
type IndexAnswer = z.infer<typeof indexAnswer>

function readRows(what: string, text: string): readonly unknown[] {
  const answer = readAnswer(what, indexAnswer, parseJsonVerbatim(text))
  const { status, message, result } = answer
  if (status === '1' && Array.isArray(result)) return toPageRows(result as unknown[])
  if (status === '0' && /^no\b.*\bfound/i.test(message)) return []
  throw toIndexError(what, answer)
}

/** What the words of an index mean that has not answered the question. */
export function toIndexError(what: string, { status, message, result }: IndexAnswer): SourceError {
  const words = `${message} ${typeof result === 'string' ? result : ''}`
  if (/rate limit|limit reached|too many requests/i.test(words)) return new SourceError('rate_limited', what)
  if (/time-?out|too busy/i.test(words)) return new SourceError('venue_down', `${what}: the index is too busy`)
  if (unknownAction.test(words)) return new UnknownAction('unreadable_answer', what)
  if (status === '2') return new SourceError('data_hole', `${what}: not indexed yet`)
  return new SourceError('unreadable_answer', `${what}: status ${status.slice(0, 20)} without an answer`)
}

const quantity = z.string().regex(/^0x[0-9a-f]{1,64}$/i)

/** A number as JSON-RPC writes it. */
export function toBigInt(what: string, value: unknown): bigint {
  return BigInt(readAnswer(what, quantity, value))
}

/** The newest block of a chain. */
export interface Head {
  number: number
  timeMs: number
}

/** Several nodes may answer at one address, and one of them may be some blocks behind another. */
export const nodesApartBlocks = 32
/** A chain may stand still for hours, and our own clock may be wrong. */
const [headBehindMaxMs, headAheadMaxMs] = [dayMs, hourMs]

/**
 * A number that is too high would make a history count as read that does not exist yet, and no later read would look
 * there again. So it is believed only from a node of this chain that has the block, with a time that is near the
 * present.
 */
export async function fetchHead(client: ChainClient, findTime = toFindTime(client)): Promise<Head> {
  await assertOfChain(client)
  const named = Number(toBigInt('eth_blockNumber', await client.rpc('eth_blockNumber', [])))
  for (const number of [named, Math.max(0, named - nodesApartBlocks)]) {
    const timeMs = await findTime(number)
    if (timeMs !== undefined) return assertPresent(client, { number, timeMs })
  }
  throw new SourceError('unreadable_answer', `${client.chain.name}: the node does not have its newest block ${named}`)
}

function toFindTime(client: ChainClient): (block: number) => Promise<number | undefined> {
  return (block) => findBlockTime(client, block)
}

async function assertOfChain(client: ChainClient): Promise<void> {
  const { chain, node } = client
  if (node.isOfChain) return
  const id = toBigInt('eth_chainId', await client.rpc('eth_chainId', []))
  if (id !== BigInt(chain.id)) throw new SourceError('unreadable_answer', `${chain.name}: the node is of chain ${id}`)
  node.isOfChain = true
}

function assertPresent({ chain, now }: ChainClient, head: Head): Head {
  const behindMs = now() - head.timeMs
  if (-headAheadMaxMs <= behindMs && behindMs <= headBehindMaxMs) return head
  const detail = `${chain.name}: the newest block is ${Math.round(behindMs / hourMs)} hours behind the present`
  throw new SourceError('unreadable_answer', detail)
}

const blockAnswer = z.object({ timestamp: quantity })

/** In epoch milliseconds; undefined when the node does not have the block. */
export async function findBlockTime(client: ChainClient, block: number): Promise<number | undefined> {
  const answer = await client.rpc('eth_getBlockByNumber', [`0x${block.toString(16)}`, false])
  if (answer === null) return undefined
  return Number(BigInt(readAnswer('eth_getBlockByNumber', blockAnswer, answer).timestamp)) * 1000
}

/** Calls `ask` for all of them, a few at a time, because public nodes refuse more. */
export async function inGroups<Item, Answer>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let at = 0; at < items.length; at += groupSize) {
    answers.push(...(await Promise.all(items.slice(at, at + groupSize).map(ask))))
  }
  return answers
}

export const groupSize = 10
