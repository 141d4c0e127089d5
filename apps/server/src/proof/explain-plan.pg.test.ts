/** What the records of a transaction cost a user who came after the statistics of PostgreSQL were made. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { countScanned, recordStatements } from '../db/test-statements.ts'
import { listRecords } from './explain-store.ts'

it('the records of one transaction are found among those of a long history', async (t) => {
  const { db } = await testDatabase(t)
  async function keep(userKey: number, records: number): Promise<void> {
    await db.execute(
      `insert into raw_records (user_key, connection_key, pending, occurred_at, fetched_at, stream, partition, source_key,
         group_key, body)
       select $1, 1, false, $2::timestamptz - make_interval(secs => n), $2, 'ledger', '', n, n, '{}'
       from generate_series(1, $3::integer) n`,
      [userKey, db.now(), records],
    )
  }
  for (let user = 1; user <= 40; user += 1) await keep(user, 400)
  // As autovacuum does: without it, an index with the order of the table has no advantage.
  await db.execute('vacuum analyze raw_records')
  await keep(1_000, 5_000)
  const of = {
    connection_key: 1,
    provider_id: 'kraken',
    group_key: '77',
    occurred_at: '',
    updated_at: '',
    document: '',
  }
  const owner = { tenantKey: 1, tenantId: 'ten_a', userKey: '1000', userId: 'usr_a' }
  const [sent] = await recordStatements(async () => {
    assert.equal((await listRecords(db, owner, of)).length, 1)
  })
  assert.ok(sent !== undefined)
  const scanned = await countScanned(db, sent)
  assert.ok(scanned < 10, `${scanned} rows`)
})
