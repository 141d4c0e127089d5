/** Requests nobody would send on purpose: never a 5xx, never a hang, always a problem document with a request id. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { sendRaw, startTestServer } from './test-server.ts'

const junk = fc
  .array(
    fc.constantFrom(
      ...'abc%&=?/;:@+,.\\"<>{}[]|^`~#é',
      '%00',
      '%ff',
      '%zz',
      '%2F',
      '..',
      '__proto__',
      '\u0001',
      '\u007f',
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

const target = fc
  .tuple(
    fc.constantFrom(
      '/accounts/v2/rows',
      '/accounts/v2/things/',
      '/platform/v1/things',
      '/docs',
      '/',
      '//',
      '*',
      '/metrics',
    ),
    fc.constantFrom('', '?', '?limit=', '?cursor='),
    junk,
  )
  .map((parts) => parts.join(''))

const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND', 'QUERY', 'get')
const body = fc.oneof(fc.constantFrom('', '{}', '{"label":"a"}', '{"label":1e400}', '[[[['), junk)

const headers = fc.record({
  Host: fc.oneof(fc.constantFrom('x', undefined), junk),
  Authorization: fc.oneof(fc.constantFrom('Bearer ann', undefined), junk),
  'Content-Type': fc.oneof(fc.constantFrom('application/json', 'text/plain', undefined), junk),
  Expect: fc.oneof(fc.constantFrom(undefined, undefined, '100-continue'), junk),
  Origin: fc.oneof(fc.constantFrom(undefined), junk),
  'Accept-Version': fc.constantFrom(undefined, '1'),
  Upgrade: fc.constantFrom(undefined, 'websocket'),
})

it('whatever arrives, the answer is deliberate', async (t) => {
  const { url } = await startTestServer(t)
  await fc.assert(
    fc.asyncProperty(method, target, headers, body, async (someMethod, someTarget, someHeaders, someBody) => {
      const lines = Object.entries(someHeaders).filter(([, value]) => value !== undefined)
      const head = [...lines, ['Content-Length', Buffer.byteLength(someBody)], ['Connection', 'close']]
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')
      const answer = await sendRaw(url, `${someMethod} ${someTarget} HTTP/1.1\r\n${head}\r\n${someBody}`)
      const [, status = ''] = /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 (\d{3}) /.exec(answer) ?? []
      assert.match(status, /^[24]\d\d$/, answer)
      assert.match(answer, /x-request-id: req_/i)
      if (status.startsWith('4')) assert.match(answer, /content-type: application\/problem\+json\r\n/i)
    }),
    { numRuns: 500, interruptAfterTimeLimit: 20_000 },
  )
})

it('an unwanted body is not what is found fault with', async (t) => {
  const { url } = await startTestServer(t)
  const send = async (verb: string, path: string): Promise<number> =>
    (
      await fetch(`${url}${path}`, {
        method: verb,
        body: 'x'.repeat(100_000),
        headers: { 'content-type': 'text/plain' },
      })
    ).status
  assert.equal(await send('POST', '/nowhere'), 404)
  assert.equal(await send('PUT', '/accounts/v2/rows'), 405)
  assert.equal(await send('OPTIONS', '/accounts/v2/rows'), 204)
})
