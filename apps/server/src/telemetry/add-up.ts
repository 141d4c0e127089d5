/** The metrics of several processes as one. */
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'

/** Of one process, as `registry.getMetricsAsJSON()` has them. */
export type OwnMetrics = MetricObjectWithValues<MetricValue<string>>[]

/** Counters, histograms and gauges are summed, unless a metric of Node says otherwise. */
export function addUp(processes: readonly OwnMetrics[]): Registry {
  return AggregatorRegistry.aggregate(processes.map((metrics) => [...metrics]))
}
