/** A small version of the export campaign (`npm run campaign -- export`), which compares 10,000 with 100,000 rows. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { measureExports } from '../campaigns/memory/export.ts'
import { startTestService } from '../service.ts'

it('an export of ten times the rows to a slow reader has all of them and needs no more memory', async (t) => {
  const service = await startTestService(t, { role: 'api' })
  const [small, large] = await measureExports(service, [1_500, 15_000])
  assert.ok(small && large)
  assert.deepEqual([small.csv, small.ndjson, large.csv, large.ndjson], [1_500, 1_500, 15_000, 15_000])
  const grown = large.peakMiB / small.peakMiB
  assert.ok(grown <= 1.2, `${small.peakMiB} MiB, then ${large.peakMiB} MiB for ${large.megabytes} MB`)
})
