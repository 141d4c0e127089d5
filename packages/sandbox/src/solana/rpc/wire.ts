/**
 * JSON-RPC 2.0 as a Solana node writes it. Lamports and slots are JSON numbers up to 2^64, which JavaScript's numbers
 * cannot hold: they are bigint here and written digit by digit.
 */
import type { WireAnswer } from '../../core/serving/listener.ts'

export interface RpcFailure {
  code: number
  message: string
  data?: unknown
}

export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export function invalidParams(message: string): RpcError {
  return new RpcError(-32602, message)
}

// ECMAScript 2026; Node has it, TypeScript's library does not know it yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/** A number that a node keeps as a 64-bit float: 1 is written as "1.0". */
export function toFloat(value: number): object {
  return rawJSON(Number.isInteger(value) ? `${BigInt(value)}.0` : String(value))
}

export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'bigint' ? rawJSON(member.toString()) : member,
  )
}

export function rpcFailure(status: number, error: RpcFailure, headers: Record<string, string> = {}): WireAnswer {
  return { status, headers, body: toJson({ jsonrpc: '2.0', error, id: null }), error: error.message }
}
