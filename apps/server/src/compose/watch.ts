/**
 * Counts and times what the rooms do, from outside: it takes a part and returns the same part with its calls watched.
 * So no room knows of metrics, and an unwatched part (in a test, in a command) is the same code.
 */
import type { Ledger } from '../ledger/index.ts'
import type { Handler, Handlers, JobName } from '../jobs/index.ts'
import type { Mailer } from '../mail/index.ts'
import { CircuitOpen, type Ask, type Asked, type Metering } from '../metering/index.ts'
import type { ReadingWatch } from '../sync/index.ts'
import type { Metrics } from '../telemetry/index.ts'

const secondsSince = (sinceMs: number): number => (performance.now() - sinceMs) / 1_000

export function watchMetering(metering: Metering, metrics: Metrics): Metering {
  return {
    ...metering,
    startAsking(asker, by) {
      return watchAsk(metering.startAsking(asker, by), asker.connector.providerId, metrics)
    },
  }
}

/** The wait for the budget ends when the call begins. A call that is never made has no time, only a reason. */
function watchAsk(ask: Ask, provider: string, metrics: Metrics): Ask {
  return async (cost, call, options) => {
    const askedMs = performance.now()
    let calledMs: number | undefined
    const watched: typeof call = async () => {
      calledMs = performance.now()
      metrics.admissionSeconds.observe({ provider }, (calledMs - askedMs) / 1_000)
      try {
        return await call()
      } finally {
        metrics.callSeconds.observe({ provider }, secondsSince(calledMs))
      }
    }
    const asked = await ask(cost, watched, options)
    if (calledMs === undefined) metrics.held.inc({ provider, reason: toReason(asked) })
    else metrics.calls.inc({ provider, outcome: asked.kind === 'fault' ? asked.error.fault : asked.kind })
    return asked
  }
}

function toReason(asked: Asked<object>): string {
  if (asked.kind === 'fault') return asked.error instanceof CircuitOpen ? 'circuit' : asked.error.fault
  return asked.kind === 'wait' ? 'budget' : asked.kind
}

export function watchLedger(ledger: Ledger, metrics: Metrics): Ledger {
  return {
    ...ledger,
    async derive(ref, source, mayContinue, part) {
      const beganMs = performance.now()
      try {
        return await ledger.derive(ref, source, mayContinue, part)
      } finally {
        metrics.deriveSeconds.observe({ provider: source.connector.providerId }, secondsSince(beganMs))
      }
    },
  }
}

export function watchReading(metrics: Metrics): ReadingWatch {
  return {
    read: (provider, outcome) => metrics.reads.inc({ provider, outcome }),
    brokeDown: () => metrics.breakdowns.inc(),
    committed: (provider, seconds) => metrics.commitSeconds.observe({ provider }, seconds),
  }
}

export function watchDeliveries(fetch: typeof globalThis.fetch, metrics: Metrics): typeof globalThis.fetch {
  return async (...request) => {
    let outcome = 'failed'
    try {
      const response = await fetch(...request)
      if (response.ok) outcome = 'delivered'
      return response
    } finally {
      metrics.deliveries.inc({ outcome })
    }
  }
}

export function watchMailer(mailer: Mailer, metrics: Metrics): Mailer {
  return {
    async send(mail) {
      let outcome = 'failed'
      try {
        const isTaken = await mailer.send(mail)
        outcome = isTaken ? 'sent' : 'refused'
        return isTaken
      } finally {
        metrics.mails.inc({ outcome })
      }
    },
  }
}

export function watchHandlers(handlers: Handlers, metrics: Metrics): Handlers {
  const watch = <Name extends JobName>(kind: Name, handle: Handler<Name> | undefined): Handler<Name> | undefined =>
    handle &&
    (async (payload, signal) => {
      const beganMs = performance.now()
      let outcome = 'failed'
      try {
        await handle(payload, signal)
        outcome = 'done'
      } finally {
        metrics.jobs.observe({ kind, outcome }, secondsSince(beganMs))
      }
    })
  return {
    verify: watch('verify', handlers.verify),
    destroy: watch('destroy', handlers.destroy),
    sync: watch('sync', handlers.sync),
    refresh: watch('refresh', handlers.refresh),
    webhook: watch('webhook', handlers.webhook),
    match: watch('match', handlers.match),
    upkeep: watch('upkeep', handlers.upkeep),
    sign_in_mail: watch('sign_in_mail', handlers.sign_in_mail),
  }
}
