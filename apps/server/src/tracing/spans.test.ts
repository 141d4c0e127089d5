import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findTraceparent, runInTrace } from '../trace-context.ts'
import { createTracer, type Span, type Tracer } from './spans.ts'

const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

function record(percent = 100, random = 0.5): { tracer: Tracer; spans: Span[] } {
  const spans: Span[] = []
  let nowMs = 1_000
  const tracer = createTracer({
    keep: (span) => spans.push(span),
    now: () => (nowMs += 5),
    percent,
    random: () => random,
  })
  return { tracer, spans }
}

describe('a span', () => {
  it('belongs to the trace of the work around it, and is the parent of the work inside', async () => {
    const { tracer, spans } = record()
    await runInTrace(parent, () =>
      tracer.run({ name: 'outer', kind: 'consumer', attributes: {} }, () =>
        tracer.run({ name: 'inner', kind: 'client', attributes: {} }, async () => undefined),
      ),
    )
    const [inner, outer] = spans
    assert.deepEqual([outer?.traceId, outer?.parentId], [parent.slice(3, 35), parent.slice(36, 52)])
    assert.deepEqual([inner?.traceId, inner?.parentId], [outer?.traceId, outer?.spanId])
    assert.ok((outer?.endedMs ?? 0) > (inner?.endedMs ?? Infinity))
    assert.equal(findTraceparent(), undefined)
  })

  it('without a parent, or with one that is malformed (W3C Trace Context §3.2.2), begins a trace', () => {
    const { tracer } = record()
    for (const given of [
      null,
      undefined,
      'nonsense',
      `${parent}-more`,
      parent.replace('4bf92f3577b34da6a3ce929d0e0e4736', '0'.repeat(32)),
    ]) {
      const { traceparent } = tracer.open({ name: 'one', kind: 'server', attributes: {}, parent: given })
      assert.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
      assert.notEqual(traceparent.slice(3, 35), parent.slice(3, 35))
    }
  })

  it('of failed work records the class of the error and not its message', async () => {
    const { tracer, spans } = record()
    const failing = tracer.run({ name: 'one', kind: 'internal', attributes: { 'assay.job': 'sync' } }, async () => {
      throw new TypeError('wallet bc1q…')
    })
    await assert.rejects(failing, TypeError)
    assert.deepEqual(
      [spans[0]?.isFailed, spans[0]?.attributes],
      [true, { 'assay.job': 'sync', 'error.type': 'TypeError' }],
    )
  })
})

describe('a share of traces', () => {
  it('is decided at the first span, and the others follow it', async () => {
    for (const [percent, kept] of [
      [49, 0],
      [51, 2],
    ] as const) {
      const { tracer, spans } = record(percent, 0.5)
      await tracer.run({ name: 'outer', kind: 'server', attributes: {}, parent: null }, async () => {
        await tracer.run({ name: 'inner', kind: 'client', attributes: {} }, async () => undefined)
      })
      assert.equal(spans.length, kept)
    }
  })
})
