/** What Prometheus scrapes: the process, and requests by route pattern (never by URL, which is unbounded). */
import { createHash, timingSafeEqual } from 'node:crypto'
import { Refusal } from '@assay/core'
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export interface Metrics {
  registry: Registry
  observeRequest(request: { method: string; route: string; status: number; seconds: number }): void
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'assay_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  })
  // Few: routes are patterns. Looking a set of labels up in the histogram costs more than counting.
  const series = new Map<string, ReturnType<typeof requests.labels>>()
  return {
    registry,
    observeRequest({ method, route, status, seconds }) {
      const key = `${method} ${route} ${status}`
      let one = series.get(key)
      if (one === undefined) {
        one = requests.labels(method, route, String(status))
        series.set(key, one)
      }
      one.observe(seconds)
    },
  }
}

/** `token` is what the scraper must send; without one, /metrics does not exist unless it is `open` (sandbox mode). */
export type MetricsAccess = { token: string } | 'open' | 'closed'

export function checkMetricsAccess(access: MetricsAccess, authorization: string | undefined): void {
  if (access === 'open') return
  if (access === 'closed') throw new Refusal('not_found', 'not found')
  if (!isSame(authorization ?? '', `Bearer ${access.token}`)) {
    throw new Refusal('invalid_token', 'send the metrics token as a Bearer token')
  }
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
