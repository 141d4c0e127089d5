/**
 * Whatever happens on the chain, the drafts add up to the balances: to the lamport, and to the smallest unit of each
 * token.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { World, events, readAll, addUp } from './test-world.ts'

describe('the sums of a Solana wallet', () => {
  it('any history explains the resulting balances', async () => {
    const happening = fc.record({
      name: fc.constantFrom(...Object.keys(events)),
      amount: fc.bigInt({ min: 0n, max: 3_000_000_000n }),
      which: fc.integer({ min: 1, max: 2 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 40 }), fc.nat(), fc.nat(40), async (happenings, edge, old) => {
        const world = new World()
        world.ownersSince = world.atSeconds + old * 400
        const startMs = world.atSeconds * 1_000
        for (const { name, amount, which } of happenings) events[name]?.(world, amount, which)
        const edgeMs = startMs + (edge % (world.atSeconds * 1_000 - startMs + 1))
        const { drafts, balances } = await readAll(world.observe(), { edgeMs })
        assert.deepEqual(addUp(drafts), balances)
      }),
      { numRuns: 60 },
    )
  })
})
