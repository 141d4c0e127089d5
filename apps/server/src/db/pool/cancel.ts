/**
 * Asks the server to stop what a connection is running; the statement then fails with 57014. A timeout of the server's
 * own (statement_timeout) would be session state, and as a startup parameter PgBouncer refuses it.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 *
 * The request travels on a connection of its own, which has TLS if the other one has it: a reader of the network who
 * learned the secret key could end statements until that connection closes. node-postgres itself cannot do that
 * (8.23.1): with TLS it sends no cancel request at all.
 */
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'

/** What node-postgres knows of a connection and does not declare. */
export interface Cancellable {
  processID: number
  secretKey: number
  host: string
  port: number
  ssl: boolean | tls.ConnectionOptions
  sslNegotiation: 'postgres' | 'direct'
}

/** If a cancelled statement has not answered by then, its connection is dead; a busy server needs seconds. */
export const cancelGraceMs = 10_000
const socketTimeoutMs = 60_000

export async function sendCancel(client: Cancellable): Promise<void> {
  const { host, port, processID, secretKey } = client
  const socket = host.startsWith('/') ? net.connect(`${host}/.s.PGSQL.${port}`) : net.connect(port, host)
  // A lost cancel request is not reported, because the read timeout ends the connection instead.
  socket.on('error', () => undefined)
  socket.setTimeout(socketTimeoutMs, () => socket.destroy())
  // Written and left open: the server hangs up when it has passed the request on. If we hang up first, PgBouncer 1.18
  // ends itself ("bad client state", seen November 2026), and with it every connection.
  const request = toPacket([80877102, processID, secretKey])
  if (client.ssl === false) socket.write(request)
  else askForTls(client, socket, (secure) => void secure.write(request))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await Promise.race([closed, delay(cancelGraceMs, undefined, { ref: false })])
}

/** The length of the packet, including itself, and these numbers. */
function toPacket(numbers: readonly number[]): Buffer {
  const packet = Buffer.alloc(4 * (numbers.length + 1))
  packet.writeInt32BE(packet.length, 0)
  numbers.forEach((number, index) => packet.writeInt32BE(number, 4 * (index + 1)))
  return packet
}

/** If the server refuses TLS, nothing is sent: the statement ends with its connection. */
function askForTls(client: Cancellable, socket: net.Socket, use: (secure: tls.TLSSocket) => void): void {
  if (client.sslNegotiation === 'direct') return startTls(client, socket, use)
  socket.write(toPacket([80877103]))
  socket.once('data', (answer) => {
    // Exactly one letter: bytes behind it would come from an attacker in between (CVE-2021-23222).
    if (answer.toString() === 'S') startTls(client, socket, use)
    else socket.destroy()
  })
}

/** Does what node-postgres does for the connection itself (lib/connection.js, upgradeToSSL). */
function startTls(
  { host, ssl, sslNegotiation }: Cancellable,
  socket: net.Socket,
  use: (secure: tls.TLSSocket) => void,
): void {
  const given = typeof ssl === 'object' ? ssl : {}
  const secure = tls.connect({
    socket,
    host,
    ...given,
    // node-postgres hides the key from listings, so it is not copied with the others.
    ...(given.key === undefined ? {} : { key: given.key }),
    ...(sslNegotiation === 'direct' ? { ALPNProtocols: ['postgresql'] } : {}),
    // RFC 6066 §3: an address is not a server name.
    ...(net.isIP(host) === 0 ? { servername: host } : {}),
  })
  secure.on('error', () => socket.destroy())
  secure.once('secureConnect', () => use(secure))
}
