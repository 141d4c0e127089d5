import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { markInstallation } from './installation.ts'
import type { Database } from './sql.ts'

/** assay_now() is ahead of the machine's clock by so much: it lies between two looks at that, however far apart they are. */
async function assertAhead(db: Database, seconds: number): Promise<void> {
  const { before, now, after } = await db.row<{ before: string; now: string; after: string }>(
    'select clock_timestamp() as before, assay_now() as now, clock_timestamp() as after',
  )
  const aheadMs = seconds * 1_000
  assert.ok(Date.parse(before) + aheadMs <= Date.parse(now), `${before} and ${now}`)
  assert.ok(Date.parse(now) <= Date.parse(after) + aheadMs, `${now} and ${after}`)
}

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

test('assay_now() is the time in whole milliseconds', async (t) => {
  const { db } = await testDatabase(t)
  await assertAhead(db, 0)
  const { microseconds } = await db.row<{ microseconds: number }>(
    'select sum(extract(microseconds from assay_now())::int % 1000)::int as microseconds from generate_series(1, 10)',
  )
  assert.equal(microseconds, 0)
})

test('the clock offset moves assay_now() in a sandbox, and nowhere else', async (t) => {
  const { db } = await testDatabase(t)
  await db.execute('update sandbox_clock set offset_ms = $1', ['3600000'])
  await assertAhead(db, 0)
  await markInstallation(db, true)
  await assertAhead(db, 3_600)

  const { db: production } = await testDatabase(t)
  await markInstallation(production, false)
  await production.execute('update sandbox_clock set offset_ms = $1', ['3600000'])
  await assertAhead(production, 0)
})

test('the clock cannot be set back before the machine', async (t) => {
  const { db } = await testDatabase(t)
  await assert.rejects(db.execute('update sandbox_clock set offset_ms = $1', ['-1']), { code: '23514' })
})

test('assay_now() can be the bound of an index scan, whatever the search_path', async (t) => {
  const { db } = await testDatabase(t)
  await db.execute(`create table job (due_at timestamptz primary key);
    insert into job select clock_timestamp() + n * interval '1 hour' from generate_series(-5, 20000) n; analyze job`)
  const plan = await db.rows<Record<string, string>>('explain select * from job where due_at < assay_now()')
  assert.match(plan.map((line) => line['QUERY PLAN']).join('\n'), /Index Cond: \(due_at < assay_now\(\)\)/)
  await db.transaction(async (tx) => {
    await tx.execute('set local search_path = pg_catalog')
    assert.ok(await tx.row('select public.assay_now()'))
  })
})
