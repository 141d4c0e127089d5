/**
 * Following a session: lines of JSON (application/x-ndjson) over one answer. The first line is sent at once, the next
 * ones whenever something has changed. The server polls its own tables, which works through every pooler and on every
 * node. It polls less often when a query takes long or nothing can be connected yet, and ever less often while the user
 * has not signed in: every visitor can have such streams, and the page that follows one signs in itself.
 */
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { Refusal } from '@assay/core'
import { takeSlots, toNetwork, type Slots } from '../../limits/index.ts'

const lookEveryMs = 300
const lookIdleMs = 1_000
/** At most this share of the time is spent on polling. */
const lookShare = 10
const pingEveryMs = 15_000
/** Proxies cut responses that last too long; the client then asks again. */
const lifeMs = 120_000
/** A page has one, and a reload may overlap with it. */
const perSessionMax = 4
/**
 * Every visitor can begin sessions, and a stream costs statements as long as it lives. This is far more than the people
 * behind one address need at once; the widget asks again when it is refused.
 */
const perNetworkMax = 100

export interface Streams {
  /** Aborted when the process stops, because a stream must not delay that. */
  stopping: AbortSignal
  /** One slot for each stream of a session and of a network. */
  slots: Slots
}

export function createStreams(stopping: AbortSignal, slots: Slots): Streams {
  return { stopping, slots }
}

interface Followed {
  step: string
}

export async function followSession(
  { stopping, slots }: Streams,
  { sessionId, address }: { sessionId: string; address: string },
  read: (sessionId: string) => Promise<Followed>,
): Promise<Readable> {
  const wanted = [
    { key: `session ${sessionId}`, max: perSessionMax, what: 'A session' },
    { key: `network ${toNetwork(address)}`, max: perNetworkMax, what: 'Sessions of one address' },
  ]
  const place = await takeSlots(slots, wanted)
  if ('full' in place) {
    const { what, max } = place.full
    throw new Refusal('rate_limited', `${what} can be followed ${max} times at once.`, { retryAfterSeconds: 1 })
  }
  const stream = toStream((left) => follow(AbortSignal.any([stopping, left]), () => read(sessionId)))
  stream.once('close', place.leave)
  return stream
}

/**
 * `Readable.from` would close when the next line is due, up to a ping later: until then the stream of a page that has
 * left keeps its slots.
 */
function toStream(startLines: (left: AbortSignal) => AsyncGenerator<string>): Readable {
  const left = new AbortController()
  const lines = startLines(left.signal)
  return new Readable({
    read() {
      lines.next().then(
        ({ value, done }) => this.push(done === true ? null : value),
        (error: unknown) => this.destroy(error instanceof Error ? error : new Error('a session could not be followed')),
      )
    },
    destroy(error, closed) {
      left.abort()
      closed(error)
    },
  })
}

async function* follow(ending: AbortSignal, read: () => Promise<Followed>): AsyncGenerator<string> {
  const openedAt = performance.now()
  const endsAt = openedAt + lifeMs
  let last = ''
  let pingAt = performance.now() + pingEveryMs
  while (!ending.aborted && performance.now() < endsAt) {
    const began = performance.now()
    const session = await read().catch(endIfLapsed)
    if (session === undefined) return
    const line = JSON.stringify({ type: 'session', session })
    if (isNews(line, last)) yield `${line}\n`
    else if (performance.now() >= pingAt) yield '{"type":"ping"}\n'
    if (isNews(line, last) || performance.now() >= pingAt) pingAt = performance.now() + pingEveryMs
    last = line
    if (session.step === 'ended') return
    const restMs = toRestMs(session, performance.now() - openedAt)
    const tookMs = performance.now() - began
    await wait(Math.max(restMs, tookMs * lookShare), undefined, { signal: ending }).catch(() => undefined)
  }
}

/** How long to wait before the next look at a session that has been followed for `ageMs`. */
export function toRestMs({ step }: Followed, ageMs: number): number {
  if (step === 'connect') return lookEveryMs
  return step === 'sign_in' ? Math.min(Math.max(lookIdleMs, ageMs / 2), pingEveryMs) : lookIdleMs
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
