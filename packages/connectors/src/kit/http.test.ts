import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { UnderlyingSource } from 'node:stream/web'
import { describe, it, mock } from 'node:test'
import { NoAnswer, SourceError } from '@assay/core'
import { fetchText } from './http.ts'

const io = { fetch: globalThis.fetch, now: () => Date.parse('2026-03-02T10:00:00Z') }

/** One request against a server that answers every request in one way. */
async function answerOf(
  listener: RequestListener,
  faultByStatus = {},
  omittedMembers?: readonly string[],
): Promise<string> {
  const server = createServer({ keepAliveTimeout: 0 }, listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  try {
    return await fetchText(io, `http://127.0.0.1:${port}/path?token=hunter2`, {
      faultByStatus,
      ...(omittedMembers === undefined ? {} : { omittedMembers }),
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

function status(code: number, headers: Record<string, string> = {}, body = '{"error":"no"}'): RequestListener {
  return (_request, response) => response.writeHead(code, headers).end(body)
}

function fails(fault: string, retryAfterMs?: number): (error: SourceError) => boolean {
  return (error) => {
    assert.deepEqual([error.fault, error.retryAfterMs], [fault, retryAfterMs])
    assert.doesNotMatch(error.message, /hunter2|path/)
    return true
  }
}

describe('one request', () => {
  it('200 returns the text', async () => {
    assert.equal(await answerOf((_request, response) => response.end('{"ä":1}')), '{"ä":1}')
  })

  it('sends our user agent', async () => {
    const agent = await answerOf((request, response) => response.end(request.headers['user-agent']))
    assert.equal(agent, 'assay/0.1')
  })

  it('429 and 418 are rate_limited, for as long as Retry-After says in seconds or as a date', async () => {
    await assert.rejects(answerOf(status(429)), fails('rate_limited'))
    await assert.rejects(answerOf(status(429, { 'retry-after': '7' })), fails('rate_limited', 7_000))
    await assert.rejects(answerOf(status(418, { 'retry-after': '259200' })), fails('rate_limited', 259_200_000))
    const date = { 'retry-after': 'Mon, 02 Mar 2026 10:00:30 GMT' }
    await assert.rejects(answerOf(status(429, date)), fails('rate_limited', 30_000))
    await assert.rejects(answerOf(status(429, { 'retry-after': 'soon' })), fails('rate_limited'))
  })

  it('a Retry-After of more than three days is treated as a mistake', async () => {
    const threeDaysMs = 259_200_000
    for (const header of ['999999999', 'Fri, 01 Jan 2100 00:00:00 GMT'])
      await assert.rejects(answerOf(status(429, { 'retry-after': header })), fails('rate_limited', threeDaysMs))
  })

  it('a server error, and a page that a gateway shows, is silence', async () => {
    for (const code of [408, 500, 502, 520]) await assert.rejects(answerOf(status(code)), NoAnswer)
    for (const code of [400, 403, 404]) await assert.rejects(answerOf(status(code, {}, ' <!doctype html>')), NoAnswer)
    await assert.rejects(answerOf(status(503, { 'retry-after': '60' })), fails('venue_down', 60_000))
  })

  it('a page that a gateway shows is silence whatever the status means, and may limit us: it knows no keys', async () => {
    const page = '<!DOCTYPE html><title>Just a moment...</title>'
    const faults = { 401: 'invalid_credentials', 403: 'missing_permission', 404: 'data_hole' }
    for (const code of [401, 403, 404]) await assert.rejects(answerOf(status(code, {}, page), faults), NoAnswer)
    await assert.rejects(answerOf(status(403), faults), fails('missing_permission'))
    await assert.rejects(answerOf(status(403, {}, page), { 403: 'rate_limited' }), fails('rate_limited'))
    for (const code of [429, 418]) await assert.rejects(answerOf(status(code, {}, page), faults), fails('rate_limited'))
  })

  it('every other status is an answer that we cannot use, unless the provider means something by it', async () => {
    for (const code of [201, 204, 400, 403, 404, 409, 451]) {
      await assert.rejects(answerOf(status(code)), fails('unreadable_answer'))
    }
    await assert.rejects(answerOf(status(404), { 404: 'data_hole' }), fails('data_hole'))
  })

  it('418 is about our address; 429 does not say whom the provider counts', async () => {
    const isOfAddress = async (code: number): Promise<boolean> => {
      const error: unknown = await answerOf(status(code)).catch((thrown: unknown) => thrown)
      assert.ok(error instanceof SourceError)
      return error.isOfAddress
    }
    assert.deepEqual([await isOfAddress(418), await isOfAddress(429)], [true, false])
  })

  it('a redirect is not followed: it would take the key to another host', async () => {
    await assert.rejects(answerOf(status(302, { location: 'http://127.0.0.1:1/' })), fails('venue_down'))
  })

  it('an answer cut off in the middle is venue_down', async () => {
    const cut: RequestListener = (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"result":', () => response.destroy())
    }
    await assert.rejects(answerOf(cut), fails('venue_down'))
  })

  it('an endless answer is aborted, and counts as an answer: it concerns one account and not the provider', async () => {
    const chunk = Buffer.alloc(1024 * 1024, ' ')
    const endless: RequestListener = (_request, response) => {
      const write = () => void (response.writable && response.write(chunk, write))
      write()
    }
    await assert.rejects(answerOf(endless), fails('unreadable_answer'))
  })

  it('an answer in very many parts is refused: each takes time, however short it is', async () => {
    const inParts = (partBytes: number, parts: number): typeof fetch => {
      const part = new TextEncoder().encode(' '.repeat(partBytes))
      return async () => new Response(ReadableStream.from(Array.from({ length: parts }, () => part)))
    }
    const ask = (send: typeof fetch) => fetchText({ ...io, fetch: send }, 'https://example.test/path')
    await assert.rejects(ask(inParts(1, 11_000)), fails('unreadable_answer'))
    assert.equal((await ask(inParts(256, 12_000))).length, 3_072_000)
  })

  it('a call with short answers sets a lower limit of its own', async () => {
    const long: typeof fetch = async () => new Response('1'.repeat(101))
    const ask = (bytesMax: number) => fetchText({ ...io, fetch: long }, 'https://example.test/path', { bytesMax })
    await assert.rejects(ask(100), fails('unreadable_answer'))
    assert.equal((await ask(101)).length, 101)
  })

  it('an answer with more values than memory has room for is refused before it is parsed', async () => {
    const dense = {
      'tables inside each other': `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
      'nested lists': '['.repeat(2_000_000) + ']'.repeat(2_000_000),
      'empty objects': `[${Array.from({ length: 1_000_000 }, () => '{}').join(',')}]`,
      numbers: `[${Array.from({ length: 2_000_000 }, () => '1').join(',')}]`,
    }
    for (const [name, text] of Object.entries(dense)) {
      await assert.rejects(
        answerOf((_request, response) => response.end(text)),
        fails('unreadable_answer'),
        name,
      )
    }
    const long = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id, text: 'x'.repeat(300) })))
    assert.equal(await answerOf((_request, response) => response.end(long)), long)
  })

  it('a list or table that would stop the worker for seconds is refused; commas in texts are not members', async () => {
    const row = (_: unknown, at: number): string => `"${at}":{}`
    const dense = {
      'a list': `{"rows":[${Array.from({ length: 50_001 }, () => '{}').join(',')}]}`,
      'a table': `{"rows":{${Array.from({ length: 50_001 }, row).join(',')}}}`,
    }
    for (const [name, text] of Object.entries(dense)) {
      await assert.rejects(
        answerOf((_request, response) => response.end(text)),
        fails('unreadable_answer'),
        name,
      )
    }
    const words = JSON.stringify(['"\\'.repeat(3), ','.repeat(100_000), '\\"'])
    assert.equal(await answerOf((_request, response) => response.end(words)), words)
    const lists = JSON.stringify(Array.from({ length: 10 }, () => Array.from({ length: 40_000 }, () => 1)))
    assert.equal(await answerOf((_request, response) => response.end(lists)), lists)
  })

  it('a short answer may not nest more deeply than it can be written again, either', async () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    assert.equal(await answerOf((_request, response) => response.end(nested(1_000))), nested(1_000))
    await assert.rejects(
      answerOf((_request, response) => response.end(nested(7_000))),
      fails('unreadable_answer'),
    )
  })

  it('members that are left out may be long, and the rest has a limit', async () => {
    const transaction = (witness: string): RequestListener => {
      return (_request, response) => {
        response.write('[')
        for (let count = 0; count < 50; count += 1) response.write(`{"fee":${count},"witness":["${witness}"]},`)
        response.end('{}]')
      }
    }
    const long = transaction('ab'.repeat(1024 * 1024))
    const text = await answerOf(long, {}, ['witness'])
    assert.equal(text, `[${Array.from({ length: 50 }, (_, fee) => `{"fee":${fee},"witness":null},`).join('')}{}]`)
    await assert.rejects(answerOf(long, {}, ['scriptsig']), fails('unreadable_answer'))
  })

  it('an answer of which everything is left out ends too', async () => {
    const chunk = Buffer.alloc(8 * 1024 * 1024, 'a')
    const endless: RequestListener = (_request, response) => {
      const write = (): void => void (response.writable && response.write(chunk, write))
      response.write('{"witness":"', write)
    }
    await assert.rejects(answerOf(endless, {}, ['witness']), fails('unreadable_answer'))
  })

  it('an answer that breaks off after more than the usual length concerns one account and not the provider', async () => {
    const cut: RequestListener = (_request, response) => {
      response.writeHead(200, { 'content-length': '100000000' })
      response.write(`{"witness":"${'a'.repeat(20_000_000)}`, () => response.destroy())
    }
    await assert.rejects(answerOf(cut, {}, ['witness']), fails('unreadable_answer'))
  })

  it('a long answer has the time of a request for every 16 MiB, and no more', async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    t.after(() => mock.timers.reset())
    /** Sends a part whenever 15 seconds have passed. */
    const slow = (parts: readonly string[]): typeof fetch => {
      return async (_url, init) => {
        const left = [...parts]
        const source: UnderlyingSource<Uint8Array> = {
          start: (stream) => init?.signal?.addEventListener('abort', () => stream.error(init.signal?.reason)),
          pull(stream) {
            mock.timers.tick(15_000)
            if (init?.signal?.aborted === true) return
            stream.enqueue(Buffer.from(left.shift() ?? ''))
            if (left.length === 0) stream.close()
          },
        }
        return new Response(new ReadableStream<Uint8Array>(source, { highWaterMark: 0 }))
      }
    }
    const ask = (parts: readonly string[]): Promise<string> =>
      fetchText({ ...io, fetch: slow(parts) }, 'https://example.test/path', { omittedMembers: ['witness'] })
    const part = 'a'.repeat(17 * 1024 * 1024)
    assert.equal(await ask([`{"witness":"${part}`, part, '"}']), '{"witness":null}')
    await assert.rejects(ask([`{"witness":"${part}`, 'a', 'a', '"}']), fails('unreadable_answer'))
    await assert.rejects(ask(['{"witness":"', 'a', '"}']), fails('venue_down'))
  })

  it('a refused connection is venue_down', async () => {
    await assert.rejects(fetchText(io, 'http://127.0.0.1:1/path'), fails('venue_down'))
  })

  it('a request that lasts too long is aborted and venue_down', async () => {
    const stalled: typeof fetch = async (_url, init) => {
      assert.ok(init?.signal instanceof AbortSignal)
      throw new DOMException('hunter2', 'TimeoutError')
    }
    await assert.rejects(fetchText({ ...io, fetch: stalled }, 'https://example.test/path'), fails('venue_down'))
  })
})
