/**
 * Sends spans to a collector by OTLP over HTTP, in its JSON form.
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp and opentelemetry/proto/trace/v1/trace.proto
 *
 * We measured OpenTelemetry's SDK and left it out (November 2026): sixteen packages, 20 MB and 0.6 seconds at start,
 * for one POST of a documented shape.
 *
 * Traces are diagnostic, so they never delay work: spans go out in batches, and a batch that the collector does not
 * accept is dropped, as are spans beyond the size of the buffer.
 */
import type { Attributes, Span, SpanKind } from './spans.ts'

/** SpanKind of trace.proto. */
const kinds: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3, consumer: 5 }
const statusError = 2

const spansMax = 2_000
const sendEveryMs = 2_000
const sendTimeoutMs = 5_000

export interface SpanSender {
  keep(span: Span): void
  /** Sends what is left. */
  stop(): Promise<void>
}

export interface SenderDeps {
  url: string
  fetch: typeof globalThis.fetch
  resource: { version: string; role: string }
  onFailure(reason: string, dropped: number): void
}

export function createSpanSender({ url, fetch, resource, onFailure }: SenderDeps): SpanSender {
  let waiting: Span[] = []
  let dropped = 0
  let sending: Promise<void> = Promise.resolve()

  async function send(): Promise<void> {
    if (waiting.length === 0) return
    const batch = waiting
    waiting = []
    const reason = await post(batch)
    if (reason === undefined && dropped === 0) return
    onFailure(reason ?? 'more spans than can wait', dropped + (reason === undefined ? 0 : batch.length))
    dropped = 0
  }

  /** Why it was not taken; undefined when it was. */
  async function post(batch: readonly Span[]): Promise<string | undefined> {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(toRequest(batch, resource)),
        signal: AbortSignal.timeout(sendTimeoutMs),
      })
      await response.body?.cancel()
      return response.ok ? undefined : `status ${response.status}`
    } catch (error) {
      return error instanceof Error ? error.name : 'unknown'
    }
  }

  const timer = setInterval(() => void (sending = sending.then(send)), sendEveryMs)
  timer.unref()
  return {
    keep(span) {
      if (waiting.length < spansMax) waiting.push(span)
      else dropped += 1
    },
    async stop() {
      clearInterval(timer)
      await sending.then(send)
    },
  }
}

/** ExportTraceServiceRequest. Ids are hex and 64-bit numbers are text in OTLP's JSON. */
function toRequest(spans: readonly Span[], { version, role }: SenderDeps['resource']): object {
  const attributes = [
    { key: 'service.name', value: { stringValue: `assay-${role}` } },
    { key: 'service.version', value: { stringValue: version } },
  ]
  return {
    resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: { name: 'assay' }, spans: spans.map(toSpan) }] }],
  }
}

function toSpan({ traceId, spanId, parentId, name, kind, startedMs, endedMs, isFailed, attributes }: Span): object {
  return {
    ...{ traceId, spanId, name, kind: kinds[kind] },
    ...(parentId === undefined ? {} : { parentSpanId: parentId }),
    startTimeUnixNano: toNano(startedMs),
    endTimeUnixNano: toNano(endedMs),
    attributes: toAttributes(attributes),
    status: isFailed ? { code: statusError } : {},
  }
}

const toNano = (ms: number): string => `${Math.round(ms * 1_000)}000`

function toAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: String(value) },
  }))
}
