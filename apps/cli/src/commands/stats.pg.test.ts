/** `assay stats` as an operator uses it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase, toDatabaseUrl } from '../../../../test/postgres.ts'
import { testKeyTexts } from '../../../server/src/test-keys.ts'
import { run, type Ended } from '../test-cli.ts'

it('assay stats verify lists differences and exits with 1, and rebuild corrects them', async (t) => {
  const { db, connection } = await testDatabase(t)
  const environment = { DATABASE_URL: toDatabaseUrl(connection), ...testKeyTexts('test') }
  const assay = (...words: string[]): Promise<Ended> => run(['stats', ...words], environment)
  await db.execute(
    `with tenant as (insert into tenants (id, name, created_at) values ('ten_a', 'A', now()) returning tenant_key)
     insert into tenant_statistics select tenant_key, 'provider', 'kraken', '', 2, 3, 0 from tenant`,
  )

  const wrong = await assay('verify')
  assert.equal(wrong.code, 1)
  assert.match(wrong.out, /^ten_a +all together +provider +kraken +2 3 0 +-$/m)
  assert.match(wrong.out, /assay stats rebuild/)
  assert.deepEqual(await assay('rebuild'), { code: 0, out: 'Counted the statistics of 1 tenants again.\n', err: '' })
  assert.deepEqual(await assay('verify', '--json'), { code: 0, out: '[]\n', err: '' })
})
