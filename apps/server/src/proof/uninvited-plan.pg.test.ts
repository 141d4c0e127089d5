/** What it costs to tell which tokens strangers sent, whatever plan PostgreSQL makes of it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countScanned, recordStatements } from '../db/test-statements.ts'
import { openLedger } from '../ledger/test-ledger.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { ConnectionRef } from '../owner.ts'
import { addConnection, addUser } from '../portfolio/test-portfolio.ts'
import { listUninvited } from './store.ts'

it('looks at each transfer of thousands once, where most users have a few', async () => {
  const { db } = await openLedger(ownedBySuite(), {})
  await db.execute(
    `insert into assets (id, kind, symbol, name) select 'test:' || n, 'crypto', n, n from generate_series(1, 300) n`,
  )
  const fill = async (name: string, tokens: number): Promise<ConnectionRef> => {
    const user = await addUser(db, name)
    await db.execute(
      `insert into postings (user_key, occurred_at, transaction_id, asset_key, connection_key, ordinal, staked, side,
         spam, amount)
       select $1, $3, md5(asset_key || ' ' || d)::uuid, asset_key, 1, 1, false, 'i', false, 1
       from assets, generate_series(1, 5) d where id in (select 'test:' || n from generate_series(1, $2) n)`,
      [user.userKey, tokens, db.now()],
    )
    return addConnection(db, user, { key: 1, id: `con_${name}` })
  }
  for (let user = 0; user < 60; user += 1) await fill(`few${user}`, 3)
  await db.execute('analyze')
  const ref = await fill('many', 300)
  const rows = await db.rows<{ asset_key: number }>(`select asset_key from assets where id like 'test:%'`)
  const keys = rows.map((row) => row.asset_key)
  const [sent] = await recordStatements(async () => assert.equal((await listUninvited(db, ref, keys)).length, 300))
  assert.ok(sent !== undefined)
  const scanned = await countScanned(db, sent)
  assert.ok(scanned < 20 * 5 * 300, `${scanned} rows`)
})
