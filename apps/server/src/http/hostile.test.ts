/**
 * These tests check which fault is reported, which test/security/bad-input.ts cannot tell from the shape of an answer.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { sendRaw, startTestServer } from './test-server.ts'

it('an unexpected body does not hide a wrong path or method', async (t) => {
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

describe('a request target that is a whole address (RFC 9112 §3.2.2)', () => {
  const ask = async (t: TestContext, head: string, host = '127.0.0.1'): Promise<string> => {
    const { url } = await startTestServer(t, { loopbackHostsOnly: true })
    return sendRaw(url, `${head} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  }
  const address = 'http://127.0.0.1'

  it('is answered like its path: 405, a preflight, 404', async (t) => {
    const other = await ask(t, `PUT ${address}/accounts/v2/things/x`)
    assert.match(other, /^HTTP\/1\.1 405 [^]*allow: DELETE, GET, HEAD, OPTIONS\r\n/i)
    const preflight = 'Origin: https://app.example\r\nAccess-Control-Request-Method: GET'
    const allowed = await ask(t, `OPTIONS ${address}/accounts/v2/rows`, `127.0.0.1\r\n${preflight}`)
    assert.match(allowed, /^HTTP\/1\.1 204 [^]*access-control-allow-origin: \*\r\n/i)
    const nowhere = await ask(t, `GET ${address}/accounts/v2/nowhere`)
    assert.match(nowhere, /^HTTP\/1\.1 404 [^]*access-control-allow-origin: \*\r\n/i)
    assert.match(await ask(t, `GET ${address}/accounts/v2/things/refresh`), /^HTTP\/1\.1 405 /)
    assert.match(await ask(t, `GET ${address}?x=1`), /^HTTP\/1\.1 302 /)
  })

  it('is decided by its own host, whatever Host says', async (t) => {
    const strange = await ask(t, 'GET http://evil.example/healthz')
    assert.match(strange, /^HTTP\/1\.1 400 [^]*the Host header must be a loopback name/)
    assert.match(await ask(t, `GET ${address}/healthz`, 'evil.example'), /^HTTP\/1\.1 200 /)
  })
})

it('CONNECT, which is for proxies, is refused as malformed', async (t) => {
  const { url } = await startTestServer(t)
  const answer = await sendRaw(url, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n')
  assert.match(answer, /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"code":"invalid_request"/)
})

it('HTTP/1.0 with Transfer-Encoding is refused, and what follows on its connection is not served (RFC 9112 §6.1)', async (t) => {
  const { url, lines } = await startTestServer(t)
  const next = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
  for (const target of ['/healthz', '/%']) {
    const head = `POST ${target} HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked`
    const answer = await sendRaw(url, `${head}\r\n\r\n0\r\n\r\n${next}`)
    assert.equal(answer.split('HTTP/1.1 ').length - 1, 1, answer)
    assert.match(answer, /^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n/i)
  }
  const statuses = lines.map((line) => (JSON.parse(line) as { status?: number }).status)
  assert.ok(!statuses.includes(200), 'not even without an answer')
})

it('a request with Upgrade is answered as if it had none, and what follows on its connection is not served (RFC 9110 §7.8)', async (t) => {
  const begun = Promise.withResolvers<undefined>()
  const second = Promise.withResolvers<undefined>()
  const slow = Promise.withResolvers<undefined>()
  const { url, lines } = await startTestServer(t, {
    registerMore: (_, app) => {
      app.server.on('request', ({ url: path }) => (path === '/healthz' ? second.resolve(undefined) : undefined))
      app.post('/slow', async () => {
        begun.resolve(undefined)
        await slow.promise
        return {}
      })
    },
  })
  const hidden = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
  const head = (more: string): string =>
    `POST /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${more}\r\n`
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const answers: string[] = []
  socket.on('data', (chunk) => answers.push(String(chunk)))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  // Node does not parse what arrives together with the end of such a request: it would take the body of the second one
  // for a request.
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n'
  socket.write(`${head(upgrade)}{}${head(`Content-Length: ${hidden.length}\r\n`)}`)
  await begun.promise
  await new Promise((resolve) => socket.write(hidden, resolve))
  await second.promise
  slow.resolve(undefined)
  await closed
  assert.match(answers.join(''), /^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n/i)
  assert.equal(answers.join('').split('HTTP/1.1 ').length - 1, 1, answers.join(''))
  const served = lines.map((line) => JSON.parse(line) as { route?: string; status?: number })
  assert.deepEqual(
    served.filter(({ route, status }) => route === '/healthz' && status === 200),
    [],
  )
})

it('the address of a caller is known after its connection was reset', async (t) => {
  const [begun, seen] = [Promise.withResolvers<undefined>(), Promise.withResolvers<string>()]
  const { url } = await startTestServer(t, {
    registerMore: (_, app) =>
      app.get('/late', async (request) => {
        begun.resolve(undefined)
        await new Promise((resolve) => request.raw.socket.once('close', resolve))
        seen.resolve(request.ip)
        return {}
      }),
  })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('GET /late HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await begun.promise
  socket.resetAndDestroy()
  assert.equal(await seen.promise, '127.0.0.1')
})

it('an invalid target, or the name of a property that every object has, is refused without an internal error', async (t) => {
  const { url, lines } = await startTestServer(t)
  const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty']
  const targets = [
    ...['//', '///', '//[', '//evil.example/accounts/v2/rows', 'http://[', 'http://127.0.0.1:99999999/', '*', '/..'],
    ...[
      '/%',
      '/%ff',
      '/%00',
      '/accounts/v2/things/%',
      '/accounts/v2/things/%ff',
      '/accounts/v2/rows?%',
      '/healthy?%ff',
    ],
    ...names.flatMap((name) => [
      `/${name}`,
      `/accounts/v2/${name}`,
      `/accounts/v2/rows?${name}=${name}`,
      `/healthy?${name}`,
    ]),
  ]
  for (const target of targets) {
    for (const method of ['GET', 'POST', 'OPTIONS', 'constructor']) {
      const head = `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ann\r\nConnection: close`
      const answer = await sendRaw(url, `${head}\r\n\r\n`)
      assert.match(answer, /^HTTP\/1\.1 (204|4\d\d) /, `${method} ${target}`)
    }
  }
  assert.deepEqual(
    lines.filter((line) => (JSON.parse(line) as { level: unknown }).level === 'error'),
    [],
  )
})
