/**
 * Transfer-Encoding in a request of HTTP/1.0, which does not have it. Node reads the body in chunks; a proxy in front
 * may have seen another end of the request, and what it took for the body would be served as a request of its own. RFC
 * 9112 §6.1 therefore has the connection closed, whatever else it carries.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const doubtful = new WeakSet<Socket>()

/** Whether the end of this request, or of an earlier one on its connection, is in doubt. */
export function isDoubtful({ httpVersion, headers, socket }: IncomingMessage): boolean {
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined) doubtful.add(socket)
  return doubtful.has(socket)
}
