/**
 * A proxy in front of PostgreSQL that counts the statements a client sends: Query and Execute messages of the protocol
 * (https://www.postgresql.org/docs/current/protocol-message-formats.html). It counts everything that a process sends,
 * including BEGIN and COMMIT, however they are sent.
 */
import { once } from 'node:events'
import net from 'node:net'
import path from 'node:path'

export interface Wire {
  /** The database of the url it was started with, through the proxy. */
  url: string
  /** Statements so far. */
  count(): number
  stop(): Promise<void>
}

const headerBytes = 5
const query = 'Q'.charCodeAt(0)
const execute = 'E'.charCodeAt(0)

export async function startWire(databaseUrl: string): Promise<Wire> {
  let statements = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer((client) => {
    const upstream = net.connect(toAddress(databaseUrl))
    const countIn = createCounter(() => (statements += 1))
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      from.once('close', () => (sockets.delete(from), to.destroy())).on('error', () => to.destroy())
    }
    client.on('data', (chunk) => (countIn(chunk), upstream.write(chunk)))
    upstream.on('data', (chunk) => client.write(chunk))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`
  return {
    url: url.href,
    count: () => statements,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function toAddress(databaseUrl: string): net.NetConnectOpts {
  const { hostname, port } = new URL(databaseUrl)
  const host = decodeURIComponent(hostname)
  const number = port === '' ? 5432 : Number(port)
  return host.startsWith('/') ? { path: path.join(host, `.s.PGSQL.${number}`) } : { host, port: number }
}

/** Follows the messages of one client. The first one, the startup, has a length and no type. */
function createCounter(onStatement: () => void): (chunk: Buffer) => void {
  let hasStarted = false
  let rest = Buffer.alloc(0)
  let skip = 0
  return (chunk) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      const skipped = Math.min(skip, bytes.length)
      bytes = bytes.subarray(skipped)
      skip -= skipped
      if (skip > 0 || bytes.length < headerBytes) break
      if (hasStarted) {
        const type = bytes[0]
        if (type === query || type === execute) onStatement()
        skip = 1 + bytes.readUInt32BE(1)
      } else {
        hasStarted = true
        skip = bytes.readUInt32BE(0)
      }
    }
    rest = Buffer.from(bytes)
  }
}
