import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { markInstallation, type Database, type Sql } from '../db/index.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import { createEnterprise, createStatistics } from './index.ts'
import { addTenant, applyStep, clientsOf, readPlainly, step, userIds } from './test-statistics.ts'

describe('statistics', async () => {
  const { db } = await testDatabase(ownedBySuite())
  await markInstallation(db, true)
  await db.execute(
    `insert into current_prices (asset_id, price_in_usd, source, fetched_at)
     values ('crypto:a', 64000.123456789, 'test', assay_now()), ('crypto:b', 0.00000001, 'test', assay_now())`,
    [],
  )
  const enterprise = createEnterprise({ db, endGrants: async () => 0 })
  const statistics = createStatistics({ db })
  let tenants = 0
  const newTenant = async (): Promise<string> => {
    tenants += 1
    await addTenant(db, `ten_${tenants}`)
    return `ten_${tenants}`
  }

  async function readKept(tenantId: string): Promise<object> {
    const [users, accounts, balances, assets] = await Promise.all([
      enterprise.countUsers(tenantId),
      enterprise.countAccounts(tenantId),
      enterprise.sumBalances(tenantId),
      enterprise.listTopAssets(tenantId),
    ])
    return { users: users.data, accounts: accounts.data, balances: balances.data, assets: assets.data }
  }

  it('are what counting everything gives, after every step of any story', async () => {
    const story = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      const tenantId = await newTenant()
      for (const one of steps) {
        await applyStep(db, tenantId, one)
        if (one.upkeep) await statistics.fold()
        assert.deepEqual(await readKept(tenantId), await readPlainly(db, tenantId), JSON.stringify(one))
        // From what is kept, not by counting again.
        assert.equal((await statistics.bringUpToDate(tenantId)).folded, true)
      }
    })
    await fc.assert(story, { numRuns: 10 })
    assert.deepEqual(await statistics.verify(), [])
  })

  it('lose nothing when changes and folds run side by side', async () => {
    const tenantId = await newTenant()
    const [steps] = fc.sample(fc.array(step, { minLength: 240, maxLength: 240 }), { numRuns: 1, seed: 7 })
    assert.ok(steps)
    let writing = 4
    const write = async (part: number): Promise<void> => {
      // Each writer has its own users; clients and the clock are everybody's.
      const mine = steps.filter((one) => userIds.indexOf(one.user) % 4 === part && one.kind !== 'clock')
      for (const one of mine) await applyStep(db, tenantId, one)
      writing -= 1
    }
    const fold = async (): Promise<void> => {
      while (writing > 0) await statistics.bringUpToDate(tenantId)
    }
    await Promise.all([write(0), write(1), write(2), write(3), fold(), fold()])
    assert.deepEqual(await readKept(tenantId), await readPlainly(db, tenantId))
    assert.deepEqual(await statistics.verify(), [])
  })

  it('that are too far behind for one request are counted from the tables, and are the same', async () => {
    const tenantId = await newTenant()
    const [client = ''] = clientsOf(tenantId)
    for (const user of userIds) await applyStep(db, tenantId, { kind: 'grant', user })
    // More than the folds of one request take.
    await db.execute(
      `insert into statistic_changes (tenant_id, client_id) select $1, $2 from generate_series(1, 10001)`,
      [tenantId, client],
    )
    assert.equal((await statistics.bringUpToDate(tenantId)).folded, false)
    assert.deepEqual(await readKept(tenantId), await readPlainly(db, tenantId))
    await statistics.fold()
    assert.equal((await statistics.bringUpToDate(tenantId)).folded, true)
    assert.deepEqual(await readKept(tenantId), await readPlainly(db, tenantId))
  })

  it('no write waits for a fold, and a change that commits during one is found by the next', async () => {
    const tenantId = await newTenant()
    await applyStep(db, tenantId, { kind: 'grant' })
    await db.transaction(async (tx) => {
      await tx.execute(`select pg_advisory_xact_lock(hashtextextended('assay statistics ' || $1, 0))`, [tenantId])
      await tx.execute('delete from statistic_changes where tenant_id = $1', [tenantId])
      await applyStep(db, tenantId, { kind: 'revoke' })
    })
    assert.deepEqual((await enterprise.countUsers(tenantId)).data, { users: 0, users_with_accounts: 0 })
  })

  it('a read of a connection that changes nothing countable leaves no change behind', async () => {
    const tenantId = await newTenant()
    await applyStep(db, tenantId, { kind: 'connect' })
    await statistics.fold()
    await db.execute(
      `update connections set status = 'active', last_synced_at = assay_now(), transaction_count = 5 where tenant_id = $1`,
      [tenantId],
    )
    const { newest } = await db.row<{ newest: string | null }>(
      'select max(change) as newest from statistic_changes where tenant_id = $1',
      [tenantId],
    )
    assert.equal(newest, null)
  })

  it('verify names what differs, and rebuild puts it right', async () => {
    const tenantId = await newTenant()
    for (const user of userIds) {
      await applyStep(db, tenantId, { kind: 'grant', user })
      await applyStep(db, tenantId, { kind: 'connect', user })
    }
    assert.deepEqual(await statistics.verify(), [])
    await db.execute(`update tenant_statistics set users = users + 1 where tenant_id = $1 and measure = 'user'`, [
      tenantId,
    ])
    await db.execute(`delete from user_statistics where tenant_id = $1 and user_id = $2 and measure = 'provider'`, [
      tenantId,
      userIds[0],
    ])
    const found = await statistics.verify()
    assert.deepEqual(
      found.map(({ user_id, measure, subject, kept, counted }) => [user_id, measure, subject, kept, counted]),
      [
        [userIds[0], 'provider', 'kraken', null, '1 0'],
        [null, 'provider', 'kraken', '6 6 0', '5 5 0'],
        [null, 'user', '', '7 0 0', '6 0 0'],
      ],
    )
    await statistics.rebuild()
    assert.deepEqual(await statistics.verify(), [])
    assert.deepEqual(await readKept(tenantId), await readPlainly(db, tenantId))
  })
})

