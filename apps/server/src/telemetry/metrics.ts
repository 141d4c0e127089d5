/**
 * What one process counts and times. docs/metrics.md explains every metric, and a test compares the page with this
 * file.
 *
 * Labels are closed sets: route patterns, names of jobs, provider ids, fault codes. An id of a user, a connection or a
 * tenant is never a label, because the number of series would grow with the number of users.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

export type Metrics = ReturnType<typeof createMetrics>

/** The range is from a page that is served from memory to a request that waits for a provider's verdict. */
const requestBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** A provider may take ASSAY_PROVIDER_TIMEOUT, at most 20 seconds. */
const callBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]
/** A job reads for at most 20 seconds and then derives. */
const jobBuckets = [0.01, 0.05, 0.25, 1, 5, 10, 20, 30, 60]
const databaseBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30]

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Histogram({
    name: 'assay_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: requestBuckets,
    registers,
  })
  // Few entries, because routes are patterns. Looking up a set of labels in the histogram costs more than counting.
  const series = new Map<string, ReturnType<typeof requests.labels>>()
  return {
    registry,
    observeRequest({ method, route, status, seconds }: RequestSeen): void {
      const key = `${method} ${route} ${status}`
      let one = series.get(key)
      if (one === undefined) {
        one = requests.labels(method, route, String(status))
        series.set(key, one)
      }
      one.observe(seconds)
    },
    ...createWorkerMetrics(registers),
    ...createCallMetrics(registers),
    ...createDatabaseMetrics(registers),
  }
}

export interface RequestSeen {
  method: string
  route: string
  status: number
  seconds: number
}

function createWorkerMetrics(registers: Registry[]) {
  return {
    jobs: new Histogram({
      name: 'assay_job_duration_seconds',
      help: 'Time that a worker spent on one job. A failed job is tried again by the queue.',
      labelNames: ['kind', 'outcome'],
      buckets: jobBuckets,
      registers,
    }),
    reads: new Counter({
      name: 'assay_reads_total',
      help: 'Jobs that read a connection, by what they ended in: done, more, wait, overtaken or a fault code.',
      labelNames: ['provider', 'outcome'],
      registers,
    }),
    breakdowns: new Counter({
      name: 'assay_read_breakdowns_total',
      help: 'Reads that ended in an error of our own. The log has the connection and the cause.',
      registers,
    }),
    deriveSeconds: new Histogram({
      name: 'assay_derive_duration_seconds',
      help: 'Time to derive what was due of one connection, in one job.',
      labelNames: ['provider'],
      buckets: jobBuckets,
      registers,
    }),
    commitSeconds: new Histogram({
      name: 'assay_commit_duration_seconds',
      help: 'Time of the transaction that keeps pages: records, bookmark and covered window.',
      labelNames: ['provider'],
      buckets: databaseBuckets,
      registers,
    }),
    deliveries: new Counter({
      name: 'assay_webhook_attempts_total',
      help: 'Attempts to send a webhook message: delivered or failed.',
      labelNames: ['outcome'],
      registers,
    }),
    mails: new Counter({
      name: 'assay_sign_in_mails_total',
      help: 'Sign-in mails: sent, refused (the mail server will never take it) or failed (tried again).',
      labelNames: ['outcome'],
      registers,
    }),
  }
}

function createCallMetrics(registers: Registry[]) {
  return {
    calls: new Counter({
      name: 'assay_provider_calls_total',
      help: 'Calls to a provider, by what came back: answer or a fault code.',
      labelNames: ['provider', 'outcome'],
      registers,
    }),
    callSeconds: new Histogram({
      name: 'assay_provider_call_duration_seconds',
      help: 'Time of one call to a provider, without the wait for its budget.',
      labelNames: ['provider'],
      buckets: callBuckets,
      registers,
    }),
    held: new Counter({
      name: 'assay_provider_calls_held_total',
      help: 'Calls that were not made: budget (the wait is too long for a job), circuit (the provider is away), overtaken.',
      labelNames: ['provider', 'reason'],
      registers,
    }),
    admissionSeconds: new Histogram({
      name: 'assay_provider_admission_duration_seconds',
      help: 'Time that a job waited before a call, for the budget of its provider.',
      labelNames: ['provider'],
      buckets: databaseBuckets,
      registers,
    }),
  }
}

export interface PoolUsage {
  busy: number
  idle: number
  waiting: number
}

function createDatabaseMetrics(registers: Registry[]) {
  let readUsage: (() => PoolUsage) | undefined
  const connections = new Gauge({
    name: 'assay_database_connections',
    help: 'Connections of this process to PostgreSQL, without those of the job queue.',
    labelNames: ['state'],
    registers,
    collect() {
      const usage = readUsage?.()
      if (usage === undefined) return
      connections.set({ state: 'busy' }, usage.busy)
      connections.set({ state: 'idle' }, usage.idle)
      waiting.set(usage.waiting)
    },
  })
  const waiting = new Gauge({
    name: 'assay_database_waiting',
    help: 'Callers that wait for a connection now.',
    registers,
  })
  return {
    /** From now on the gauges report this pool whenever they are scraped. */
    watchPool(usage: () => PoolUsage): void {
      readUsage = usage
    },
    poolWaitSeconds: new Histogram({
      name: 'assay_database_wait_seconds',
      help: 'Time that callers waited because every connection was in use.',
      buckets: databaseBuckets,
      registers,
    }),
  }
}

/** The process itself: memory, processor time, event loop, garbage collection. Once for each registry. */
export function collectProcess({ registry }: Pick<Metrics, 'registry'>): void {
  collectDefaultMetrics({ register: registry })
}
