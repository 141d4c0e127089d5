/** CORS: who may read which answers from a browser. */
import assert from 'node:assert/strict'
import { describe, it, before, after } from 'node:test'
import { startTestServer, type TestServer } from '../test-server.ts'

let server: TestServer
const closing: (() => unknown)[] = []
before(async () => (server = await startTestServer({ after: (work: () => unknown) => void closing.push(work) })))
after(async () => {
  for (const work of closing) await work()
})

const widget = 'https://widget.example'
const other = 'https://elsewhere.example'

function preflight(path: string, origin: string, method = 'GET'): Promise<Response> {
  const headers = { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization' }
  return fetch(`${server.url}${path}`, { method: 'OPTIONS', headers })
}

const exposed = 'Link, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id'

describe('CORS', () => {
  for (const { path, origin, allowed } of [
    { path: '/accounts/v2/rows', origin: other, allowed: '*' },
    { path: '/platform/v1/things', origin: other, allowed: '*' },
    { path: '/openapi/v2.json', origin: other, allowed: '*' },
    { path: '/connect/v1/session', origin: widget, allowed: widget },
    { path: '/connect/v1/session', origin: other, allowed: null },
    { path: '/sandbox/clock', origin: widget, allowed: null },
    { path: '/readyz', origin: other, allowed: null },
  ]) {
    it(`${path} for ${origin}: ${allowed ?? 'nothing'}`, async () => {
      const asked = await preflight(path, origin)
      assert.equal(asked.status, 204)
      assert.equal(asked.headers.get('access-control-allow-origin'), allowed)
      assert.equal(asked.headers.get('access-control-allow-credentials'), null)
      if (allowed !== null)
        assert.equal(asked.headers.get('access-control-allow-headers'), 'Authorization, Content-Type')

      const answer = await fetch(`${server.url}${path}`, { headers: { origin, authorization: 'Bearer ann' } })
      assert.equal(answer.headers.get('access-control-allow-origin'), allowed)
      if (allowed !== null) assert.equal(answer.headers.get('access-control-expose-headers'), exposed)
    })
  }

  it('a preflight is never a 405, whatever method it asks for', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'BREW']) {
      for (const path of ['/accounts/v2/rows', '/connect/v1/session', '/sandbox/clock']) {
        assert.equal((await preflight(path, other, method)).status, 204)
      }
    }
  })

  it('pages can read refusals too: 401, 404, 405, 415, 500', async () => {
    const send = (path: string, init: RequestInit = {}): Promise<Response> => {
      const headers = { origin: other, ...(init.headers as Record<string, string> | undefined) }
      return fetch(`${server.url}${path}`, { ...init, headers })
    }
    const answers = await Promise.all([
      send('/accounts/v2/rows'),
      send('/accounts/v2/nothing'),
      send('/accounts/v2/rows', { method: 'PUT' }),
      send('/platform/v1/things', { method: 'POST', body: 'x', headers: { authorization: 'Bearer ann' } }),
      send('/accounts/v2/fail/bug'),
      // The framework refuses these two before any hook runs.
      send(`/accounts/v2/things/${'x'.repeat(3_000)}`),
      send('/accounts/v2/things/%ff'),
    ])
    assert.deepEqual(
      answers.map(({ status }) => status),
      [401, 404, 405, 415, 500, 404, 400],
    )
    for (const answer of answers) assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    const asked = await preflight('/accounts/v2/nothing', other, 'DELETE')
    assert.deepEqual([asked.status, asked.headers.get('access-control-allow-origin')], [204, '*'])
    assert.equal((await send('/nothing')).headers.get('access-control-allow-origin'), null)
  })
})
