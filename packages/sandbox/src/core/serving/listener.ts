/**
 * One HTTP listener on loopback. It reads a request whole, asks for an answer and writes it, or leaves it half-written
 * when the answer says so. The sandbox's keys open nothing real, but it can move clocks. So it never listens beyond
 * this machine, and answers only to a loopback name, so that web pages cannot reach it through DNS rebinding.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface WireRequest {
  method: string
  path: string
  query: URLSearchParams
  /** The query as it was sent, without the question mark: signatures are over these bytes too. */
  rawQuery: string
  /** The caller's address: some providers count calls by it. */
  address: string
  headers: IncomingHttpHeaders
  /** The body as it was sent: signatures cover these bytes. */
  body: string
  /** Aborted when the caller has gone or the sandbox is closing. */
  signal: AbortSignal
}

export interface WireAnswer {
  status: number
  headers?: Readonly<Record<string, string>>
  body: string
  /** Send half of the body and drop the connection. */
  cut?: true
  /** The word for the journal, when this is an error. */
  error?: string
}

export interface Listener {
  url: string
  close(): Promise<void>
}

const bodyBytesMax = 1_048_576
const loopbackHosts = new Set(['127.0.0.1', 'localhost', '::1'])
const loopbackNames = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i

export async function listen(
  host: string,
  port: number,
  answer: (request: WireRequest) => Promise<WireAnswer>,
  onBug: (error: unknown) => void,
): Promise<Listener> {
  if (!loopbackHosts.has(host)) throw new Error(`the sandbox listens on loopback only, not on ${host}`)
  const closing = new AbortController()
  const server = createServer((message, response) => {
    serve(message, response, closing.signal, answer).catch((error: unknown) => {
      onBug(error)
      if (response.headersSent) response.destroy()
      else send(response, { status: 500, body: '' })
    })
  })
  // Node's server would close an idle connection after some seconds. A process that was busy for longer, with the
  // caller in it, may send a request on that connection at the same moment, and the request fails with ECONNRESET.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host === '::1' ? '[::1]' : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function serve(
  message: IncomingMessage,
  response: ServerResponse,
  closing: AbortSignal,
  answer: (request: WireRequest) => Promise<WireAnswer>,
): Promise<void> {
  if (!loopbackNames.test(message.headers.host ?? '')) return send(response, { status: 421, body: '' })
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const body = await readBody(message)
  if (body === undefined) return send(response, { status: 413, body: '' })
  const url = URL.parse(message.url ?? '/', 'http://loopback')
  if (url === null || !isWellEscaped(url.pathname)) return send(response, { status: 400, body: '' })
  const request: WireRequest = {
    method: message.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    rawQuery: (message.url ?? '').split('?').slice(1).join('?'),
    address: message.socket.remoteAddress ?? '',
    headers: message.headers,
    body,
    signal: AbortSignal.any([closing, gone.signal]),
  }
  send(response, await answer(request))
}

/** Routes decode a part of the path, which fails when its bytes are not UTF-8 (%ff). */
function isWellEscaped(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Undefined when it is too large, or the caller disconnected early. */
async function readBody(message: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > bodyBytesMax) return undefined
      chunks.push(chunk)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(chunks).toString('utf8')
}

function send(response: ServerResponse, answer: WireAnswer): void {
  if (response.destroyed) return
  const bytes = Buffer.from(answer.body)
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    ...answer.headers,
    'content-length': bytes.length,
  }
  response.writeHead(answer.status, headers)
  if (answer.cut === undefined) {
    response.end(bytes)
    return
  }
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.socket?.resetAndDestroy())
}
