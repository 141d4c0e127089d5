/** Five hundred of the campaign's twenty thousand (`npm run campaign -- bad-input`), against the whole service. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { signInForBadInput } from './bad-input-bearers.ts'
import { badInputSettings, sendBadInput } from './bad-input.ts'
import { fetchDocuments } from './openapi-documents.ts'
import { startTestService } from './service.ts'

it('whatever arrives at whichever call, the answer is deliberate', async (t) => {
  const { url } = await startTestService(t, { settings: badInputSettings })
  const { operations } = await fetchDocuments(url)
  const { byStatus, faults } = await sendBadInput({
    url,
    operations,
    requests: 500,
    seed: 1,
    signIn: () => signInForBadInput(url),
  })
  assert.deepEqual(faults, [])
  // Requests that fail at the first check say nothing about the others.
  for (const status of [200, 400, 401, 404, 405]) assert.ok((byStatus.get(status) ?? 0) > 0, String(status))
})
