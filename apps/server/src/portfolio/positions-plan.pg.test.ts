/** What a page of positions costs a user with many wallets, whatever plan PostgreSQL makes of it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { countScanned, recordStatements } from '../db/test-statements.ts'
import { readPositions, readSourcePositions } from './positions-store.ts'
import { addConnection, addUser } from './test-portfolio.ts'

it('a page of positions looks up the first wallets alone, and a sum those of each wallet once', async (t) => {
  const { db } = await testDatabase(t)
  const [wallets, tokens, readAt] = [60, 50, '2026-03-02T10:11:12.300Z']
  await db.execute(
    `insert into assets (id, kind, symbol, name) select 't' || n, 'crypto', 't' || n, 't' from generate_series(1, ${tokens}) n`,
    [],
  )
  const addWallets = async (name: string, count: number, held: number) => {
    const user = await addUser(db, name)
    for (let key = 1; key <= count; key += 1) {
      await addConnection(db, user, { key, id: `con_${name}_${key}`, balancesAt: readAt })
    }
    await db.execute(
      `insert into holdings (user_key, connection_key, asset_key, liquid, staked, changed_at)
       select $1, n, asset_key, 1, 0, $2 from generate_series(1, $3::integer) n,
         (select asset_key from assets order by asset_key limit $4) a`,
      [user.userKey, readAt, count, held],
    )
    return user
  }
  for (let user = 0; user < 40; user += 1) await addWallets(`other${user}`, 1, 3)
  await db.execute('analyze')
  const ann = await addWallets('ann', wallets, tokens)
  const countOf = async (read: typeof readPositions | typeof readSourcePositions): Promise<number> => {
    const [sent] = await recordStatements(async () => {
      const reading = await read(db, ann.access, { limit: 10, after: undefined })
      const rows = JSON.parse(`[${reading?.result.items ?? ''}]`) as unknown[]
      assert.equal(rows.length, 10)
    })
    assert.ok(sent !== undefined)
    return countScanned(db, sent)
  }
  const [ofPage, ofSums] = [await countOf(readPositions), await countOf(readSourcePositions)]
  assert.ok(ofPage < wallets * tokens, `${ofPage} rows`)
  assert.ok(ofSums < 5 * wallets * tokens, `${ofSums} rows`)
})
