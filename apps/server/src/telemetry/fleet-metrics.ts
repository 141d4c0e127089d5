/**
 * Metrics of the whole installation, read from the database on request. Every process would give the same figures, so
 * they have their own address (/metrics/fleet): one scrape reads them once, however many processes run.
 */
import { AggregatorRegistry, Gauge, Registry, type MetricObjectWithValues, type MetricValue } from 'prom-client'

/** One number with the labels it belongs to. */
export interface Figure {
  labels?: Readonly<Record<string, string>>
  value: number
}

export interface FleetFigures {
  workersAlive: number
  queueJobs: readonly Figure[]
  queueOldest: readonly Figure[]
  queueFailing: readonly Figure[]
  connections: readonly Figure[]
  connectionOverdue: readonly Figure[]
  proofGrades: readonly Figure[]
  circuitsOpen: readonly Figure[]
  webhookWaiting: number
  webhookOldestSeconds: number
  feedNotices: number
  databaseBytes: number
}

type Shape = Record<keyof FleetFigures, { name: string; help: string; labelNames?: readonly string[] }>

const shape: Shape = {
  workersAlive: {
    name: 'assay_workers_alive',
    help: 'Workers that have given a sign of life within ASSAY_WORKER_SILENT_AFTER.',
  },
  queueJobs: {
    name: 'assay_queue_jobs',
    help: 'Jobs by what they are and whether they run, are due or wait for their time.',
    labelNames: ['kind', 'state'],
  },
  queueOldest: {
    name: 'assay_queue_oldest_due_seconds',
    help: 'How long the job that has waited longest is overdue, by priority. A person waits for interactive jobs.',
    labelNames: ['priority'],
  },
  queueFailing: {
    name: 'assay_queue_failing_jobs',
    help: 'Jobs whose last attempt failed.',
    labelNames: ['kind'],
  },
  connections: {
    name: 'assay_connections',
    help: 'Connections by provider, status and what is wrong with them (none when nothing is).',
    labelNames: ['provider', 'status', 'cause'],
  },
  connectionOverdue: {
    name: 'assay_connection_overdue_seconds',
    help: 'How late the connection is that has waited longest for a read.',
    labelNames: ['provider'],
  },
  proofGrades: {
    name: 'assay_proof_grades',
    help: 'Connections by how well their balances are proved; none before the first verdict.',
    labelNames: ['provider', 'grade'],
  },
  circuitsOpen: {
    name: 'assay_circuit_open',
    help: '1 while a provider is not asked because it does not answer, 0 while it only fails. Absent when it answers.',
    labelNames: ['provider'],
  },
  webhookWaiting: { name: 'assay_webhook_messages_waiting', help: 'Webhook messages that were not delivered yet.' },
  webhookOldestSeconds: {
    name: 'assay_webhook_oldest_seconds',
    help: 'Age of the webhook message that has waited longest.',
  },
  feedNotices: {
    name: 'assay_feed_notices_waiting',
    help: 'Changes that the feeds and statistics of tenants do not show yet. Counted up to 100,000.',
  },
  databaseBytes: { name: 'assay_database_bytes', help: 'Size of the database on disk.' },
}

export interface FleetMetrics {
  registry: Registry
  /** The present figures as Prometheus reads them. */
  read(): Promise<string>
}

export function createFleetMetrics(readFleet: () => Promise<FleetFigures>): FleetMetrics {
  const registry = new Registry()
  const gauges = Object.entries(shape).map(([key, { name, help, labelNames = [] }]) => ({
    key: key as keyof FleetFigures,
    gauge: new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] }),
  }))

  async function refresh(): Promise<string> {
    const figures = await readFleet()
    for (const { key, gauge } of gauges) {
      const found = figures[key]
      gauge.reset()
      for (const { labels = {}, value } of typeof found === 'number' ? [{ value: found }] : found) {
        gauge.set(labels, value)
      }
    }
    return registry.metrics()
  }

  let underWay: Promise<string> | undefined
  return {
    registry,
    // Counting every connection takes a scan, so concurrent callers share it.
    read() {
      underWay ??= refresh().finally(() => (underWay = undefined))
      return underWay
    },
  }
}

/** The metrics of one process, as `registry.getMetricsAsJSON()` returns them. */
export type OwnMetrics = MetricObjectWithValues<MetricValue<string>>[]

/** Counters, histograms and gauges are summed, unless a metric of Node says otherwise. */
export function addUp(processes: readonly OwnMetrics[]): Registry {
  return AggregatorRegistry.aggregate(processes.map((metrics) => [...metrics]))
}
