import assert from 'node:assert/strict'
import { it } from 'node:test'
import { emptyDatabase, openTestDatabase, testDatabase } from '../../../../../test/postgres.ts'
import { recordStatements } from '../../db/test-statements.ts'
import { answerInTime, findUnready, shareChecks } from './health.ts'

it('a migrated database is ready', async (t) => {
  const { db } = await testDatabase(t)
  assert.equal(await findUnready(db), undefined)
})

it('a database with pending migrations is not ready, and the reason says what to run', async (t) => {
  const { db } = await emptyDatabase(t)
  assert.match((await findUnready(db)) ?? '', /^the database waits for \d+ migrations; run: assay migrate$/)
})

it('a database that is ahead of the code is ready, so the old processes of a rolling update continue to serve', async (t) => {
  const { db } = await testDatabase(t)
  await db.execute("insert into schema_migrations (name, sha256) values ('9999_later.sql', $1)", ['0'.repeat(64)])
  assert.equal(await findUnready(db), undefined)
})

it('a database that is away is not ready', async (t) => {
  const { connection } = await testDatabase(t)
  const db = openTestDatabase(connection)
  await db.close()
  assert.equal(await findUnready(db), 'the database is away')
})

it('simultaneous callers share one query of the database, and the next caller queries again', async (t) => {
  const { db } = await testDatabase(t)
  const look = shareChecks(() => findUnready(db))
  const alone = await recordStatements(() => look())
  const together = await recordStatements(() => Promise.all(Array.from({ length: 50 }, () => look())))
  assert.ok(alone.length > 0)
  assert.equal(together.length, alone.length)
})

it('a database that does not answer is not ready, and is again when it does', async (t) => {
  const { db, connection } = await testDatabase(t)
  const other = openTestDatabase(connection)
  t.after(() => other.close())
  const look = answerInTime(
    shareChecks(() => findUnready(db)),
    50,
  )
  await other.transaction(async (tx) => {
    await tx.execute('lock table schema_migrations')
    assert.equal(await look(), 'the database does not answer')
    assert.equal(await look(), 'the database does not answer')
  })
  assert.equal(await findUnready(db), undefined)
})
