/** The sender against a collector that fails: work continues, and the loss is reported. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createSpanSender } from './otlp.ts'
import type { Span } from './spans.ts'

const span: Span = {
  ...{ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', parentId: undefined },
  ...{ name: 'GET /one', kind: 'server', startedMs: 1_700_000_000_000.25, endedMs: 1_700_000_000_001, isFailed: true },
  attributes: { 'http.route': '/one', 'http.response.status_code': 500 },
}

interface Sent {
  url: string
  body: unknown
}

function listen(answer: () => Promise<Response>) {
  const sent: Sent[] = []
  const losses: [string, number][] = []
  const sender = createSpanSender({
    url: 'http://collector.example/v1/traces',
    fetch: async (...request) => {
      const made = new Request(...request)
      sent.push({ url: made.url, body: await made.json() })
      return answer()
    },
    resource: { version: '1.2.3', role: 'worker' },
    onFailure: (reason, dropped) => losses.push([reason, dropped]),
  })
  return { sender, sent, losses }
}

it('a batch is one request of the shape of trace.proto, with nanoseconds and 64-bit numbers as text', async () => {
  const { sender, sent, losses } = listen(async () => new Response('{}'))
  sender.keep(span)
  await sender.stop()
  const text = (key: string, stringValue: string): object => ({ key, value: { stringValue } })
  assert.deepEqual(sent, [
    {
      url: 'http://collector.example/v1/traces',
      body: {
        resourceSpans: [
          {
            resource: { attributes: [text('service.name', 'assay-worker'), text('service.version', '1.2.3')] },
            scopeSpans: [
              {
                scope: { name: 'assay' },
                spans: [
                  {
                    ...{ traceId: span.traceId, spanId: span.spanId, name: 'GET /one', kind: 2 },
                    startTimeUnixNano: '1700000000000250000',
                    endTimeUnixNano: '1700000000001000000',
                    attributes: [
                      text('http.route', '/one'),
                      { key: 'http.response.status_code', value: { intValue: '500' } },
                    ],
                    status: { code: 2 },
                  },
                ],
              },
            ],
          },
        ],
      },
    },
  ])
  assert.deepEqual(losses, [])
})

it('spans that a collector refuses or does not receive are dropped and counted', async () => {
  const refusing = listen(async () => new Response('', { status: 503 }))
  refusing.sender.keep(span)
  await refusing.sender.stop()
  assert.deepEqual(refusing.losses, [['status 503', 1]])
  const away = listen(() => Promise.reject(new TypeError('fetch failed')))
  away.sender.keep(span)
  away.sender.keep(span)
  await away.sender.stop()
  assert.deepEqual(away.losses, [['TypeError', 2]])
})

it('spans beyond the buffer are dropped, and the earliest ones are sent', async () => {
  const { sender, sent, losses } = listen(async () => new Response('{}'))
  for (let count = 0; count < 2_500; count += 1) sender.keep(span)
  await sender.stop()
  assert.equal(sent.length, 1)
  assert.deepEqual(losses, [['more spans than can wait', 500]])
})

it('an installation without spans sends nothing', async () => {
  const { sender, sent } = listen(async () => new Response('{}'))
  await sender.stop()
  assert.deepEqual(sent, [])
})
