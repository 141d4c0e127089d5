/** Requests to an API, as many as it can take or as many as it is given, and what came back in windows of time. */
import { Agent, get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export interface Traffic {
  url: string
  paths: readonly string[]
  /** Called for each request, because tokens expire. */
  token(): string
}

export interface Answer {
  /** 0 when there was none. */
  status: number
  retryAfter: boolean
  ms: number
}

/** Enough to keep two processors busy, few enough that none waits for long. */
const atOnce = 24
const patienceMs = 30_000
/**
 * Open requests at a steady rate. A machine that becomes busy with other things answers fewer requests than were
 * measured; without a limit they would pile up, and each would wait for a connection until it is refused.
 */
const openMax = 100

/** How many requests a second are answered when the next follows each answer at once. */
export async function measurePeak(traffic: Traffic, forMs: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const until = performance.now() + forMs
  let answered = 0
  async function ask(): Promise<void> {
    while (performance.now() < until) {
      const { status } = await send(agent, traffic)
      if (status !== 200) throw new Error(`answered ${status} before anything was hurt`)
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, ask))
  agent.destroy()
  return answered / (forMs / 1_000)
}

/**
 * Requests at a steady rate, whether or not the ones before are answered, so that an API that stalls still gets
 * requests. A request's time counts from the moment it was due. Resolves to how many were not sent, because too many
 * were open.
 */
export async function sendSteadily(
  traffic: Traffic,
  rate: number,
  forMs: number,
  onAnswer: (answer: Answer, atMs: number) => void,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: openMax })
  const began = performance.now()
  const open = new Set<Promise<void>>()
  let heldBack = 0
  for (let sent = 0; performance.now() - began < forMs;) {
    for (const due = ((performance.now() - began) * rate) / 1_000; sent < due; sent += 1) {
      if (open.size >= openMax) {
        heldBack += 1
        continue
      }
      const dueMs = began + (sent * 1_000) / rate
      const answering = send(agent, traffic, dueMs).then((answer) => {
        open.delete(answering)
        onAnswer(answer, dueMs - began)
      })
      open.add(answering)
    }
    await delay(2)
  }
  await Promise.all(open)
  agent.destroy()
  return heldBack
}

let turn = 0

function send(agent: Agent, { url, paths, token }: Traffic, dueMs = performance.now()): Promise<Answer> {
  const path = paths[turn++ % paths.length] ?? '/'
  return new Promise((resolve) => {
    const end = (status: number, retryAfter: boolean): void =>
      resolve({ status, retryAfter, ms: performance.now() - dueMs })
    const request = get(`${url}${path}`, { agent, headers: { authorization: `Bearer ${token()}` } }, (response) => {
      response.on('end', () => end(response.statusCode ?? 0, response.headers['retry-after'] !== undefined))
      response.on('error', () => end(0, false))
      response.resume()
    })
    request.setTimeout(patienceMs, () => request.destroy())
    request.on('error', () => end(0, false))
  })
}
