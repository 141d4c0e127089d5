/**
 * Production servers may be as old as PostgreSQL 15: this file runs the tests of the pool, the migrations and the
 * installation on one.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { openTestDatabase, startTestPostgres, type TestAddress } from '../../../../test/postgres.ts'
import { findBinaries } from './embedded/binaries.ts'

test('pool, migrations and installation hold on PostgreSQL 15', async (t) => {
  const server = await startTestPostgres(await findBinaries(`postgres-15-${process.platform}-${process.arch}`))
  t.after(() => server.stop())
  const address = JSON.parse(server.address) as Omit<TestAddress, 'database'>
  const db = openTestDatabase({ ...address, database: 'postgres' })
  t.after(() => db.close())
  const { version } = await db.row<{ version: string }>("select current_setting('server_version') as version")
  assert.match(version, /^15\./)

  const files = ['pool/pool.pg.test.ts', 'migrate.pg.test.ts', 'installation.pg.test.ts']
  const paths = files.map((name) => path.join(import.meta.dirname, name))
  // The child gets nothing else of our environment: a test run that finds itself inside another one refuses to start.
  const env = { ASSAY_TEST_POSTGRES: server.address }
  const run = promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap', ...paths], { env })
  const { stdout } = await run.catch((error: unknown) => assert.fail((error as { stdout: string }).stdout))
  assert.match(stdout, /^# fail 0$/m)
  assert.match(stdout, /^# pass [1-9]\d+$/m)
})
