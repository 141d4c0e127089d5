/**
 * A chain with its index on loopback, for tests of paging and faults. Written from the documents: docs.etherscan.io
 * (account module: both block edges count, `page` × `offset` is at most 10,000, messages) and the execution APIs of
 * Ethereum.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeFunctionData, encodeFunctionResult, multicall3Abi, type Hex } from 'viem'
import type { Io } from '../kit/connector.ts'

type Row = Readonly<Record<string, unknown>> & { blockNumber: string }

interface NodeError {
  code: number
  message: string
  /** Some proxies give an error a status of its own. */
  status?: number
}

export interface TestChain {
  io: Io
  /** By action, oldest first. */
  lists: Map<string, Row[]>
  height: number
  /** What the node names as its newest block, if that is another one. */
  namedHeight: number | undefined
  /** What the node says about its chain. */
  chainId: number
  nowMs: number
  /** Answers of `eth_getTransactionReceipt`, by hash. */
  receipts: Map<string, object>
  /** Answers of `eth_getTransactionByHash`, by hash. */
  transactions: Map<string, object>
  balances: Map<string, bigint>
  codes: Map<string, string>
  /** Answers to `eth_call`, by contract and data in lower case; `revert` refuses. */
  calls: Map<string, string>
  /** What every contract says about its decimals, unless `calls` has another answer. */
  decimals: number
  /** Errors of the node, by method, or by contract and data in lower case. */
  errors: Map<string, NodeError>
  /** The last block for which the node answers calls, if it is behind the others at its address. */
  callHeight: number
  /** Multicall3 is deployed. An error of one of its calls is an error of the whole. */
  hasMulticall: boolean
  /** Changes what Multicall3 answers. */
  distort(answer: string): string
  /** Replace the next answers of the index, each once. */
  answers: { status: number; text: string }[]
  /** The most rows that the index gives for a page, however many are requested. */
  rowsMax: number
  /** The last block that the index has, if it is behind the node. */
  indexHeight: number
  /** How the index answers how far it is: as Etherscan, as Blockscout, or only by its proxy of a node, if at all. */
  heightForm: 'etherscan' | 'blockscout' | 'proxy' | 'none'
  /** What the index reads of a query. */
  toQuery(query: URLSearchParams): URLSearchParams
  questions: URLSearchParams[]
  methods: string[]
}

/** Blocks are twelve seconds apart. */
export function timeOf(block: number): number {
  return 1_700_000_000 + block * 12
}

export async function startChain(t: { after(end: () => Promise<void>): void }): Promise<TestChain> {
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    void answer(chain, request).then(({ status, text }) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  const chain: TestChain = {
    io: { fetch, now: () => chain.nowMs, nextNonce: () => '1', baseUrl: `http://127.0.0.1:${port}` },
    lists: new Map(),
    height: 20_000,
    ...{ namedHeight: undefined, chainId: 1 },
    nowMs: timeOf(20_000) * 1000 + 5_000,
    ...{
      receipts: new Map(),
      transactions: new Map(),
      balances: new Map(),
      codes: new Map(),
      calls: new Map(),
      errors: new Map(),
    },
    ...{ answers: [], questions: [], methods: [], hasMulticall: false, distort: (given: string) => given },
    ...{
      decimals: 6,
      callHeight: Infinity,
      indexHeight: Infinity,
      heightForm: 'etherscan',
      rowsMax: 10_000,
      toQuery: (query: URLSearchParams) => query,
    },
  }
  return chain
}

async function answer(chain: TestChain, request: IncomingMessage): Promise<{ status: number; text: string }> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1')
  // Only Ethereum is in use: Base answers as an empty chain.
  const isMain = /\/1(?:\/|$)/.test(url.pathname)
  if (url.pathname.startsWith('/index/')) return answerIndex(chain, url.searchParams, isMain)
  let body = ''
  for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString()
  const { method, params } = JSON.parse(body) as { method: string; params: unknown[] }
  chain.methods.push(method)
  const result = isMain ? answerRpc(chain, method, params) : emptyRpc(method)
  const refused: NodeError | undefined = result === 'revert' ? { code: 3, message: 'execution reverted' } : undefined
  const error = isMain ? (findError(chain, method, params) ?? refused) : undefined
  const content = error === undefined ? { result } : { error: { code: error.code, message: error.message } }
  return { status: error?.status ?? 200, text: JSON.stringify({ jsonrpc: '2.0', id: 1, ...content }) }
}

function answerIndex(chain: TestChain, given: URLSearchParams, isMain: boolean): { status: number; text: string } {
  chain.questions.push(given)
  const query = chain.toQuery(given)
  const planned = chain.answers.shift()
  if (planned !== undefined) return planned
  if (query.get('module') !== 'account') return answerHeight(chain, query)
  const [page, offset] = [Number(query.get('page')), Number(query.get('offset'))]
  if (page * offset > 10_000) {
    const message = 'Result window is too large, PageNo x Offset size must be less than or equal to 10000'
    return { status: 200, text: JSON.stringify({ status: '0', message, result: null }) }
  }
  const [start, end] = [Number(query.get('startblock') ?? 0), Number(query.get('endblock') ?? 99_999_999)]
  const contract = query.get('contractaddress')
  const rows = (isMain ? (chain.lists.get(query.get('action') ?? '') ?? []) : []).filter(
    ({ contractAddress }) => contract === null || contractAddress === contract,
  )
  const last = Math.min(end, chain.indexHeight)
  const found = rows.filter(({ blockNumber }) => start <= Number(blockNumber) && Number(blockNumber) <= last)
  const size = Math.min(offset, chain.rowsMax)
  const result = found.slice((page - 1) * size, page * size)
  if (result.length > 0) return { status: 200, text: JSON.stringify({ status: '1', message: 'OK', result }) }
  return { status: 200, text: JSON.stringify({ status: '0', message: 'No transactions found', result: [] }) }
}

