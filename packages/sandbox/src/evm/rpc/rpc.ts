/**
 * A node's JSON-RPC, as far as a reader needs it. https://ethereum.org/developers/docs/apis/json-rpc
 * The fields that a receipt has on an OP stack chain: https://docs.optimism.io/app-developers/transactions/fees
 */
import { z } from 'zod'
import type { WireAnswer } from '../../core/serving/listener.ts'
import { dataPrices, type Chain } from '../chain/chain.ts'
import type { ChainId } from '../chain/networks.ts'
import { toQuantity } from '../chain/node.ts'
import type { World } from '../world.ts'

/** Where a method's parameters name a block, if they do. */
const methods: Readonly<Record<string, number | undefined>> = {
  eth_chainId: undefined,
  eth_blockNumber: undefined,
  eth_getBlockByNumber: 0,
  eth_getBlockByHash: undefined,
  eth_getBalance: 1,
  eth_call: 1,
  eth_getTransactionByHash: undefined,
  eth_getTransactionReceipt: undefined,
  eth_getLogs: undefined,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
}

const requestSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]),
  method: z.string(),
  params: z.array(z.unknown()).default([]),
})

const batchMax = 100

interface RpcAnswer {
  jsonrpc: '2.0'
  id: string | number | null
  result?: unknown
  error?: { code: number; message: string; data?: unknown }
}

export async function answerRpc(world: World, chainId: ChainId, body: string): Promise<WireAnswer> {
  const chain = world.chains.get(chainId)
  if (chain === undefined) throw new Error(`no chain ${chainId}`)
  let sent: unknown
  try {
    sent = JSON.parse(body)
  } catch {
    return rpcFailure(200, -32700, 'Parse error')
  }
  if (!Array.isArray(sent)) return toWire(await answerOne(chain, sent))
  if (sent.length === 0 || sent.length > batchMax)
    return rpcFailure(200, -32600, `a batch has 1 to ${batchMax} requests`)
  const answers: RpcAnswer[] = []
  for (const one of sent) answers.push(await answerOne(chain, one))
  return { status: 200, body: JSON.stringify(answers) }
}

function toWire(answer: RpcAnswer): WireAnswer {
  return { status: 200, body: JSON.stringify(answer), ...(answer.error && { error: answer.error.message }) }
}

async function answerOne(chain: Chain, sent: unknown): Promise<RpcAnswer> {
  const parsed = requestSchema.safeParse(sent)
  if (!parsed.success) return { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid Request' } }
  const { id, method, params } = parsed.data
  if (!Object.hasOwn(methods, method)) {
    const message = `the method ${method} does not exist/is not available`
    return { jsonrpc: '2.0', id, error: { code: -32601, message } }
  }
  try {
    const result = await chain.node.request<unknown>(method, ...withKnownTags(chain, method, params))
    return { jsonrpc: '2.0', id, result: complete(chain, method, result) }
  } catch (error) {
    return { jsonrpc: '2.0', id, error: toRpcError(error) }
  }
}

/** The node treats its newest block as final. Here the chain decides how deep a final block has to be. */
function withKnownTags(chain: Chain, method: string, params: readonly unknown[]): unknown[] {
  const toBlock = (named: unknown): unknown => {
    if (named !== 'safe' && named !== 'finalized') return named
    return toQuantity(Math.max(0, chain.headNumber() - chain.network.depth[named]))
  }
  const [filter] = params
  if (method === 'eth_getLogs' && typeof filter === 'object' && filter !== null) {
    const entries = Object.entries(filter).map(([name, value]: [string, unknown]) => [name, toBlock(value)])
    return [Object.fromEntries(entries)]
  }
  return params.map((param, at) => (at === methods[method] ? toBlock(param) : param))
}

/** Adds what the simulator keeps beside the node: see `chain.ts`. */
function complete(chain: Chain, method: string, result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result
  if (method.startsWith('eth_getBlockBy') && 'number' in result) {
    const withdrawals = chain.index
      .withdrawalsIn(Number(result.number))
      .map(({ number, validator, address, gwei }) => ({
        ...{ index: toQuantity(number), validatorIndex: toQuantity(validator), address, amount: toQuantity(gwei) },
      }))
    return withdrawals.length === 0 ? result : { ...result, withdrawals }
  }
  if (method === 'eth_getTransactionReceipt' && 'transactionHash' in result) {
    const fee = chain.index.findTransaction(String(result.transactionHash))?.dataFee
    if (fee === undefined) return result
    return {
      ...result,
      l1GasPrice: toQuantity(fee.gasPrice),
      l1GasUsed: toQuantity(fee.gasUsed),
      l1Fee: toQuantity(fee.fee),
      l1BaseFeeScalar: toQuantity(dataPrices.baseFeeScalar),
      l1BlobBaseFee: toQuantity(dataPrices.blobBaseFee),
      l1BlobBaseFeeScalar: toQuantity(dataPrices.blobBaseFeeScalar),
    }
  }
  return result
}

function toRpcError(error: unknown): { code: number; message: string; data?: unknown } {
  if (!(error instanceof Error)) throw error
  const code = 'code' in error && typeof error.code === 'number' ? error.code : -32603
  const data = 'data' in error ? error.data : undefined
  const inner = typeof data === 'object' && data !== null && 'data' in data ? data.data : data
  return { code, message: error.message, ...(inner !== undefined && { data: inner }) }
}

/** The shapes of answers: an explorer's `{ status, message, result }`, and JSON-RPC 2.0. */
export function ok(result: unknown): WireAnswer {
  return { status: 200, body: JSON.stringify({ status: '1', message: 'OK', result }) }
}

/** An explorer answers 200 whatever happened. https://docs.etherscan.io/resources/common-error-messages */
export function notOk(result: string): WireAnswer {
  return { status: 200, body: JSON.stringify({ status: '0', message: 'NOTOK', result }), error: result }
}

export function explorerFailure(message: string, result: unknown): WireAnswer {
  return { status: 200, body: JSON.stringify({ status: '0', message, result }), error: message }
}

export function rpcFailure(status: number, code: number, message: string): WireAnswer {
  return { status, body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }), error: message }
}
