/**
 * Following a session: lines of JSON (application/x-ndjson) over one answer. A line at once, then whenever something
 * changed. The server looks at its own tables; that works through every pooler and on every node, and it looks less
 * often when a look takes long or nothing can be connected yet.
 */
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { Refusal } from '@assay/core'

const lookEveryMs = 300
const lookIdleMs = 1_000
/** At most this part of the time goes into looking. */
const lookShare = 10
const pingEveryMs = 15_000
/** Proxies cut what lasts too long; the client asks again. */
const lifeMs = 120_000
/** A page has one, and a reload may overlap with it. */
const perSessionMax = 4

export interface Streams {
  /** Aborted when the process stops: a stream must not hold that up. */
  stopping: AbortSignal
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
  sessionId: string,
  read: (sessionId: string) => Promise<Followed>,
): Readable {
  const open = streams.open.get(sessionId) ?? 0
  if (open >= perSessionMax) {
    throw new Refusal('rate_limited', `A session can be followed ${perSessionMax} times at once.`, {
      retryAfterSeconds: 1,
    })
  }
  streams.open.set(sessionId, open + 1)
  const stream = Readable.from(follow(streams.stopping, () => read(sessionId)))
  stream.once('close', () => {
    const left = (streams.open.get(sessionId) ?? 1) - 1
    if (left === 0) streams.open.delete(sessionId)
    else streams.open.set(sessionId, left)
  })
  return stream
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
