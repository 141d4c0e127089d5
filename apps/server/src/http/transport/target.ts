/**
 * Request targets. A client may send a whole address, as it does to a proxy (RFC 9112 §3.2.2): its host then stands for
 * Host, whatever that says. The router would take such a target; what else reads the path or the host would not know it.
 */
import type { IncomingMessage } from 'node:http'

const origin = /^https?:\/\/([^/?#]*)/i

/** Gives the target in its usual form, and notes the host of a whole address as the one that was asked for. */
export function readTarget(request: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const { url: target = '' } = request
  // The router refuses what is not an address.
  if (target.startsWith('/') || !URL.canParse(target)) return target
  const [asked, host] = origin.exec(target) ?? []
  if (asked === undefined || host === undefined) return target
  request.headers.host = host
  const rest = target.slice(asked.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
