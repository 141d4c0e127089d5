import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { emptyDatabase, openTestDatabase, silentLog } from '../../../../test/postgres.ts'
import { until } from '../../../../test/until.ts'
import { checkMigrations, migrate } from './migrate.ts'

async function migrationFiles(t: TestContext, files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-migrations-'))
  t.after(() => rm(directory, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(directory, name), text)
  return directory
}

const log = silentLog
const first = { '0001_first.sql': 'create table entry (a int);' }
const second = { '0002_second.sql': 'alter table entry add column b int; insert into entry values (1, 2);' }

test('the migrations apply to an empty database, and do nothing the second time', async (t) => {
  const { db } = await emptyDatabase(t)
  const applied = await migrate(db, { log })
  assert.equal(applied[0], '0001_baseline.sql')
  assert.deepEqual(await migrate(db, { log }), [])
  assert.deepEqual(await checkMigrations(db), { applied, pending: [], drift: [] })
})

test('a database of the first design is refused, and the message names the fix', async (t) => {
  const { db } = await emptyDatabase(t)
  await db.execute('create table schema_migrations (name text primary key, sha256 text not null)')
  await db.execute('insert into schema_migrations values ($1, $2)', ['0001_foundation.sql', 'aa'])
  await assert.rejects(migrate(db, { log }), /before 0\.2\.0.*Move the data directory away/s)
  assert.equal((await checkMigrations(db)).drift.length, 1)
})

test('files apply in the order of their numbers, and checkMigrations lists those that are pending', async (t) => {
  const { db } = await emptyDatabase(t)
  const directory = await migrationFiles(t, { ...second, ...first })
  const names = ['0001_first.sql', '0002_second.sql']
  assert.deepEqual(await checkMigrations(db, directory), { applied: [], pending: names, drift: [] })
  assert.deepEqual(await migrate(db, { log, directory }), names)
  assert.deepEqual(await db.rows('select * from entry'), [{ a: 1, b: 2 }])
})

test('three processes that start at once apply each migration once', async (t) => {
  const { db, connection } = await emptyDatabase(t)
  const directory = await migrationFiles(t, { ...first, ...second })
  const others = [openTestDatabase(connection), openTestDatabase(connection)]
  t.after(() => Promise.all(others.map((other) => other.close())))
  const applied = await Promise.all([db, ...others].map((handle) => migrate(handle, { log, directory })))
  assert.deepEqual(applied.flat().toSorted(), ['0001_first.sql', '0002_second.sql'])
  assert.deepEqual(await db.rows('select * from entry'), [{ a: 1, b: 2 }])
})

test('a start that was asked to stop while another process migrated applies nothing', async (t) => {
  const { db, connection } = await emptyDatabase(t)
  const other = openTestDatabase(connection)
  t.after(() => other.close())
  const directory = await migrationFiles(t, { ...first, ...second })
  const asked = new AbortController()
  const waiting = await other.transaction(async (tx) => {
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('assay schema_migrations', 0))")
    const migrating = migrate(db, { log, directory, signal: asked.signal }).catch((error: unknown) => error)
    const isWaiting = "select from pg_locks where locktype = 'advisory' and not granted"
    await until('the wait', async () => ((await tx.rows(isWaiting)).length > 0 ? true : undefined))
    asked.abort()
    return { migrating }
  })
  assert.equal(await waiting.migrating, asked.signal.reason)
  assert.deepEqual((await checkMigrations(db, directory)).applied, [])
})

test('a migration that waits for a table holds up no other statement on it, and is applied when the table is free', async (t) => {
  const { db, connection } = await emptyDatabase(t)
  await migrate(db, { log, directory: await migrationFiles(t, first) })
  const [backup, request] = [openTestDatabase(connection), openTestDatabase(connection)]
  t.after(() => Promise.all([backup.close(), request.close()]))
  const directory = await migrationFiles(t, { ...first, ...second })
  const { migrating } = await backup.transaction(async (tx) => {
    await tx.rows('select from entry')
    const migrating = migrate(db, { log, directory, lockPauseMs: 100 })
    const isWaiting = "select from pg_locks where locktype = 'relation' and not granted"
    await until('the wait', async () => ((await tx.rows(isWaiting)).length > 0 ? true : undefined))
    assert.deepEqual(await request.rows('select * from entry'), [])
    return { migrating }
  })
  assert.deepEqual(await migrating, ['0002_second.sql'])
})

test('a migration that fails halfway leaves nothing, and the next start continues from there', async (t) => {
  const { db } = await emptyDatabase(t)
  const directory = await migrationFiles(t, { ...first, '0002_second.sql': 'create table half (a int); select 1 / 0;' })
  await assert.rejects(migrate(db, { log, directory }), { code: '22012' })
  assert.deepEqual(await db.row("select to_regclass('half') as half"), { half: null })
  assert.deepEqual((await checkMigrations(db, directory)).applied, ['0001_first.sql'])
  await writeFile(path.join(directory, '0002_second.sql'), second['0002_second.sql'])
  assert.deepEqual(await migrate(db, { log, directory }), ['0002_second.sql'])
})

test('a file edited after it was applied is refused by name', async (t) => {
  const { db } = await emptyDatabase(t)
  const directory = await migrationFiles(t, first)
  await migrate(db, { log, directory })
  await writeFile(path.join(directory, '0001_first.sql'), 'create table entry (a bigint);')
  await assert.rejects(migrate(db, { log, directory }), /0001_first\.sql was edited after it was applied/)
  assert.match((await checkMigrations(db, directory)).drift.join(), /0001_first\.sql was edited/)
})

test('a missing file, a database ahead of the code and a file that was added too late are each reported', async (t) => {
  const { db } = await emptyDatabase(t)
  const third = { '0003_third.sql': 'create table third (a int);' }
  const directory = await migrationFiles(t, { ...first, ...third })
  await migrate(db, { log, directory })

  const older = await migrationFiles(t, first)
  await assert.rejects(migrate(db, { log, directory: older }), /0003_third\.sql was applied by a newer version/)
  const holed = await migrationFiles(t, third)
  await assert.rejects(migrate(db, { log, directory: holed }), /0001_first\.sql was applied, and its file is missing/)
  const late = await migrationFiles(t, { ...first, ...second, ...third })
  await assert.rejects(
    migrate(db, { log, directory: late }),
    /0002_second\.sql was not applied, although the later 0003/,
  )
})

test('names without a number and two files with one number are refused', async (t) => {
  const { db } = await emptyDatabase(t)
  const unnumbered = await migrationFiles(t, { 'first.sql': '' })
  await assert.rejects(migrate(db, { log, directory: unnumbered }), /named like 0001_foundation\.sql, not first\.sql/)
  const twice = await migrationFiles(t, { ...first, '0001_other.sql': '' })
  await assert.rejects(migrate(db, { log, directory: twice }), /Two migrations have the number 0001/)
})
