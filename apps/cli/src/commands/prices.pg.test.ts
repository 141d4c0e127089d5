/** `assay prices` as an operator uses it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase, toDatabaseUrl } from '../../../../test/postgres.ts'
import { testKeyTexts } from '../../../server/src/test-keys.ts'
import { run, type Ended } from '../test-cli.ts'

it('assay prices correct replaces the price of a day, and refuses invalid arguments before it opens the database', async (t) => {
  const { db, connection } = await testDatabase(t)
  const environment = { DATABASE_URL: toDatabaseUrl(connection), ...testKeyTexts('test') }
  const assay = (...words: string[]): Promise<Ended> => run(['prices', ...words], environment)
  for (const day of ['2024-02-31', '2025-02-29', '0000-01-01', '2024-3-1']) {
    const wrong = await assay('correct', 'crypto:bitcoin', day, '1')
    assert.equal(wrong.code, 2, day)
    assert.match(wrong.err, /^Usage: assay prices correct/m)
  }
  const corrected = await assay('correct', 'crypto:bitcoin', '2024-03-01', '61000.50')
  assert.deepEqual([corrected.code, corrected.err], [0, ''])
  const rows = await db.rows(
    'select asset_id, day::text, trim_scale(price_in_usd)::text as price, source, method from daily_prices',
  )
  assert.deepEqual(rows, [
    { asset_id: 'crypto:bitcoin', day: '2024-03-01', price: '61000.5', source: 'operator', method: 'correction' },
  ])
})
