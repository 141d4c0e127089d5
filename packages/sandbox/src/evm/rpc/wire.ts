/** The shapes of answers: an explorer's `{ status, message, result }`, and JSON-RPC 2.0. */
import type { WireAnswer } from '../../core/serving/listener.ts'

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
