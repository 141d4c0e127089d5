/**
 * Traces, behind a setting: from a request through the queue to the provider. compose/trace.ts puts the spans around
 * the parts; main.ts loads this room only where ASSAY_TRACES_URL is set.
 */
import { createSpanSender, type SenderDeps } from './otlp.ts'
import { createTracer, type Tracer } from './spans.ts'

export type { OpenSpan, Tracer } from './spans.ts'

export interface Tracing {
  tracer: Tracer
  stop(): Promise<void>
}

export function startTracing({ percent, ...deps }: SenderDeps & { percent: number }): Tracing {
  const sender = createSpanSender(deps)
  const now = (): number => performance.timeOrigin + performance.now()
  return { tracer: createTracer({ keep: sender.keep, now, percent, random: Math.random }), stop: sender.stop }
}
