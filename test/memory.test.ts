/** A small version of the memory campaign (`npm run campaign -- memory`), which compares 10,000 with 100,000 entries. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { grownMax, measurePeaks } from './campaigns/memory.ts'
import { startTestService } from './service.ts'

it('a worker that reads three times the history needs no more memory for it', async (t) => {
  const service = await startTestService(t, { role: 'api' })
  const [small, large] = await measurePeaks(service, [4_000, 12_000])
  assert.ok(small && large)
  assert.ok(large.entries >= 12_000 && small.entries <= 4_100, `${small.entries} and ${large.entries} entries`)
  const grown = large.peakMiB / small.peakMiB
  assert.ok(grown <= grownMax, `${small.peakMiB} MiB, then ${large.peakMiB} MiB`)
})
