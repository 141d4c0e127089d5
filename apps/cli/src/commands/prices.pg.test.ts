/** `assay prices` as an operator uses it, in its own process. */
import { readEnvironment } from '@assay/server/config'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { it } from 'node:test'
import { testDatabase, toDatabaseUrl } from '../../../../test/postgres.ts'
import { testKeyTexts } from '../../../server/src/test-keys.ts'

const program = path.resolve(import.meta.dirname, '../../bin/assay.mjs')

it('assay prices correct replaces the price of a day, and refuses a wrong call before it opens anything', async (t) => {
  const { db, connection } = await testDatabase(t)
  const env = {
    PATH: readEnvironment()['PATH'],
    DATABASE_URL: toDatabaseUrl(connection),
    ...testKeyTexts('test'),
  }
  const assay = (...words: string[]): Promise<{ code: unknown; err: string }> =>
    new Promise((resolve) => {
      execFile(process.execPath, [program, 'prices', ...words], { env }, (error, _out, err) =>
        resolve({ code: error?.code ?? 0, err }),
      )
    })
  const wrong = await assay('correct', 'crypto:bitcoin', '2024-02-31', '1')
  assert.equal(wrong.code, 2)
  assert.match(wrong.err, /usage: assay prices correct/)
  assert.deepEqual(await assay('correct', 'crypto:bitcoin', '2024-03-01', '61000.50'), { code: 0, err: '' })
  const rows = await db.rows(
    'select asset_id, day::text, trim_scale(price_in_usd)::text as price, source, method from daily_prices',
  )
  assert.deepEqual(rows, [
    { asset_id: 'crypto:bitcoin', day: '2024-03-01', price: '61000.5', source: 'operator', method: 'correction' },
  ])
})
