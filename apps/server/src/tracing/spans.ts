/**
 * Spans and their parents. A span is one piece of work with a beginning and an end; spans with the same trace id belong
 * together, from a request through the queue to the provider.
 *
 * Attributes are a closed set of names. Anything that a user or a provider wrote (addresses, queries, bodies, messages
 * of errors) stays out, because a tracing service stores it and many people read it.
 */
import { randomBytes } from 'node:crypto'
import { findTraceparent, runInTrace } from '../trace-context.ts'

export type SpanKind = 'server' | 'client' | 'consumer' | 'internal'

export interface Attributes {
  'http.request.method'?: string
  /** The pattern, never the URL. */
  'http.route'?: string
  'http.response.status_code'?: number
  /** The host of a provider only, because path and query may hold a user's wallet address. */
  'server.address'?: string
  'assay.job'?: string
  'assay.provider'?: string
  /** A word of ours, such as a fault code. */
  'assay.outcome'?: string
  /** The name of an error's class. */
  'error.type'?: string
}

export interface Span {
  traceId: string
  spanId: string
  parentId: string | undefined
  name: string
  kind: SpanKind
  startedMs: number
  endedMs: number
  isFailed: boolean
  attributes: Attributes
}

/** A span that has begun. `traceparent` makes it the parent of what follows. */
export interface OpenSpan {
  traceparent: string
  end(more?: { name?: string; attributes?: Attributes; isFailed?: boolean }): void
}

export interface NewSpan {
  name: string
  kind: SpanKind
  attributes: Attributes
  /** The present one, unless another is named; `null` begins a trace. */
  parent?: string | null | undefined
}

export interface Tracer {
  open(span: NewSpan): OpenSpan
  /** Runs the work inside a span. An error marks the span as failed and is thrown again. */
  run<T>(span: NewSpan, work: () => Promise<T>, toOutcome?: (result: T) => Attributes): Promise<T>
}

/** Version, trace id, span id, flags; ids of zeros are invalid (W3C Trace Context §3.2.2). */
const traceparentPattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-(0[01])$/

export interface TracerDeps {
  /** Gets every span that is kept, once it has ended. */
  keep(span: Span): void
  /** Epoch ms. */
  now(): number
  /** The percentage of new traces that are kept. Later spans of a trace follow its first. */
  percent: number
  random(): number
}

export function createTracer({ keep, now, percent, random }: TracerDeps): Tracer {
  function open({ name, kind, attributes, parent = findTraceparent() }: NewSpan): OpenSpan {
    const [, traceId = toId(16), parentId, flags] = traceparentPattern.exec(parent ?? '') ?? []
    const isKept = flags === undefined ? random() * 100 < percent : flags === '01'
    const spanId = toId(8)
    const startedMs = now()
    return {
      traceparent: `00-${traceId}-${spanId}-${isKept ? '01' : '00'}`,
      end(more = {}) {
        if (!isKept) return
        const { isFailed = false } = more
        const all = { ...attributes, ...more.attributes }
        keep({
          ...{ traceId, spanId, parentId, kind, startedMs, endedMs: now(), isFailed },
          name: more.name ?? name,
          attributes: all,
        })
      },
    }
  }

  return {
    open,
    async run(span, work, toOutcome) {
      const opened = open(span)
      try {
        const result = await runInTrace(opened.traceparent, work)
        opened.end(toOutcome === undefined ? {} : { attributes: toOutcome(result) })
        return result
      } catch (error) {
        opened.end({ isFailed: true, attributes: { 'error.type': error instanceof Error ? error.name : 'unknown' } })
        throw error
      }
    },
  }
}

const toId = (bytes: number): string => randomBytes(bytes).toString('hex')
