/** What matching own transfers costs a user who came after the statistics of PostgreSQL were made. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { countScanned, recordStatements } from '../../db/test-statements.ts'
import { listNear, listTransferLegIds } from './transfers-store.ts'

it('the legs of a few transactions are found among those of a long history', async (t) => {
  const { db } = await testDatabase(t)
  async function keep(userKey: number, legs: number): Promise<void> {
    await db.execute(
      `insert into transfer_legs (user_key, transaction_id, connection_key, direction, asset_key, amount, fee,
         occurred_at, category, method, confidence, due)
       select $1::bigint, md5($1::bigint::text || ' ' || n)::uuid, 1 + n % 2, case n % 2 when 0 then 'out' else 'in' end,
         1, n / 2, 0, $2::timestamptz - make_interval(days => n), 'deposit', 'venue', 1, false
       from generate_series(1, $3::integer) n`,
      [userKey, db.now(), legs],
    )
  }
  for (let user = 1; user <= 40; user += 1) await keep(user, 400)
  // As autovacuum does: without it, an index with the order of the table has no advantage.
  await db.execute('vacuum analyze transfer_legs')
  await keep(1_000, 5_000)
  const user = { userKey: '1000' }
  const rows = await db.rows<{ id: string }>(
    'select transaction_id as id from transfer_legs where user_key = $1 order by occurred_at limit 100',
    [user.userKey],
  )
  const ids = rows.map(({ id }) => id)
  for (const read of [() => listTransferLegIds(db, user, ids), () => listNear(db, user, ids, 20)]) {
    const [sent] = await recordStatements(read)
    assert.ok(sent !== undefined)
    const scanned = await countScanned(db, sent)
    assert.ok(scanned < 10 * ids.length, `${scanned} rows`)
  }
})
