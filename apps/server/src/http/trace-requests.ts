/** A span around every request, where an operator has switched traces on. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { runInTrace } from '../trace-context.ts'
import type { OpenSpan, Tracer } from '../tracing/index.ts'

/**
 * Before any other hook, so that all of the request's work lies inside its span. A `traceparent` that a caller sends is
 * not believed: strangers could join the traces of others, or have all of theirs kept.
 */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  const spans = new WeakMap<FastifyRequest, OpenSpan>()
  app.addHook('onRequest', (request, _, done) => {
    const { method, routeOptions } = request
    const route = routeOptions.url ?? '(none)'
    const attributes = { 'http.request.method': method, 'http.route': route }
    const span = tracer.open({ name: `${method} ${route}`, kind: 'server', attributes, parent: null })
    spans.set(request, span)
    runInTrace(span.traceparent, done)
  })
  // A body arrives by events of its socket, which know nothing of the request's context.
  app.addHook('preValidation', (request, _, done) => {
    const span = spans.get(request)
    if (span === undefined) done()
    else runInTrace(span.traceparent, done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode } = reply
    spans.get(request)?.end({
      attributes: { 'http.response.status_code': statusCode },
      isFailed: statusCode >= 500,
    })
    done()
  })
}
