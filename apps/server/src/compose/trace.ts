/**
 * Puts spans around jobs and calls to providers, as watch.ts counts them: from outside, and only where traces are on.
 */
import type { Handler, Handlers, JobName } from '../jobs/index.ts'
import type { Metering } from '../metering/index.ts'
import type { Tracer } from '../tracing/index.ts'

/** The job continues the trace of the request that queued it (jobs/worker.ts), or begins one. */
export function traceHandlers(handlers: Handlers, tracer: Tracer | undefined): Handlers {
  if (tracer === undefined) return handlers
  const trace = <Name extends JobName>(job: Name, handle: Handler<Name> | undefined): Handler<Name> | undefined =>
    handle &&
    ((payload, signal) =>
      tracer.run({ name: `job ${job}`, kind: 'consumer', attributes: { 'assay.job': job } }, () =>
        handle(payload, signal),
      ))
  return {
    verify: trace('verify', handlers.verify),
    destroy: trace('destroy', handlers.destroy),
    sync: trace('sync', handlers.sync),
    refresh: trace('refresh', handlers.refresh),
    webhook: trace('webhook', handlers.webhook),
    match: trace('match', handlers.match),
    upkeep: trace('upkeep', handlers.upkeep),
    sign_in_mail: trace('sign_in_mail', handlers.sign_in_mail),
  }
}

/** One span for a call of the engine, including the wait for its budget; its requests are child spans. */
export function traceMetering(metering: Metering, tracer: Tracer | undefined): Metering {
  if (tracer === undefined) return metering
  return {
    ...metering,
    startAsking(asker, by) {
      const ask = metering.startAsking(asker, by)
      const provider = asker.connector.providerId
      return (cost, call, options) =>
        tracer.run(
          { name: `call ${provider}`, kind: 'internal', attributes: { 'assay.provider': provider } },
          () => ask(cost, call, options),
          (asked) => ({ 'assay.outcome': asked.kind === 'fault' ? asked.error.fault : asked.kind }),
        )
    },
  }
}

/** The span has only the host of the address. No trace header is sent, because our traces do not concern a provider. */
export function traceFetch(fetch: typeof globalThis.fetch, tracer: Tracer | undefined): typeof globalThis.fetch {
  if (tracer === undefined) return fetch
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
    return tracer.run(
      {
        name: `${method} ${url.hostname}`,
        kind: 'client',
        attributes: { 'http.request.method': method, 'server.address': url.hostname },
      },
      () => fetch(input, init),
      ({ status }) => ({ 'http.response.status_code': status }),
    )
  }
}