describe('the cost of an answer', async () => {
  const { db } = await testDatabase(ownedBySuite())

  /** Users with one grant, two connections and three positions each. */
  async function fill(tenantId: string, users: number): Promise<void> {
    await addTenant(db, tenantId)
    await db.execute(
      `insert into users (tenant_id, id, external_user_id) select '${tenantId}', 'usr_x' || n, n from generate_series(1, ${users}) n;
       insert into grants (tenant_id, user_id, client_id, id, scopes, consent, granted_at, expires_at)
       select '${tenantId}', 'usr_x' || n, '${clientsOf(tenantId)[0] ?? ''}', 'grt_' || n, '{providers:read,assets:read}', '{}', assay_now(),
         assay_now() + interval '1 year' from generate_series(1, ${users}) n;
       insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane, added_at)
       select '${tenantId}', 'usr_x' || n, 'con_' || n || c, 'provider_' || c, 'api_key', 'active', n || 'x' || c, assay_now()
       from generate_series(1, ${users}) n, generate_series(1, 2) c;
       insert into holdings (tenant_id, user_id, connection_id, provider_id, asset_id, asset_symbol, asset_name, liquid, staked, fetched_at)
       select '${tenantId}', 'usr_x' || n, 'con_' || n || 1, 'provider_1', 'crypto:' || a, 'S' || a, 'S', 0.1, 0, assay_now()
       from generate_series(1, ${users}) n, generate_series(1, 3) a;
       analyze grants, connections, holdings`,
    )
    await createStatistics({ db }).fold()
    await db.execute('vacuum analyze tenant_statistics, user_statistics, statistic_changes')
  }

  interface Plan {
    'Actual Rows': number
    'Actual Loops': number
    'Rows Removed by Filter'?: number
    Plans?: Plan[]
  }
  const examined = (plan: Plan): number =>
    (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'] +
    (plan.Plans ?? []).reduce((sum, child) => sum + examined(child), 0)

  /** Rows that all statements of one answer touched, by PostgreSQL's own count. */
  async function rowsExamined(answer: (of: ReturnType<typeof createEnterprise>) => Promise<unknown>): Promise<number> {
    let rows = 0
    const explain = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
      const [told] = await db.rows<{ 'QUERY PLAN': { Plan: Plan }[] }>(`explain (analyze, format json) ${text}`, values)
      rows += examined(told?.['QUERY PLAN'][0]?.Plan ?? { 'Actual Rows': NaN, 'Actual Loops': 1 })
      return db.rows<Row>(text, values)
    }
    const spied: Database = {
      ...db,
      rows: explain,
      row: async <Row>(...of: Parameters<Sql['row']>) => (await explain<Row>(...of))[0] as Row,
    }
    await answer(createEnterprise({ db: spied, endGrants: async () => 0 }))
    return rows
  }

  it('does not depend on the number of users', async () => {
    await fill('ten_small', 20)
    await fill('ten_large', 500)
    for (const read of ['countUsers', 'countAccounts', 'sumBalances', 'listTopAssets'] as const) {
      const small = await rowsExamined((enterprise) => enterprise[read]('ten_small'))
      const large = await rowsExamined((enterprise) => enterprise[read]('ten_large'))
      assert.ok(small > 0 && small < 60, `${read}: ${small} rows`)
      assert.equal(large, small, read)
    }
  })
})
