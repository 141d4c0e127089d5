import assert from 'node:assert/strict'
import { it } from 'node:test'
import { emptyDatabase, openTestDatabase, testDatabase } from '../../../../../test/postgres.ts'
import { findUnready } from './health.ts'

it('a migrated database is ready', async (t) => {
  const { db } = await testDatabase(t)
  assert.equal(await findUnready(db), undefined)
})

it('one with pending migrations is not, and says what to run', async (t) => {
  const { db } = await emptyDatabase(t)
  assert.match((await findUnready(db)) ?? '', /^the database waits for \d+ migrations; run: assay migrate$/)
})

it('one that is ahead of the code is ready: the old processes of a rolling update go on serving', async (t) => {
  const { db } = await testDatabase(t)
  await db.execute("insert into schema_migrations (name, sha256) values ('9999_later.sql', $1)", ['0'.repeat(64)])
  assert.equal(await findUnready(db), undefined)
})

it('one that is away is not ready', async (t) => {
  const { connection } = await testDatabase(t)
  const db = openTestDatabase(connection)
  await db.close()
  assert.equal(await findUnready(db), 'the database is away')
})
