import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseConfig } from '../config/config.ts'
import { choosePace, everyProvider } from './pace.ts'

const fast = parseConfig({ ASSAY_MODE: 'sandbox', ASSAY_SANDBOX_PACE: 'fast' })

describe('the pace', () => {
  it('divides waits by a hundred in a fast sandbox, and fills budgets a hundred times as fast', async () => {
    const { scaleWait, scaleRegistry } = choosePace(fast)
    assert.equal(scaleWait(60_000), 600)
    const registry = scaleRegistry(everyProvider)
    const settlesMs = (of: typeof everyProvider): number => of.getDefinition('kraken').settlesMs
    assert.equal(settlesMs(registry), settlesMs(everyProvider) / 100)
    const [real, scaled] = await Promise.all([everyProvider, registry].map((of) => of.loadConnector('kraken')))
    const refillsOf = (connector = real): number[] =>
      connector?.budget.buckets.flatMap(({ tiers }) => tiers.map(({ refillPerSecond }) => refillPerSecond)) ?? []
    assert.ok(refillsOf(real).length > 0)
    assert.deepEqual(
      refillsOf(scaled),
      refillsOf(real).map((refill) => refill * 100),
    )
  })

  it('changes nothing in production, whatever the sandbox is set to', () => {
    const { scaleWait, scaleRegistry } = choosePace({ ...fast, mode: 'production' })
    assert.equal(scaleWait(60_000), 60_000)
    assert.equal(scaleRegistry(everyProvider), everyProvider)
  })
})