/** docs.etherscan.io (getblocknobytime, eth_blockNumber) and docs.blockscout.com (rpc/block, getblocknobytime). */
function answerHeight(chain: TestChain, query: URLSearchParams): { status: number; text: string } {
  const { heightForm, height, indexHeight } = chain
  const indexed = Math.min(height, indexHeight)
  const asked = `${query.get('module')} ${query.get('action')}`
  if (asked === 'proxy eth_blockNumber' && heightForm === 'proxy') {
    return { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: 83, result: `0x${indexed.toString(16)}` }) }
  }
  if (asked !== 'block getblocknobytime' || heightForm === 'proxy' || heightForm === 'none') {
    const result = 'Error! Missing Or invalid Action name'
    return { status: 200, text: JSON.stringify({ status: '0', message: 'NOTOK', result }) }
  }
  const before = Math.floor((Number(query.get('timestamp')) - timeOf(0)) / 12)
  // Etherscan looks for ten minutes before the time.
  if (heightForm === 'etherscan' && (before - indexed) * 12 > 600) {
    return {
      status: 200,
      text: JSON.stringify({ status: '0', message: 'NOTOK', result: 'Error! No closest block found' }),
    }
  }
  const found = String(Math.min(before, indexed))
  const result = heightForm === 'blockscout' ? { blockNumber: found } : found
  return { status: 200, text: JSON.stringify({ status: '1', message: 'OK', result }) }
}

function findError(chain: TestChain, method: string, params: readonly unknown[]): NodeError | undefined {
  const isAhead = method === 'eth_call' && Number(params[1]) > chain.callHeight
  if (isAhead) return { code: -32000, message: 'header not found' }
  const names = [nameOf(method, params), ...(findPacked(chain, method, params) ?? [])]
  return names.map((name) => chain.errors.get(name)).find((error) => error !== undefined)
}

/** The calls inside a call of Multicall3, as `calls` and `errors` name them. */
function findPacked(chain: TestChain, method: string, [first]: readonly unknown[]): string[] | undefined {
  if (method !== 'eth_call' || !chain.hasMulticall) return undefined
  const { to, data } = first as ContractCall
  if (to.toLowerCase() !== '0xca11bde05977b3631167028862be2a173976ca11') return undefined
  const { args } = decodeFunctionData({ abi: multicall3Abi, data })
  return (args?.[0] as readonly { target: Hex; callData: Hex }[]).map(({ target, callData }) =>
    nameOf(method, [{ to: target, data: callData }]),
  )
}

function answerPacked(chain: TestChain, names: readonly string[]): Hex {
  const result = names.map((name): { success: boolean; returnData: Hex } => {
    const answer = answerCall(chain, name)
    return answer === 'revert' ? { success: false, returnData: '0x' } : { success: true, returnData: answer as Hex }
  })
  return encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result })
}

/** Ends with the selector of `decimals()`. */
const asksDecimals = / 0x313ce567$/

function answerCall({ calls, decimals }: TestChain, name: string): string {
  return calls.get(name) ?? (asksDecimals.test(name) ? `0x${decimals.toString(16).padStart(64, '0')}` : '0x')
}

interface ContractCall {
  to: Hex
  data: Hex
}

function nameOf(method: string, [first]: readonly unknown[]): string {
  if (method !== 'eth_call') return method
  const { to, data } = first as ContractCall
  return `${to} ${data}`.toLowerCase()
}

function emptyRpc(method: string): unknown {
  return method === 'eth_getCode' ? '0x' : '0x0'
}

function answerRpc(chain: TestChain, method: string, params: readonly unknown[]): unknown {
  const first = String(params[0]).toLowerCase()
  switch (method) {
    case 'eth_chainId':
      return `0x${chain.chainId.toString(16)}`
    case 'eth_blockNumber':
      return `0x${(chain.namedHeight ?? chain.height).toString(16)}`
    case 'eth_getBlockByNumber':
      return Number(first) > chain.height ? null : { timestamp: `0x${timeOf(Number(first)).toString(16)}` }
    case 'eth_getTransactionReceipt':
      return chain.receipts.get(first) ?? null
    case 'eth_getTransactionByHash':
      return chain.transactions.get(first) ?? null
    case 'eth_getBalance':
      return `0x${(chain.balances.get(first) ?? 0n).toString(16)}`
    case 'eth_getTransactionCount':
      return '0x0'
    case 'eth_getCode':
      return chain.codes.get(first) ?? '0x'
    case 'eth_call': {
      const packed = findPacked(chain, method, params)
      return packed === undefined
        ? answerCall(chain, nameOf(method, params))
        : chain.distort(answerPacked(chain, packed))
    }
    default:
      throw new Error(`the test chain does not know ${method}`)
  }
}
