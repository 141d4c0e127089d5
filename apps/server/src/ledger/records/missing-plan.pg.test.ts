/** What it costs to judge records that are missing, of a list that came after the statistics of PostgreSQL were made. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { countScanned, recordStatements } from '../../db/test-statements.ts'
import { judgeMissing } from './reread-store.ts'

it('records that are missing are not each compared with all records of their list', async (t) => {
  const { db } = await testDatabase(t)
  const at = db.now()
  async function keep(userKey: string, partition: string, records: number): Promise<void> {
    await db.execute(
      `insert into raw_records (user_key, connection_key, pending, occurred_at, fetched_at, stream, partition, source_key,
         group_key, body)
       select $1::bigint, 1, false, $2::timestamptz - n * interval '1 minute', $2::timestamptz, 'erc20', $4, n, n, '{}'
       from generate_series(1, $3::integer) n`,
      [userKey, at, records, partition],
    )
  }
  for (let user = 1; user <= 40; user += 1) await keep(String(user), '1', 400)
  await db.execute('vacuum analyze raw_records')
  const ref = {
    tenantKey: 1,
    tenantId: 'ten_a',
    userKey: '1000',
    userId: 'usr_a',
    connectionKey: 1,
    connectionId: 'con_a',
  }
  const [records, missing] = [6_000, 1_000]
  await keep(ref.userKey, '8453', records)
  const window = {
    startMs: 0,
    endMs: Date.parse(at),
    keys: Array.from({ length: records - missing }, (_, n) => `${n + 1}`),
  }
  const [sent] = await recordStatements(async () => {
    const doubt = await judgeMissing(db, ref, { stream: 'erc20', partition: '8453' }, window)
    assert.deepEqual(doubt, { missing, known: records })
  })
  const noted = await db.row('select count(*)::integer as missing from raw_records where missing_since is not null')
  assert.deepEqual(noted, { missing })
  assert.ok(sent !== undefined)
  const scanned = await countScanned(db, sent)
  assert.ok(scanned < 20 * records, `${scanned} rows`)
})
