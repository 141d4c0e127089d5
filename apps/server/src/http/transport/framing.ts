/**
 * Requests whose end a proxy in front may see elsewhere than Node does: what the proxy took for a body would be served
 * as a request of its own. So such a request is the last of its connection.
 *
 * - Transfer-Encoding in a request of HTTP/1.0, which does not have it. Node reads the body in chunks. RFC 9112 §6.1 has
 *   the connection closed, and the request is refused.
 * - Upgrade. Node drops what arrives together with the end of such a request, even where nothing upgrades, and parses
 *   what comes next (onParserExecuteCommon in lib/_http_server.js, Node 24.21): of a request that follows, it may drop
 *   the head and take the body for a request. Clients may offer an upgrade with any request (h2c), and expect its answer
 *   when the server ignores the offer (RFC 9110 §7.8), so this one is answered.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '@assay/core'

/** For each connection that takes no more requests. */
const lastRequests = new WeakMap<Socket, IncomingMessage>()

/** Whether the connection takes no requests behind this one. */
export function isLast(request: IncomingMessage): boolean {
  const { headers, socket } = request
  if (lastRequests.has(socket)) return true
  const last = headers.upgrade !== undefined || isUnclear(request)
  if (last) lastRequests.set(socket, request)
  return last
}

export function checkFraming(request: IncomingMessage): void {
  if (!isLast(request)) return
  if (lastRequests.get(request.socket) !== request) {
    throw new Refusal('invalid_request', 'the request before was the last of its connection')
  }
  if (isUnclear(request)) throw new Refusal('invalid_request', 'HTTP/1.0 does not have Transfer-Encoding')
}

function isUnclear({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined
}
