/**
 * A small version of the memory campaign (`npm run campaign -- memory`), which compares 10,000 with 100,000 entries.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { grownMax, measurePeaks } from '../campaigns/memory/memory.ts'
import { startTestService } from '../service.ts'

/** A collection that comes late on a busy machine adds to a peak, so what a read needs is the least of several. */
const largeSizes = [12_000, 12_500, 13_000]

it('a worker that reads three times the history needs no more memory for it', async (t) => {
  const service = await startTestService(t, { role: 'api' })
  const [small] = await measurePeaks(service, [4_000])
  assert.ok(small !== undefined && small.entries <= 4_100, `${small?.entries} entries`)
  const peaks: number[] = []
  for (const size of largeSizes) {
    const [large] = await measurePeaks(service, [size])
    assert.ok(large !== undefined && large.entries >= size, `${large?.entries} entries`)
    peaks.push(large.peakMiB)
    if (large.peakMiB <= grownMax * small.peakMiB) return
  }
  assert.fail(`${small.peakMiB} MiB, then ${peaks.join(', ')} MiB`)
})
