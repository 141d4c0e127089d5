/** Telemetry: what this process and the whole installation report about themselves, for Prometheus. */
export { createFleetMetrics, type Figure, type FleetFigures, type FleetMetrics } from './fleet-metrics.ts'
export { addUp, type OwnMetrics } from './fleet-metrics.ts'
export { collectProcess, createMetrics, type Metrics } from './metrics.ts'
