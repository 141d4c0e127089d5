/** docs/metrics.md, and everything in deploy/ that names a metric, compared with the metrics that exist. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import type { MetricObject } from 'prom-client'
import { createFleetMetrics, type FleetFigures } from './fleet-metrics.ts'
import { createMetrics } from './metrics.ts'

const root = path.resolve(import.meta.dirname, '../../../..')
const fleetRegistry = createFleetMetrics(() => Promise.reject<FleetFigures>(new Error('not read here'))).registry
const processRegistry = createMetrics().registry

interface Described {
  help: string
  type: string
  labels: readonly string[]
}

async function describeAll(): Promise<Map<string, Described>> {
  const all = new Map<string, Described>()
  for (const registry of [processRegistry, fleetRegistry]) {
    for (const { name, help, type } of (await registry.getMetricsAsJSON()) as (MetricObject & { type: string })[]) {
      const metric = registry.getSingleMetric(name) as unknown as { labelNames: readonly string[] }
      all.set(name, { help, type, labels: metric.labelNames })
    }
  }
  return all
}

describe('docs/metrics.md', () => {
  const documented = readFileSync(path.join(root, 'docs/metrics.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('- `assay_'))

  it('has exactly one line for each metric, with its type, labels and help', async () => {
    const expected = [...(await describeAll())].map(([name, { type, labels, help }]) => {
      const by = labels.length === 0 ? '' : `, by ${labels.map((label) => `\`${label}\``).join(', ')}`
      return `- \`${name}\` (${type}${by}): ${help}`
    })
    assert.ok(expected.length > 20)
    assert.deepEqual(documented.toSorted(), expected.toSorted())
  })
})

describe('labels', () => {
  it('never use a name that Prometheus sets itself, because it would rename ours to exported_job', async () => {
    const used = new Set([...(await describeAll()).values()].flatMap(({ labels }) => labels))
    assert.deepEqual(
      ['job', 'instance'].filter((label) => used.has(label)),
      [],
    )
  })

  it('never name a user, a connection or a tenant', async () => {
    const allowed = [
      'method',
      'route',
      'status',
      'kind',
      'outcome',
      'provider',
      'reason',
      'state',
      'priority',
      'cause',
      'grade',
    ]
    const used = new Set([...(await describeAll()).values()].flatMap(({ labels }) => labels))
    assert.deepEqual(
      [...used].filter((label) => !allowed.includes(label)),
      [],
    )
  })
})
