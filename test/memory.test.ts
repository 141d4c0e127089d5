/** A small version of the memory campaign (`npm run campaign -- memory`), which compares 10,000 with 100,000 entries. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { measurePeaks } from './campaigns/memory.ts'
import { startTestService } from './service.ts'

it('a worker that reads five times the history needs no more memory for it', async (t) => {
  const service = await startTestService(t, { role: 'api' })
  const [small, large] = await measurePeaks(service, [1_500, 8_000])
  assert.ok(small && large)
  assert.ok(large.entries >= 8_000 && small.entries <= 1_600, `${small.entries} and ${large.entries} entries`)
  const grown = large.peakMiB / small.peakMiB
  assert.ok(grown <= 1.2, `${small.peakMiB} MiB, then ${large.peakMiB} MiB`)
})
