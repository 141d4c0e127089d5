/** `assay cluster` on a single server; the campaign `cluster` runs it on a cluster. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase, toDatabaseUrl } from '../../../../test/postgres.ts'
import { testKeyTexts } from '../../../server/src/test-keys.ts'
import { run } from '../test-cli.ts'

it('assay cluster distribute changes nothing on a server without Citus, and says what to do', async (t) => {
  const { db, connection } = await testDatabase(t)
  const environment = { DATABASE_URL: toDatabaseUrl(connection), ...testKeyTexts('test') }
  const before = await db.rows('select oid from pg_class order by oid')
  const { code, out, err } = await run(['cluster', 'distribute', '--apply'], environment)
  assert.deepEqual([code, out], [1, ''])
  assert.match(err, /^assay: This PostgreSQL server does not have Citus\. Install Citus on every node/)
  assert.deepEqual(await db.rows('select oid from pg_class order by oid'), before)
  assert.equal((await run(['cluster', 'gather'], environment)).code, 2)
})
