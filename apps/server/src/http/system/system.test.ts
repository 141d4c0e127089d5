/** Health, metrics, documents, the Host check and the stop. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { createFleetMetrics, createMetrics } from '../../telemetry/index.ts'
import { startStatusServer } from './health.ts'
import { fleet, sendRaw, startTestServer } from '../test-server.ts'

describe('health', () => {
  it('/healthz and /readyz report version and commit', async (t) => {
    const server = await startTestServer(t)
    assert.deepEqual(await (await server.get('/healthz')).json(), {
      status: 'alive',
      version: '0.1.0',
      commit: 'abc1234',
    })
    assert.deepEqual(await (await server.get('/readyz')).json(), {
      status: 'ready',
      version: '0.1.0',
      commit: 'abc1234',
    })
  })

  it('/readyz returns 503 with the reason and Retry-After while the process cannot serve; /healthz does not', async (t) => {
    const server = await startTestServer(t, { findUnready: async () => 'the database is away' })
    const response = await server.get('/readyz')
    assert.equal(response.status, 503)
    assert.ok(response.headers.has('retry-after'))
    assert.equal(((await response.json()) as { detail: string }).detail, 'the database is away')
    assert.equal((await server.get('/healthz')).status, 200)
  })
})

describe('the bare address', () => {
  it('redirects a browser, and no other client, to the documents', async (t) => {
    const server = await startTestServer(t)
    const response = await fetch(`${server.url}/`, { redirect: 'manual' })
    assert.deepEqual([response.status, response.headers.get('location')], [302, 'docs'])
    // RFC 9110 §9.3.2: HEAD is GET without the content.
    const head = await fetch(server.url, { method: 'HEAD', redirect: 'manual' })
    assert.deepEqual([head.status, head.headers.get('location')], [302, 'docs'])
    assert.equal((await fetch(`${server.url}/`, { method: 'POST' })).status, 404)
    assert.equal((await fetch(`${server.url}/nowhere`)).status, 404)
  })
})

describe('the documents', () => {
  it('also describe tokens, the sandbox and webhooks', async (t) => {
    const server = await startTestServer(t)
    const page = await (await server.get('/docs')).text()
    for (const name of ['POST /oauth/token', 'POST /sandbox/authorizations', 'transactions.changed']) {
      assert.ok(page.includes(`<code>${name}</code>`), name)
    }
    for (const [, id] of page.matchAll(/href="#(besides-\w+)"/g)) assert.ok(page.includes(`id="${id}"`), id)
  })
})

describe('metrics', () => {
  it('need their token, and count by pattern and status', async (t) => {
    const server = await startTestServer(t)
    await server.get('/accounts/v2/things/a')
    await server.get('/nowhere/a')
    assert.equal((await server.get('/metrics', {})).status, 401)
    assert.equal((await server.get('/metrics', { authorization: 'Bearer ann' })).status, 401)
    const response = await server.get('/metrics', { authorization: 'Bearer scrape me' })
    assert.equal(response.status, 200)
    const text = await response.text()
    assert.match(text, /_count\{method="GET",route="\/accounts\/v2\/things\/:id",status="200"\} 1/)
    assert.match(text, /_count\{method="GET",route="\(none\)",status="404"\} 1/)
    assert.match(text, /^process_cpu_seconds_total /m)
  })

  it('of the whole installation have their own address, with the same token', async (t) => {
    const server = await startTestServer(t)
    assert.equal((await server.get('/metrics/fleet', {})).status, 401)
    const response = await server.get('/metrics/fleet', { authorization: 'Bearer scrape me' })
    const text = await response.text()
    assert.match(text, /^assay_workers_alive 1$/m)
    assert.match(text, /^assay_circuit_open\{provider="kraken"\} 1$/m)
    assert.doesNotMatch(text, /^process_cpu/m)
  })

  it('are a 404 when they are closed, and need no token when they are open', async (t) => {
    const closed = await startTestServer(t, { metricsAccess: 'closed' })
    assert.equal((await closed.get('/metrics')).status, 404)
    const open = await startTestServer(t, { metricsAccess: 'open' })
    assert.equal((await open.get('/metrics', {})).status, 200)
  })
})

describe('a process that serves no API', () => {
  it('closes a connection whose request does not arrive in time', async (t) => {
    const server = await startStatusServer(
      { host: '127.0.0.1', port: 0 },
      {
        metrics: createMetrics(),
        fleetMetrics: createFleetMetrics(async () => fleet),
        metricsAccess: 'closed',
        findUnready: async () => undefined,
        build: { version: '0.1.0', commit: undefined },
        requestTimeoutMs: 50,
      },
    )
    t.after(() => server.stop())
    for (const sent of [
      'GET /healthz HTTP/1.1\r\nHost: x\r\n',
      'GET /healthz HTTP/1.1\r\nContent-Length: 9\r\n\r\n{',
    ]) {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      socket.write(sent)
      let answer = ''
      for await (const chunk of socket) answer += String(chunk)
      assert.match(answer, /^HTTP\/1\.1 (400|408) /)
    }
  })

  it('answers health and metrics, and nothing else', async (t) => {
    const server = await startStatusServer(
      { host: '127.0.0.1', port: 0 },
      {
        metrics: createMetrics(),
        fleetMetrics: createFleetMetrics(async () => fleet),
        metricsAccess: { token: 'scrape me' },
        findUnready: async () => 'the database is away',
        build: { version: '0.1.0', commit: undefined },
      },
    )
    t.after(() => server.stop())
    const statusOf = async (path: string, headers = {}): Promise<number> =>
      (await fetch(`${server.url}${path}`, { headers })).status
    const authorization = 'Bearer scrape me'
    assert.deepEqual(
      await Promise.all([
        ...['/healthz', '/readyz', '/metrics', '/docs', '/platform/v1/assets'].map((path) => statusOf(path)),
        statusOf('/metrics', { authorization }),
        statusOf('/metrics/fleet', { authorization }),
      ]),
      [200, 503, 401, 404, 404, 200, 200],
    )
  })
})

describe('documents', () => {
  it('describe the endpoints of the sandbox in sandbox mode only, as they are a 404 elsewhere', async (t) => {
    const listSandboxPaths = async (docsCanTry: boolean): Promise<string[]> => {
      const server = await startTestServer(t, { docsCanTry, loopbackHostsOnly: docsCanTry })
      const document = (await (await server.get('/openapi/connect.json')).json()) as { paths: object }
      const page = await (await server.get('/docs/connect')).text()
      const paths = Object.keys(document.paths).filter((path) => path.includes('/sandbox'))
      assert.equal(page.includes('/session/sandbox'), paths.length > 0)
      return paths
    }
    assert.deepEqual(await listSandboxPaths(false), [])
    assert.deepEqual(await listSandboxPaths(true), [
      '/connect/v1/session/sandbox',
      '/connect/v1/session/sandbox/key',
      '/connect/v1/me/sandbox',
    ])
  })

  it('/openapi/v1.json, v2.json and connect.json name this server, and are conditional (RFC 9110 §13.1.2)', async (t) => {
    const server = await startTestServer(t)
    for (const version of ['v1', 'v2', 'connect']) {
      const path = `/openapi/${version}.json`
      const response = await server.get(path)
      assert.equal(response.headers.get('content-type'), 'application/json')
      const document = (await response.json()) as { openapi: string; servers: { url: string }[] }
      assert.match(document.openapi, /^3\.1\./)
      assert.equal(document.servers[0]?.url, server.url)

      const etag = response.headers.get('etag') ?? ''
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await server.get(path, { 'if-none-match': known })
        assert.equal(again.status, 304, known)
        assert.equal(await again.text(), '')
      }
      assert.equal((await server.get(path, { 'if-none-match': '"other"' })).status, 200)
    }
  })

  it('/docs sends calls in sandbox mode, whose clients are published', async (t) => {
    const server = await startTestServer(t, { loopbackHostsOnly: true, docsCanTry: true })
    const response = await server.get('/docs')
    assert.match(response.headers.get('content-security-policy') ?? '', /connect-src 'self'/)
    assert.match(await response.text(), /id="get-token"/)
  })

  it('/docs shows every call, loads nothing from elsewhere, and calls nothing outside sandbox mode', async (t) => {
    // Live mode answers loopback names only, as the sandbox does, but it has no published clients.
    const server = await startTestServer(t, { loopbackHostsOnly: true })
    for (const [path, call] of [
      ['/docs', '/accounts/v2/transactions/{id}'],
      ['/docs/v1', '/platform/v1/assets'],
      ['/docs/connect', '/connect/v1/session/connections/{connection_id}'],
    ] as const) {
      const response = await server.get(path)
      const policy = response.headers.get('content-security-policy') ?? ''
      assert.match(policy, /^default-src 'none';style-src 'self';script-src 'self';frame-ancestors 'none';/)
      const html = await response.text()
      assert.ok(html.includes(call))
      assert.equal(/<style|style="|javascript:|form class="try"|get-token/i.test(html), false)
      const scripts = [...html.matchAll(/<script[^>]*>/g)].map(([tag]) => tag)
      assert.equal(scripts.length, 1)
      const [, source = ''] = /src="([^"]+)"/.exec(scripts[0] ?? '') ?? []
      const script = await fetch(new URL(source, `${server.url}${path}`))
      assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')
      const [, style = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(html) ?? []
      const sheet = await fetch(new URL(style, `${server.url}${path}`))
      assert.equal(sheet.headers.get('content-type'), 'text/css; charset=utf-8')
      for (const [, id = ''] of html.matchAll(/href="#([^"]+)"/g)) assert.ok(html.includes(`id="${id}"`), id)
    }
  })
})

describe('the Host header in sandbox mode', () => {
  const ask = (url: string, host: string): Promise<string> =>
    sendRaw(url, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)

  it('must be a loopback name, or a page elsewhere could reach the sandbox by DNS rebinding', async (t) => {
    const { url } = await startTestServer(t, { loopbackHostsOnly: true })
    for (const host of [
      '127.0.0.1',
      '127.0.0.1:4000',
      'localhost:4000',
      'LOCALHOST',
      '[::1]:4000',
      '[::1]',
      '127.1.2.3',
    ]) {
      assert.match(await ask(url, host), /^HTTP\/1\.1 200 /, host)
    }
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '127.0.0.1@evil.example',
      '10.0.0.1',
      '',
    ]) {
      assert.match(await ask(url, host), /^HTTP\/1\.1 400 /, host)
    }
  })

  it('may be any name outside sandbox mode', async (t) => {
    const { url } = await startTestServer(t)
    assert.match(await ask(url, 'api.example'), /^HTTP\/1\.1 200 /)
  })
})

describe('a stop', () => {
  it('lets a request in progress finish, accepts no new connection, and closes idle ones', async (t) => {
    const entered = Promise.withResolvers<void>()
    const released = Promise.withResolvers<undefined>()
    const server = await startTestServer(t, {
      findUnready: () => {
        entered.resolve()
        return released.promise
      },
    })
    // One connection is kept alive and idle; the other has a request in progress.
    const agent = new Agent({ keepAlive: true })
    t.after(() => agent.destroy())
    await new Promise((resolve) =>
      get(`${server.url}/healthz`, { agent }, (answer) => answer.resume().on('end', resolve)),
    )
    const underWay = server.get('/readyz')
    await entered.promise

    const stopped = server.server.stop(600_000)
    await assert.rejects(fetch(`${server.url}/healthz`))
    released.resolve(undefined)
    assert.equal((await underWay).status, 200)
    await stopped
  })

  it('cuts what has not ended within the grace', async (t) => {
    const entered = Promise.withResolvers<void>()
    const server = await startTestServer(t, {
      findUnready: () => {
        entered.resolve()
        return new Promise<undefined>(() => undefined)
      },
    })
    const cut = assert.rejects(server.get('/readyz'))
    await entered.promise
    await server.server.stop(50)
    await cut
  })
})

describe('a request that does not arrive in time', () => {
  const head = 'Host: 127.0.0.1\r\nAuthorization: Bearer ann\r\nContent-Type: application/json'
  for (const [part, sent] of [
    ['its headers', `POST /platform/v1/things HTTP/1.1\r\n${head}\r\n`],
    ['its body', `POST /platform/v1/things HTTP/1.1\r\n${head}\r\nContent-Length: 30\r\n\r\n{`],
  ] as const) {
    for (const isChild of [false, true]) {
      const by = isChild ? 'another process' : 'this process'
      it(`is refused and its connection closed: ${part}, on a connection that ${by} has accepted`, async (t) => {
        const { url } = await startTestServer(t, { isChild, requestTimeoutMs: 50 })
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        socket.write(sent)
        let answer = ''
        for await (const chunk of socket) answer += String(chunk)
        assert.match(answer, /^HTTP\/1\.1 400 [^]*the request did not arrive within 0\.05 seconds/)
      })
    }
  }
})

describe('a stop of a server whose connections another process has accepted', () => {
  it('cuts what has not ended within the grace', async (t) => {
    const entered = Promise.withResolvers<void>()
    const server = await startTestServer(t, {
      isChild: true,
      findUnready: () => {
        entered.resolve()
        return new Promise<undefined>(() => undefined)
      },
    })
    const cut = assert.rejects(server.get('/readyz'))
    await entered.promise
    await server.server.stop(50)
    await cut
  })
})
