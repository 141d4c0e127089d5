/**
 * The observers of an installation whose processes are killed: an application that reads all the time, and a receiver
 * of webhooks.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface Reader {
  /** What it saw that it should not have seen. */
  stop(): Promise<string[]>
}

interface Page {
  page: { next: string }
  data: { id: string }[]
}

const pausedMs = 50

/** Walks through the transactions again and again. An answer is a whole page or 503; no walk shows anything twice. */
export function startReader(url: string, token: string): Reader {
  const wrong = new Set<string>()
  const stopping = new AbortController()

  async function walk(): Promise<void> {
    const seen = new Set<string>()
    for (let next = '/accounts/v2/transactions?limit=100'; next !== '' && !stopping.signal.aborted;) {
      const response = await fetch(`${url}${next}`, { headers: { authorization: `Bearer ${token}` } })
      if (response.status === 503 && response.headers.has('retry-after')) return void (await response.body?.cancel())
      const text = await response.text()
      if (response.status !== 200) return void wrong.add(`a reader was answered ${response.status}: ${text}`)
      const { page, data } = JSON.parse(text) as Page
      for (const { id } of data) {
        if (seen.has(id)) wrong.add(`a reader saw ${id} twice in one walk`)
        seen.add(id)
      }
      next = page.next
    }
  }

  const reading = (async () => {
    while (!stopping.signal.aborted) {
      // From outside, a killed API looks like a socket that dies with its process.
      await walk().catch((error: unknown) => {
        if (!(error instanceof TypeError)) throw error
      })
      await delay(pausedMs)
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await reading
      return [...wrong]
    },
  }
}

export interface Receiver {
  url: string
  forget(): void
  /** The ids of the messages so far. */
  listArrived(): string[]
  /**
   * Asserts that every delivered message arrived at least once, always with the same text, and that each has a row. A
   * read is announced once, and again after a run that broke down: the connection is degraded, and then it recovers.
   */
  judge(messages: readonly { id: string; ended: boolean }[], arrived: readonly string[], breakdowns: number): string[]
  close(): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const received = new Map<string, Set<string>>()
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      const id = String(request.headers['webhook-id'])
      received.set(id, (received.get(id) ?? new Set()).add(body))
      response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    forget: () => received.clear(),
    listArrived: () => [...received.keys()],
    judge(messages, arrived, breakdowns) {
      const known = new Set(messages.map(({ id }) => id))
      const delivered = messages.filter(({ ended }) => ended).map(({ id }) => id)
      const reads = [...received.values()].filter((bodies) => [...bodies].some((body) => body.includes('"read"')))
      return [
        ...delivered.filter((id) => !received.has(id)).map((id) => `webhook ${id} never arrived`),
        ...arrived.filter((id) => !known.has(id)).map((id) => `webhook ${id} tells of nothing`),
        ...[...received].filter(([, bodies]) => bodies.size > 1).map(([id]) => `webhook ${id} had different words`),
        ...(reads.length >= 1 && reads.length <= 1 + breakdowns
          ? []
          : [`a first read was announced ${reads.length} times, and ${breakdowns} runs broke down`]),
      ]
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close').catch(() => undefined)
    },
  }
}
