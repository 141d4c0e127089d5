/** What a claim costs an account with hundreds of assets, whatever plan PostgreSQL makes of it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countScanned, recordStatements } from '../db/test-statements.ts'
import { openOwned } from './test-owned.ts'

it('a claim looks at each asset of each account once, where most users have a few assets', async () => {
  const { db, openAccounts, list } = await openOwned()
  const [connections, assets] = [2, 400]
  await db.execute(
    `insert into assets (id, kind, symbol, name) select 'test:' || n, 'crypto', n, n from generate_series(1, $1) n`,
    [assets],
  )
  const hold = async (userKey: string, assetsHeld: number): Promise<void> => {
    for (const table of ['holdings (changed_at,', 'observed_balances (observed_at,']) {
      await db.execute(
        `insert into ${table} user_key, connection_key, asset_key, liquid, staked)
         select $2::timestamptz, $1::bigint, c.connection_key, a.asset_key, 1, 0 from connections c, assets a
         where c.user_key = $1 and a.id in (select 'test:' || n from generate_series(1, $3) n)`,
        [userKey, db.now(), assetsHeld],
      )
    }
    await db.execute(
      `update connections set balances_at = $2, balances_since = $2, proof_balances_at = $2 where user_key = $1`,
      [userKey, db.now()],
    )
  }
  for (let user = 0; user < 40; user += 1) await hold((await openAccounts(1)).userKey, 8)
  await db.execute('analyze')
  const { userKey } = await openAccounts(connections)
  await hold(userKey, assets)
  const [sent] = await recordStatements(async () => {
    const { accounts } = await list(userKey, { assetId: 'test:7' })
    assert.deepEqual(
      accounts.map(({ certain }) => certain),
      ['1', '1'],
    )
  })
  assert.ok(sent !== undefined)
  const scanned = await countScanned(db, sent)
  assert.ok(scanned < 60 * connections * assets, `${scanned} rows`)
})
