import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { ensureStatistics } from './store.ts'

const rows = 6_000

async function readHistory(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(
      `insert into raw_records (user_key, connection_key, pending, occurred_at, fetched_at, stream, partition, source_key,
         group_key, body)
       select 1, 1, false, '2026-03-02', '2026-03-02', 'ledger', '', n, n, '{}' from generate_series(1, $1::integer) n`,
      [rows],
    )
    // PostgreSQL counts a connection's changes within a second; here they count at the commit.
    await tx.execute('select pg_stat_force_next_flush()')
  })
}

async function readSize(db: Database): Promise<{ bytes: number; rows: number }> {
  return db.row(`select pg_relation_size(oid)::integer as bytes, reltuples::integer as rows
    from pg_class where relname = 'raw_records'`)
}

it('a history that fills the room of a destroyed one is analysed, although the file does not grow', async (t) => {
  const { db } = await testDatabase(t)
  await readHistory(db)
  // The last row keeps the file from being cut.
  await db.execute('delete from raw_records where source_key <> $1::text', [String(rows)])
  await db.execute('update raw_records set source_key = $1', ['left'])
  await db.execute('vacuum analyze raw_records')
  const emptied = await readSize(db)
  assert.equal(emptied.rows, 1)
  await ensureStatistics(db)
  assert.deepEqual(await readSize(db), emptied, 'an empty table is left alone')
  await readHistory(db)
  await ensureStatistics(db)
  const filled = await readSize(db)
  assert.equal(filled.rows, rows + 1)
  assert.ok(filled.bytes <= emptied.bytes * 1.1, `the file grew from ${emptied.bytes} to ${filled.bytes} bytes`)
})

it('a table that an operator is vacuuming is skipped without a wait, and analysed once it is free', async (t) => {
  const { db } = await testDatabase(t)
  await readHistory(db)
  await db.transaction(async (vacuum) => {
    await vacuum.execute('lock table raw_records in share update exclusive mode')
    await db.transaction(async (tx) => {
      await tx.execute(`set local lock_timeout = '100ms'`)
      await ensureStatistics(tx)
    })
  })
  assert.equal((await readSize(db)).rows, -1, 'never analysed')
  await ensureStatistics(db)
  assert.equal((await readSize(db)).rows, rows)
})
