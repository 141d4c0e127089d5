/** What test/bad-input.ts cannot tell by an answer's shape: which fault is found. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sendRaw, startTestServer } from './test-server.ts'

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

it('CONNECT, which is for proxies, is refused like anything malformed', async (t) => {
  const { url } = await startTestServer(t)
  const answer = await sendRaw(url, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n')
  assert.match(answer, /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"code":"invalid_request"/)
})
