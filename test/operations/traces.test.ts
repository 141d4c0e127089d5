/**
 * Traces, as a collector of OpenTelemetry receives them: one story from a request through the queue to the provider.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { connect, fetchJson } from '../application.ts'
import { startTestService } from '../service.ts'
import { until } from '../until.ts'

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue?: string; intValue?: string } }[]
  status: { code?: number }
}

interface ExportRequest {
  resourceSpans: {
    resource: { attributes: Span['attributes'] }
    scopeSpans: { spans: Span[] }[]
  }[]
}

interface Collector {
  url: string
  spans: Span[]
  bodies: string[]
}

async function startCollector(t: TestContext): Promise<Collector> {
  const spans: Span[] = []
  const bodies: string[] = []
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    void readBody(request).then((body) => {
      bodies.push(body)
      const { resourceSpans } = JSON.parse(body) as ExportRequest
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`, spans, bodies }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}

const toAttributes = ({ attributes }: Span): Record<string, string> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']))

describe('a trace', () => {
  it('leads from the request through the jobs it has caused to every request to the provider', async (t) => {
    const collector = await startCollector(t)
    const service = await startTestService(t, { settings: { ASSAY_TRACES_URL: collector.url } })
    const { token } = await connect(service.url, 'ann', [])
    const response = await fetch(`${service.sandbox.controlUrl}/control/accounts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ provider_id: 'kraken', scenario: 'default', account: 'ann' }),
    })
    const { credentials } = (await response.json()) as { credentials: { api_key: string; secret_key: string } }
    // A caller cannot choose the trace.
    const strange = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    const added = await fetch(`${service.url}/accounts/v2/providers?`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        traceparent: `00-${strange}-bbbbbbbbbbbbbbbb-01`,
      },
      body: JSON.stringify({ provider_id: 'kraken', connection: { type: 'api_key', ...credentials } }),
    })
    assert.equal(added.status, 200, await added.clone().text())
    await until('balances', async () => {
      const assets = await fetchJson<unknown[]>(service.url, '/platform/v1/assets', token)
      return assets.length > 0 ? true : undefined
    })
    await service.stop()

    const byId = new Map(collector.spans.map((span) => [span.spanId, span]))
    const request = collector.spans.find(({ name }) => name === 'POST /accounts/v2/providers')
    assert.ok(request)
    assert.deepEqual([request.kind, request.parentSpanId, request.traceId === strange], [2, undefined, false])
    const calls = collector.spans.filter(({ kind, traceId }) => kind === 3 && traceId === request.traceId)
    assert.ok(calls.length > 1)
    /** Names from the span up to the one without a parent. */
    const trail = (span: Span): string[] => {
      const parent = byId.get(span.parentSpanId ?? '')
      return parent === undefined ? [span.name] : [span.name, ...trail(parent)]
    }
    const trails = calls.map((span) => trail(span).slice(1).join(' < '))
    assert.ok(trails.includes('call kraken < job verify < POST /accounts/v2/providers'), trails.join('\n'))
    assert.ok(trails.includes('call kraken < job sync < job verify < POST /accounts/v2/providers'), trails.join('\n'))
    for (const span of collector.spans) assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))
  })

  it('contains no secret, no query, no path of a provider and no user input', async (t) => {
    const collector = await startCollector(t)
    const service = await startTestService(t, { settings: { ASSAY_TRACES_URL: collector.url } })
    const { token } = await connect(service.url, 'carol@example.com', [{ provider_id: 'kraken' }])
    await fetch(`${service.url}/platform/v1/assets?asset_symbols=SECRETCOIN&limit=5`, {
      headers: { authorization: `Bearer ${token}` },
    })
    await fetch(`${service.url}/a/path/of/mine?x=carols-words`)
    await service.stop()
    assert.ok(collector.spans.length > 5)
    const known = [
      ...['http.request.method', 'http.route', 'http.response.status_code', 'server.address'],
      ...['assay.job', 'assay.provider', 'assay.outcome', 'error.type'],
    ]
    const named = new Set(collector.spans.flatMap(({ attributes }) => attributes.map(({ key }) => key)))
    assert.deepEqual(
      [...named].filter((key) => !known.includes(key)),
      [],
    )
    const sent = collector.bodies.join('\n')
    for (const word of [token, 'carol', 'SECRETCOIN', '/0/private', 'usr_', 'con_', 'path/of/mine']) {
      assert.ok(!sent.includes(word), word)
    }
    const assets = collector.spans.find(({ name }) => name === 'GET /platform/v1/assets')
    assert.deepEqual(assets && toAttributes(assets), {
      'http.request.method': 'GET',
      'http.route': '/platform/v1/assets',
      'http.response.status_code': '200',
    })
  })

  it('is not recorded for any request at 0 percent, and nothing is sent', async (t) => {
    const collector = await startCollector(t)
    const settings = { ASSAY_TRACES_URL: collector.url, ASSAY_TRACES_PERCENT: '0' }
    const service = await startTestService(t, { settings })
    await connect(service.url, 'ann', [{ provider_id: 'kraken' }])
    await service.stop()
    assert.deepEqual(collector.bodies, [])
  })
})

describe('without ASSAY_TRACES_URL', () => {
  it('the tracing code is not loaded', () => {
    const main = new URL('../../apps/server/src/main.ts', import.meta.url).href
    const program = `import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
      await import(${JSON.stringify(main)})
      process.stdout.write(loaded.join('\\n'))`
    const loaded = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
    assert.match(loaded, /\/server\/src\/http\/trace-requests\.ts$/m)
    assert.doesNotMatch(loaded, /\/server\/src\/tracing\//)
  })
})
