/** What the group of a link key costs a user who came after the statistics of PostgreSQL were made. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { countScanned, recordStatements } from '../../db/test-statements.ts'
import { listAliases } from './group-store.ts'

it('the group of a link key is found among those of a long history', async (t) => {
  const { db } = await testDatabase(t)
  async function keep(userKey: string, aliases: number): Promise<void> {
    await db.execute(
      `insert into group_aliases (user_key, connection_key, link_key, group_key)
       select $1::bigint, 1, md5($1::bigint || ' ' || n), n from generate_series(1, $2::integer) n`,
      [userKey, aliases],
    )
  }
  for (let user = 1; user <= 40; user += 1) await keep(String(user), 400)
  await db.execute('vacuum analyze group_aliases')
  const ref = {
    tenantKey: 1,
    tenantId: 'ten_a',
    userKey: '1000',
    userId: 'usr_a',
    connectionKey: 1,
    connectionId: 'con_a',
  }
  await keep(ref.userKey, 5_000)
  const { key } = await db.row<{ key: string }>(
    'select link_key as key from group_aliases where user_key = $1 limit 1',
    [ref.userKey],
  )
  const [sent] = await recordStatements(async () => assert.equal((await listAliases(db, ref, [key])).size, 1))
  assert.ok(sent !== undefined)
  const scanned = await countScanned(db, sent)
  assert.ok(scanned < 10, `${scanned} rows`)
})
