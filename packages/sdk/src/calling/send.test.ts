import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { ConnectionError } from '../errors.ts'
import { retryAfterSeconds, send, sendForStream, type HttpRequest, type SendOptions } from './send.ts'

type Step = Response | Error

/** A fetch that plays these answers, one for each call. */
function play(steps: Step[]): SendOptions & { calls: number } {
  const options = {
    calls: 0,
    retriesMax: 3,
    waitMaxMs: 2_000,
    fetch: async (_: unknown, init?: RequestInit): Promise<Response> => {
      init?.signal?.throwIfAborted()
      const step = steps[options.calls]
      options.calls += 1
      if (step === undefined || step instanceof Error) throw step ?? new Error('asked too often')
      return step
    },
  }
  return options
}

const answer = (status: number, headers: Record<string, string> = {}): Response =>
  new Response('x', { status, headers })
const get: HttpRequest = { method: 'GET', url: 'http://x', headers: {} }
const post: HttpRequest = { ...get, method: 'POST' }

describe('a call', () => {
  it('that changes nothing is retried after a lost connection and after 5xx', async () => {
    const options = play([new TypeError('fetch failed'), answer(502), answer(200)])
    assert.equal((await send(options, get)).status, 200)
    assert.equal(options.calls, 3)
  })

  it('that changes something is not retried, so that it cannot happen twice', async () => {
    const lost = play([new TypeError('fetch failed')])
    await assert.rejects(send(lost, post), ConnectionError)
    assert.equal((await send(play([answer(503)]), post)).status, 503)
  })

  it('that the service takes for the same one for some time is retried within it, and not later', async () => {
    const repeatable = { ...post, repeatableMs: 8_000 }
    const options = play([answer(429), new TypeError('fetch failed'), answer(502), answer(200)])
    assert.equal((await send(options, repeatable)).status, 200)
    const late = { ...play([new TypeError('fetch failed'), answer(503, { 'retry-after': '9' })]), waitMaxMs: 30_000 }
    assert.equal((await send(late, repeatable)).status, 503)
  })

  it('that was refused with 429 is always retried, after the requested wait', async () => {
    const options = play([answer(429, { 'retry-after': '1' }), answer(200)])
    const began = performance.now()
    assert.equal((await send(options, post)).status, 200)
    assert.ok(performance.now() - began >= 950)
  })

  it('returns a Retry-After beyond its bound at once', async () => {
    const options = play([answer(429, { 'retry-after': '3' })])
    assert.equal((await send(options, get)).status, 429)
    assert.equal(options.calls, 1)
  })

  it('ends after its attempts', async () => {
    const options = { ...play([]), retriesMax: 0 }
    await assert.rejects(send(options, get), ConnectionError)
    const four = play([answer(500), answer(500), answer(500), answer(500)])
    four.waitMaxMs = 5_000
    assert.equal((await send(four, get)).status, 500)
    assert.equal(four.calls, 4)
  })

  it('that is aborted rejects with the reason, even while it waits', async () => {
    const reason = new Error('changed my mind')
    await assert.rejects(send(play([]), { ...get, signal: AbortSignal.abort(reason) }), reason)
    const abort = new AbortController()
    const waiting = send(play([answer(429, { 'retry-after': '2' })]), { ...get, signal: abort.signal })
    setImmediate(() => abort.abort(reason))
    await assert.rejects(waiting, reason)
  })
})

it('a redirect is not followed, because the call carries a token or a secret', async (t) => {
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    seen.push(request.url)
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/oauth/token`
  const options = { fetch: globalThis.fetch, retriesMax: 0, waitMaxMs: 0 }
  assert.equal((await send(options, { ...post, url, body: 'client_secret=s' })).status, 307)
  assert.deepEqual(seen, ['/oauth/token'])
})

describe('a call for a stream', () => {
  it('is retried until the headers arrive, and gives the body unread', async () => {
    const options = play([new TypeError('fetch failed'), answer(503), answer(200)])
    const { status, text, body } = await sendForStream(options, get)
    assert.deepEqual([status, text, options.calls], [200, '', 3])
    assert.ok(body !== undefined)
    assert.equal(await new Response(body).text(), 'x')
  })

  it('gives a refusal as text', async () => {
    const { status, text, body } = await sendForStream(play([answer(403)]), get)
    assert.deepEqual([status, text, body], [403, 'x', undefined])
  })
})

it('Retry-After is seconds or a date (RFC 9110 §10.2.3)', () => {
  const of = (value: string): number | undefined => retryAfterSeconds(new Headers({ 'retry-after': value }))
  assert.equal(of('17'), 17)
  assert.equal(of('Wed, 21 Oct 2015 07:28:00 GMT'), 0)
  assert.equal(of('soon'), undefined)
  assert.equal(retryAfterSeconds(new Headers()), undefined)
})
