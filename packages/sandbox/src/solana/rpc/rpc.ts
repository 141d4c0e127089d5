/**
 * A node's JSON-RPC over HTTP. Sources: https://solana.com/docs/rpc, and for what lies around the calls (methods,
 * content types, the size of a body) the server that nodes are built with: paritytech/jsonrpc, http/src/handler.rs.
 */
import { z } from 'zod'
import type { WireAnswer, WireRequest } from '../../core/serving/listener.ts'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { accountMethods } from './account-methods.ts'
import { ledgerMethods } from './ledger-methods.ts'
import type { Call, Method } from './params.ts'
import { RpcError, toJson, type RpcFailure } from './wire.ts'
import type { World } from '../world.ts'

const methods: Readonly<Record<string, Method>> = { ...accountMethods, ...ledgerMethods }

const requestSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]),
  method: z.string(),
  params: z.array(z.unknown()).nullish(),
})

interface RpcAnswer {
  jsonrpc: '2.0'
  result?: unknown
  error?: RpcFailure
  id: string | number | null
}

export function answerRpc(world: World, request: WireRequest, context: CallContext): WireAnswer {
  let sent: unknown
  try {
    sent = JSON.parse(request.body)
  } catch {
    return toWire({ jsonrpc: '2.0', error: { code: -32700, message: 'Parse error' }, id: null })
  }
  const answer = (one: unknown): RpcAnswer => answerOne({ world, context, nowMs: context.nowMs }, one)
  if (!Array.isArray(sent)) return toWire(answer(sent))
  if (sent.length === 0) return toWire(invalidRequest)
  return { status: 200, body: toJson(sent.map(answer)) }
}

const invalidRequest: RpcAnswer = { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid request' }, id: null }

function toWire(answer: RpcAnswer): WireAnswer {
  return { status: 200, body: toJson(answer), ...(answer.error && { error: answer.error.message }) }
}

function answerOne(around: Omit<Call, 'params'>, sent: unknown): RpcAnswer {
  const parsed = requestSchema.safeParse(sent)
  if (!parsed.success) return invalidRequest
  const { id, method, params } = parsed.data
  const handle = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (handle === undefined) return { jsonrpc: '2.0', error: { code: -32601, message: 'Method not found' }, id }
  try {
    return { jsonrpc: '2.0', result: handle({ ...around, params: params ?? [] }), id }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const { code, data, message } = error
    return { jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id }
  }
}
