/** What a worker counts while it connects, reads, waits and fails, with the simulated Kraken. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMetrics } from '../telemetry/index.ts'
import { openEngine } from '../test-engine.ts'

describe('the metrics of a worker', async () => {
  const metrics = createMetrics()
  const engine = await openEngine({}, { metrics })

  /** Returns counts such as { 'kraken answer': 12 }; for a histogram, how often it was observed. */
  async function read(name: string): Promise<Record<string, number>> {
    const found = await metrics.registry.getSingleMetric(name)?.get()
    const values = (found?.values ?? []) as { metricName?: string; labels: Record<string, string>; value: number }[]
    const counted = values.filter(({ metricName = name }) => metricName === name || metricName === `${name}_count`)
    return Object.fromEntries(counted.map(({ labels, value }) => [Object.values(labels).join(' '), value]))
  }

  it('count every call that reached the provider, and time reading, deriving and committing', async () => {
    const connection = await engine.connect(await engine.newOwner(), 'default')
    await engine.drain({ delayed: true })
    const reached = Object.values(await engine.listCalls(connection)).reduce((sum, calls) => sum + calls, 0)
    const calls = await read('assay_provider_calls_total')
    assert.ok((calls['kraken answer'] ?? 0) > 0)
    // One call of the engine may be several requests, such as the balances of two wallets, but never none.
    assert.ok((calls['kraken answer'] ?? 0) <= reached)
    const timed = Object.values(calls).reduce((sum, count) => sum + count, 0)
    assert.deepEqual(await read('assay_provider_call_duration_seconds'), { kraken: timed })
    assert.deepEqual(await read('assay_provider_admission_duration_seconds'), { kraken: timed })
    assert.ok(((await read('assay_reads_total'))['kraken done'] ?? 0) >= 1)
    for (const name of ['assay_derive_duration_seconds', 'assay_commit_duration_seconds']) {
      assert.ok(((await read(name))['kraken'] ?? 0) >= 1, name)
    }
  })

  it('distinguish an outage of the provider from a refused key', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    await engine.control('providers/kraken/faults', { kind: 'down', account_id: ref.accountId, times: 1 })
    await engine.drain({
      enough: async () => (await engine.connections.find(ref, ref.connectionId))?.status_cause !== null,
    })
    await engine.control(`accounts/${ref.accountId}/key`, { revoked: true })
    await engine.drain({ delayed: true })
    const outcomes = await read('assay_reads_total')
    assert.deepEqual([outcomes['kraken venue_down'], outcomes['kraken invalid_credentials']], [1, 1])
  })
})
