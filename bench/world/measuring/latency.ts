/** Sends one request after the other over one connection: how long a single reader waits. */
import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { median } from '../../measure.ts'
import type { LoadRequest } from './load.ts'

/** A pause between requests, so that the garbage collection of one does not slow down the next. */
const pauseMs = 1

/** The median of a run, in milliseconds, to the last byte. */
export async function measureLatency(url: string, request: LoadRequest, seconds: number): Promise<number> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const found: number[] = []
  const end = performance.now() + seconds * 1_000
  try {
    do {
      const began = performance.now()
      await send(agent, `${url}${request.path}`, request)
      found.push(performance.now() - began)
      await delay(pauseMs)
    } while (performance.now() < end)
  } finally {
    agent.destroy()
  }
  return median(found)
}

function send(agent: http.Agent, url: string, { method, headers }: LoadRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, method, headers: { ...headers } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`))
      response.resume().once('end', resolve).once('error', reject)
    })
    request.once('error', reject).end()
  })
}
