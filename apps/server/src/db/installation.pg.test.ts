import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { markInstallation } from './installation.ts'

test('a database once used in sandbox mode is refused outside it', async (t) => {
  const { db } = await testDatabase(t)
  await markInstallation(db, true)
  await markInstallation(db, true)
  await assert.rejects(markInstallation(db, false), /was used in sandbox mode and cannot be used outside it/)
})

test('a database of real users is refused in sandbox mode', async (t) => {
  const { db } = await testDatabase(t)
  await markInstallation(db, false)
  await assert.rejects(markInstallation(db, true), /real users and cannot be used in sandbox mode/)
})

test('two processes that mark a new database at once cannot both win', async (t) => {
  const { db } = await testDatabase(t)
  const results = await Promise.allSettled([markInstallation(db, true), markInstallation(db, false)])
  assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})

test('the clock cannot be set back before the machine', async (t) => {
  const { db } = await testDatabase(t)
  await assert.rejects(db.execute('update sandbox_clock set offset_ms = $1', ['-1']), { code: '23514' })
})
