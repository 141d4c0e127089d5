/**
 * Following a session: lines of JSON (application/x-ndjson) over one answer. A line at once, then whenever something
 * changed. The server looks at its own tables; that works through every pooler and on every node, and it looks less
 * often when a look takes long or nothing can be connected yet.
 */
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { Refusal } from '@assay/core'
import { toNetwork } from '../../limits/index.ts'

const lookEveryMs = 300
const lookIdleMs = 1_000
/** At most this part of the time goes into looking. */
const lookShare = 10
const pingEveryMs = 15_000
/** Proxies cut what lasts too long; the client asks again. */
const lifeMs = 120_000
/** A page has one, and a reload may overlap with it. */
const perSessionMax = 4
/**
 * Anyone can begin sessions, and a stream costs statements as long as it lives. This is far more than the people behind
 * one address need at once; the widget asks again when it is refused.
 */
const perNetworkMax = 100

export interface Streams {
  /** Aborted when the process stops: a stream must not hold that up. */
  stopping: AbortSignal
  /** How many there are of each session and each network. */
  open: Map<string, number>
}

export function createStreams(stopping: AbortSignal): Streams {
  return { stopping, open: new Map() }
}

interface Followed {
  step: string
}

export function followSession(
  streams: Streams,
  { sessionId, address }: { sessionId: string; address: string },
  read: (sessionId: string) => Promise<Followed>,
): Readable {
  const places = [
    { key: `session ${sessionId}`, max: perSessionMax, what: 'A session' },
    { key: `network ${toNetwork(address)}`, max: perNetworkMax, what: 'Sessions of one address' },
  ]
  for (const { key, max, what } of places) {
    if ((streams.open.get(key) ?? 0) < max) continue
    throw new Refusal('rate_limited', `${what} can be followed ${max} times at once.`, { retryAfterSeconds: 1 })
  }
  for (const { key } of places) streams.open.set(key, (streams.open.get(key) ?? 0) + 1)
  const stream = Readable.from(follow(streams.stopping, () => read(sessionId)))
  stream.once('close', () => {
    for (const { key } of places) leavePlace(streams.open, key)
  })
  return stream
}

function leavePlace(open: Map<string, number>, key: string): void {
  const left = (open.get(key) ?? 1) - 1
  if (left === 0) open.delete(key)
  else open.set(key, left)
}

async function* follow(stopping: AbortSignal, read: () => Promise<Followed>): AsyncGenerator<string> {
  const endsAt = performance.now() + lifeMs
  let last = ''
  let pingAt = performance.now() + pingEveryMs
  while (!stopping.aborted && performance.now() < endsAt) {
    const began = performance.now()
    const session = await read().catch(endIfLapsed)
    if (session === undefined) return
    const line = JSON.stringify({ type: 'session', session })
    if (isNews(line, last)) yield `${line}\n`
    else if (performance.now() >= pingAt) yield '{"type":"ping"}\n'
    if (isNews(line, last) || performance.now() >= pingAt) pingAt = performance.now() + pingEveryMs
    last = line
    if (session.step === 'ended') return
    const restMs = session.step === 'connect' ? lookEveryMs : lookIdleMs
    const tookMs = performance.now() - began
    await wait(Math.max(restMs, tookMs * lookShare), undefined, { signal: stopping }).catch(() => undefined)
  }
}

/** The end of a grant that would begin now moves with the clock; that is not a change to show. */
function isNews(line: string, last: string): boolean {
  const plain = (text: string): string => text.replace(/"grant_expires_at":"[^"]*"/, '')
  return plain(line) !== plain(last)
}

/** The session lapsed, or the database is away, while it was followed: the stream ends, and the next call says why. */
function endIfLapsed(error: unknown): undefined {
  if (error instanceof Refusal) return undefined
  throw error
}
