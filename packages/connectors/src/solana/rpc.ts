/**
 * Calls to a node (JSON-RPC 2.0, solana.com/docs/rpc/http). `@solana/rpc` is not used: it retries, and it turns numbers
 * into bigint only where it knows the method. Here numbers keep the digits that the node wrote: lamports and amounts
 * are u64.
 *
 * Codes of errors: github.com/anza-xyz/agave, rpc-client-api/src/custom_error.rs.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { Io } from '../kit/connector.ts'
import { fetchText } from '../kit/http.ts'
import { isJsonObject, parseJsonVerbatim, readAnswer, withTextNumbers } from '../kit/json.ts'
import { solanaDefinition } from './definition.ts'

export interface Call {
  method: string
  params: readonly unknown[]
}

export type Outcome = { result: unknown } | { error: RpcError }

export interface Rpc {
  /** The response for inspection, with numbers as text. */
  call<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>): Promise<T>
  /** The answer to store: written out again, every number is unchanged. */
  fetchVerbatim(method: string, params: readonly unknown[]): Promise<unknown>
  /**
   * Several calls in one request, verbatim and in their order. Members that may be long and are not used can be left
   * out of their results.
   */
  fetchAll(calls: readonly Call[], omittedMembers?: readonly string[]): Promise<Outcome[]>
}

/** The results of several calls; the first error is thrown. */
export async function fetchResults(rpc: Rpc, calls: readonly Call[]): Promise<unknown[]> {
  return (await rpc.fetchAll(calls)).map((outcome) => {
    if ('error' in outcome) throw outcome.error
    return outcome.result
  })
}

/**
 * Reads as many of the items as the node answers for in one go, at least one. A node counts each call of a request, and
 * one that allows fewer at once than a page has refuses the page however long it is left alone. Strangers can make
 * transactions so long that a page of them is more than we read at once.
 */
export async function readSome<Item, Result>(
  items: readonly Item[],
  read: (some: readonly Item[]) => Promise<Result>,
): Promise<{ length: number; result: Result }> {
  for (let length = items.length; ; length = Math.ceil(length / 4)) {
    try {
      return { length, result: await read(items.slice(0, length)) }
    } catch (error) {
      const isTooMuch = error instanceof SourceError && ['rate_limited', 'unreadable_answer'].includes(error.fault)
      if (!isTooMuch || length <= 1) throw error
    }
  }
}

/** The error that a node answered with. The caller decides whether it matters. */
export class RpcError extends SourceError {
  readonly code: string
  constructor(fault: SourceError['fault'], detail: string, code: string) {
    super(fault, detail)
    this.code = code
  }
}

/** Blocks that two thirds of the stake voted for. What is not final yet is read too, and marked as pending. */
export const commitment = 'confirmed'

export const digits = z.string().regex(/^\d{1,20}$/)

export function createRpc(io: Io): Rpc {
  const url = io.baseUrl ?? io.chainUrls?.['solana']?.rpc ?? solanaDefinition.baseUrl
  async function post(body: object, omittedMembers?: readonly string[]): Promise<unknown> {
    const headers = { 'Content-Type': 'application/json' }
    const omitting = omittedMembers === undefined ? {} : { omittedMembers }
    return parseJsonVerbatim(
      await fetchText(io, url, { method: 'POST', headers, body: JSON.stringify(body), ...omitting }),
    )
  }
  async function fetchVerbatim(method: string, params: readonly unknown[]): Promise<unknown> {
    const outcome = readOutcome(method, await post({ jsonrpc: '2.0', id: 1, method, params }))
    if ('error' in outcome) throw outcome.error
    return outcome.result
  }
  return {
    fetchVerbatim,
    async fetchAll(calls, omittedMembers) {
      if (calls.length === 0) return []
      const answers = await post(
        calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })),
        omittedMembers,
      )
      if (!Array.isArray(answers)) throw readRefusal(answers)
      const byId = new Map(
        answers.map((answer: unknown) => [
          isJsonObject(answer) ? String(withTextNumbers(answer['id'] ?? null)) : '',
          answer,
        ]),
      )
      return calls.map(({ method }, id) => readOutcome(method, byId.get(String(id))))
    },
    call: async (method, params, schema) =>
      readAnswer(method, schema, withTextNumbers(await fetchVerbatim(method, params))),
  }
}

function readOutcome(method: string, answer: unknown): Outcome {
  if (!isJsonObject(answer)) throw new SourceError('unreadable_answer', `${method}: not an object`)
  if (answer['error'] !== undefined && answer['error'] !== null) return { error: toRpcError(method, answer['error']) }
  if (!('result' in answer)) throw new SourceError('unreadable_answer', `${method} has no result`)
  return { result: answer['result'] }
}

/** A node that refuses a request as a whole answers with one error. */
function readRefusal(answer: unknown): SourceError {
  const outcome = readOutcome('several calls', answer)
  return 'error' in outcome ? outcome.error : new SourceError('unreadable_answer', 'several calls: one result')
}

const errorAnswer = z.object({ code: z.string(), message: z.string().catch('') })

/** A block that was cleaned up, is not in this node's storage, or has no history here. */
const missing = new Set(['-32001', '-32004', '-32007', '-32009', '-32011', '-32014'])
/**
 * This node does not understand the request, or has too much to list for this account (−32012): strangers open accounts
 * for any wallet. It is not away, and a retry while a person waits would not help.
 */
const refused = new Set(['-32600', '-32601', '-32602', '-32700', '-32010', '-32012', '-32015'])

function toRpcError(method: string, error: unknown): RpcError {
  const { code, message } = readAnswer(method, errorAnswer, withTextNumbers(error))
  const detail = `${method}: error ${code}`
  if (code === '429' || /rate limit|too many requests/i.test(message)) return new RpcError('rate_limited', detail, code)
  if (missing.has(code)) return new RpcError('data_hole', detail, code)
  return new RpcError(refused.has(code) ? 'unreadable_answer' : 'venue_down', detail, code)
}
