/**
 * Limits on the wire: RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-10), 429 and Retry-After.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createLimits } from '../../limits/index.ts'
import { createAdmission } from './admission.ts'
import { startTestServer, type TestServer } from '../test-server.ts'

const settings = { perToken: 3, perClient: 9, oauthFailures: 9, perAddress: 2, slowAfter: 9 }

async function start(t: TestContext, trustedProxies: string[] = []): Promise<TestServer & { move(ms: number): void }> {
  let now = 0
  const admission = createAdmission(createLimits(settings, () => now))
  const server = await startTestServer(t, { admission, trustedProxies })
  return { ...server, move: (ms) => void (now += ms) }
}

const ann = { authorization: 'Bearer ann' }
const rows = '/accounts/v2/rows'

describe('admission', () => {
  it('every answer states the policy and what remains of it', async (t) => {
    const server = await start(t)
    const first = await server.get(rows, ann)
    assert.equal(first.headers.get('ratelimit-policy'), '"token";q=3;w=60')
    assert.equal(first.headers.get('ratelimit'), '"token";r=2;t=60')
    server.move(12_500)
    const second = await server.get(rows, ann)
    assert.equal(second.headers.get('ratelimit'), '"token";r=1;t=48')
  })

  it('a token over its limit gets a 429 with Retry-After until the window ends; other tokens do not', async (t) => {
    const server = await start(t)
    for (let request = 0; request < 3; request += 1) assert.equal((await server.get(rows, ann)).status, 200)
    const refused = await server.get(rows, ann)
    assert.equal(refused.status, 429)
    assert.equal(refused.headers.get('retry-after'), '60')
    assert.equal(refused.headers.get('ratelimit'), '"token";r=0;t=60')
    const { code, errors } = (await refused.json()) as { code: string; errors: { cause: string }[] }
    assert.deepEqual([code, errors[0]?.cause], ['rate_limited', 'rate_limited'])
    assert.equal((await server.get(rows, { authorization: 'Bearer bob' })).status, 200)
    server.move(60_000)
    assert.equal((await server.get(rows, ann)).status, 200)
  })

  it('calls without a token, or with a wrong one, are counted by address; valid tokens there are not delayed', async (t) => {
    const server = await start(t)
    assert.equal((await server.get('/accounts/v2/open', {})).status, 200)
    assert.equal((await server.get(rows, { authorization: 'Bearer wrong' })).status, 401)
    assert.equal((await server.get(rows, { authorization: 'Bearer wrong' })).status, 429)
    assert.equal((await server.get(rows, {})).status, 429)
    assert.equal((await server.get('/accounts/v2/open', {})).status, 429)
    assert.equal((await server.get(rows, ann)).status, 200)
  })

  it('a token has one window, however the header is written (RFC 9110 §11.1)', async (t) => {
    const server = await start(t)
    const seen: number[] = []
    for (const authorization of ['Bearer ann', 'bearer ann', 'BEARER  ann', 'Bearer   ann']) {
      seen.push((await server.get(rows, { authorization })).status)
    }
    assert.deepEqual(seen, [200, 200, 200, 429])
  })

  it('on a public path a valid token is counted as that token; a wrong one is counted by address and never gets a 401', async (t) => {
    const server = await start(t)
    const open = '/accounts/v2/open'
    for (let request = 0; request < 3; request += 1) {
      const answer = await server.get(open, ann)
      assert.deepEqual([answer.status, answer.headers.get('ratelimit-policy')], [200, '"token";q=3;w=60'])
    }
    assert.equal((await server.get(open, ann)).status, 429)
    const wrong = await server.get(open, { authorization: 'Bearer wrong' })
    assert.deepEqual([wrong.status, wrong.headers.get('ratelimit-policy')], [200, '"address";q=2;w=60'])
  })

  it('a token without the scope is counted too', async (t) => {
    const server = await start(t)
    const poor = { authorization: 'Bearer ann:transactions:read' }
    const seen: number[] = []
    for (let request = 0; request < 4; request += 1) seen.push((await server.get(rows, poor)).status)
    assert.deepEqual(seen, [403, 403, 403, 429])
  })

  it('X-Forwarded-For without a configured proxy is logged once', async (t) => {
    const warned = (lines: readonly string[]): string[] =>
      lines.filter((line) => line.includes('ASSAY_TRUSTED_PROXIES'))
    const server = await start(t)
    await server.get('/accounts/v2/open', {})
    assert.deepEqual(warned(server.lines), [])
    for (let request = 0; request < 3; request += 1) {
      await server.get('/accounts/v2/open', { 'x-forwarded-for': '192.0.2.1' })
    }
    assert.equal(warned(server.lines).length, 1)
    assert.doesNotMatch(server.lines.join(''), /192\.0\.2\.1/)
    const configured = await start(t, ['127.0.0.1'])
    await configured.get('/accounts/v2/open', { 'x-forwarded-for': '192.0.2.1' })
    assert.deepEqual(warned(configured.lines), [])
  })

  it('X-Forwarded-For is believed only from configured proxies', async (t) => {
    const open = async (server: TestServer, address: string): Promise<number> =>
      (await server.get('/accounts/v2/open', { 'x-forwarded-for': address })).status
    const direct = await start(t)
    assert.deepEqual(
      [await open(direct, '10.0.0.1'), await open(direct, '10.0.0.2'), await open(direct, '10.0.0.3')],
      [200, 200, 429],
    )
    const proxied = await start(t, ['127.0.0.1'])
    for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) assert.equal(await open(proxied, address), 200)
  })
})
