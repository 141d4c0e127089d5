/** What a claim costs an account with hundreds of assets, whatever plan PostgreSQL makes of it. */
import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countScanned, recordStatements } from '../db/test-statements.ts'
import { openOwned } from './test-owned.ts'

describe('a claim', async () => {
  const { db, openAccounts, list } = await openOwned()
  const [connections, assets] = [2, 400]
  await db.execute(
    `insert into assets (id, kind, symbol, name) select 'test:' || n, 'crypto', n, n from generate_series(1, $1) n`,
    [assets],
  )
  const observe = async (userKey: string, assetsHeld: number, at: string): Promise<void> => {
    await db.execute(
      `insert into observed_balances (user_key, connection_key, asset_key, observed_at, liquid, staked)
       select $1::bigint, c.connection_key, a.asset_key, $2, 1, 0 from connections c, assets a
       where c.user_key = $1 and a.id in (select 'test:' || n from generate_series(1, $3) n)`,
      [userKey, at, assetsHeld],
    )
  }
  const hold = async (userKey: string, assetsHeld: number): Promise<void> => {
    await db.execute(
      `insert into holdings (user_key, connection_key, asset_key, changed_at, liquid, staked)
       select $1::bigint, c.connection_key, a.asset_key, $2, 1, 0 from connections c, assets a
       where c.user_key = $1 and a.id in (select 'test:' || n from generate_series(1, $3) n)`,
      [userKey, db.now(), assetsHeld],
    )
    await observe(userKey, assetsHeld, db.now())
    await db.execute(
      `update connections set balances_at = $2, balances_since = $2, proof_balances_at = $2 where user_key = $1`,
      [userKey, db.now()],
    )
  }
  /** Of one claim, which is about one of the assets of two accounts. */
  async function countOfOne(userKey: string): Promise<number> {
    const [sent] = await recordStatements(async () => {
      const { accounts } = await list(userKey, { assetId: 'test:7' })
      assert.deepEqual(
        accounts.map(({ certain }) => certain),
        ['1', '1'],
      )
    })
    assert.ok(sent !== undefined)
    return countScanned(db, sent)
  }

  it('looks at each asset of each account once, where most users have a few assets', async () => {
    for (let user = 0; user < 40; user += 1) await hold((await openAccounts(1)).userKey, 8)
    await db.execute('analyze')
    const { userKey } = await openAccounts(connections)
    await hold(userKey, assets)
    const scanned = await countOfOne(userKey)
    assert.ok(scanned < 60 * connections * assets, `${scanned} rows`)
  })

  it('looks at no reading but those around its moment, on however many days an asset has changed', async () => {
    const { userKey } = await openAccounts(connections)
    await hold(userKey, assets)
    const once = await countOfOne(userKey)
    for (let day = 1; day <= 100; day += 1) {
      await observe(userKey, assets, new Date(db.clock.now() - day * dayMs).toISOString())
    }
    await db.execute('analyze')
    const often = await countOfOne(userKey)
    assert.ok(often < once + 10 * connections * assets, `${often} rows, and ${once} before`)
  })
})
