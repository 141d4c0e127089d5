import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import type { Database, Sql } from '../../db/index.ts'
import { noteAllUsers, noteUser } from '../../notices.ts'
import { ownedBySuite } from '../../oauth/test-oauth.ts'
import { bringUpToDate } from '../fold.ts'
import { createEnterprise, createStatistics } from '../index.ts'
import { insertAssets, insertConnection, insertTenant, insertUser, putGrant } from '../test-tenant.ts'
import { addTenant, applyStep, prepare, readPlainly, step, usersMax, type TestTenant } from './test-statistics.ts'

describe('statistics', async () => {
  const { db } = await testDatabase(ownedBySuite())
  await prepare(db)
  const enterprise = createEnterprise({ db, endGrants: async () => 0 })
  const statistics = createStatistics({ db })
  let tenants = 0
  const newTenant = async (): Promise<TestTenant> => {
    tenants += 1
    return addTenant(db, `ten_${tenants}`)
  }

  async function readKept({ tenantKey }: TestTenant): Promise<object> {
    const [users, accounts, balances, assets] = await Promise.all([
      enterprise.countUsers(tenantKey),
      enterprise.countAccounts(tenantKey),
      enterprise.sumBalances(tenantKey),
      enterprise.listTopAssets(tenantKey),
    ])
    return {
      ...{ users: users.data, accounts: accounts.data, balances: balances.data, assets: assets.data },
      userKeys: [users, accounts, balances, assets].map((answer) => answer.userKeys.toSorted()),
    }
  }

  it('equal a full count after every step of any sequence', async () => {
    const story = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      const tenant = await newTenant()
      for (const one of steps) {
        await applyStep(db, tenant, one)
        if (one.upkeep) await statistics.fold()
        assert.deepEqual(await readKept(tenant), await readPlainly(db, tenant), JSON.stringify(one))
        // The answer comes from the kept counts, not from counting again.
        assert.equal((await bringUpToDate(db, tenant.tenantKey)).folded, true)
      }
    })
    await fc.assert(story, { numRuns: 10 })
    assert.deepEqual(await statistics.verify(), [])
  })

  it('lose nothing when changes and folds run side by side', async () => {
    const tenant = await newTenant()
    const [steps] = fc.sample(fc.array(step, { minLength: 240, maxLength: 240 }), { numRuns: 1, seed: 7 })
    assert.ok(steps)
    let writing = 4
    const write = async (part: number): Promise<void> => {
      // Each writer has its own users; they share clients and the clock.
      const mine = steps.filter((one) => one.user % 4 === part && one.kind !== 'clock')
      for (const one of mine) await applyStep(db, tenant, one)
      writing -= 1
    }
    const fold = async (): Promise<void> => {
      while (writing > 0) await bringUpToDate(db, tenant.tenantKey)
    }
    await Promise.all([write(0), write(1), write(2), write(3), fold(), fold()])
    assert.deepEqual(await readKept(tenant), await readPlainly(db, tenant))
    assert.deepEqual(await statistics.verify(), [])
  })

  it('are counted from the tables when too much is outstanding for one request, with the same result', async () => {
    const tenant = await newTenant()
    for (let user = 0; user < usersMax; user += 1) await applyStep(db, tenant, { kind: 'grant', user })
    // This is more than the folds of one request process.
    await db.execute(
      'insert into user_notices (user_key, tenant_key) select $1::bigint, $2 from generate_series(1, 10001)',
      [tenant.users[0]?.userKey, tenant.tenantKey],
    )
    assert.equal((await bringUpToDate(db, tenant.tenantKey)).folded, false)
    assert.deepEqual(await readKept(tenant), await readPlainly(db, tenant))
    await statistics.fold()
    assert.equal((await bringUpToDate(db, tenant.tenantKey)).folded, true)
    assert.deepEqual(await readKept(tenant), await readPlainly(db, tenant))
  })

  it('no write waits for a fold, and a change that commits during one is found by the next', async () => {
    const tenant = await newTenant()
    await applyStep(db, tenant, { kind: 'grant' })
    assert.equal((await enterprise.countUsers(tenant.tenantKey)).data.users, 1)
    await db.transaction(async (tx) => {
      await tx.row('select from tenant_feeds where tenant_key = $1 for update', [tenant.tenantKey])
      await tx.execute('delete from user_notices where tenant_key = $1', [tenant.tenantKey])
      await applyStep(db, tenant, { kind: 'revoke' })
    })
    assert.deepEqual((await enterprise.countUsers(tenant.tenantKey)).data, { users: 0, users_with_accounts: 0 })
  })

  it('a fold of every tenant skips the tenant that another process is folding', async () => {
    const [busy, other] = [await newTenant(), await newTenant()]
    for (const tenant of [busy, other]) await noteUser(db, { ...tenant, userKey: tenant.users[0]?.userKey ?? '' })
    await statistics.fold()
    for (const tenant of [busy, other]) await noteUser(db, { ...tenant, userKey: tenant.users[0]?.userKey ?? '' })
    const left = await db.transaction(async (tx) => {
      await tx.row('select from tenant_feeds where tenant_key = $1 for update', [busy.tenantKey])
      await statistics.fold()
      return db.rows<{ tenant_key: number }>('select tenant_key from user_notices')
    })
    assert.deepEqual(left, [{ tenant_key: busy.tenantKey }])
    await statistics.fold()
  })

  it('a consent that commits while its client is being disabled does not count', async () => {
    const tenant = await newTenant()
    const [clientId = ''] = tenant.clientIds
    await db.transaction(async (disabling) => {
      await disabling.execute('update clients set disabled_at = $2 where id = $1', [clientId, db.now()])
      await noteAllUsers(disabling, tenant)
      await applyStep(db, tenant, { kind: 'grant' })
      assert.equal((await enterprise.countUsers(tenant.tenantKey)).data.users, 1)
    })
    assert.equal((await enterprise.countUsers(tenant.tenantKey)).data.users, 0)
  })

  it('verify names the differences, and rebuild corrects them', async () => {
    const tenant = await newTenant()
    for (let user = 0; user < usersMax; user += 1) {
      await applyStep(db, tenant, { kind: 'grant', user })
      await applyStep(db, tenant, { kind: 'connect', user })
    }
    const first = tenant.users[0]
    assert.ok(first)
    assert.deepEqual(await statistics.verify(), [])
    await db.execute(`update tenant_statistics set users = users + 1 where tenant_key = $1 and measure = 'user'`, [
      tenant.tenantKey,
    ])
    await db.execute(`delete from user_statistics where user_key = $1 and measure = 'provider'`, [first.userKey])
    const found = await statistics.verify()
    assert.deepEqual(
      found.map(({ tenant_id, user_id, measure, subject, kept, counted }) => [
        tenant_id,
        user_id,
        measure,
        subject,
        kept,
        counted,
      ]),
      [
        [tenant.tenantId, first.userId, 'provider', 'kraken', null, '1 0'],
        [tenant.tenantId, null, 'provider', 'kraken', '6 6 0', '5 5 0'],
        [tenant.tenantId, null, 'user', '', '7 0 0', '6 0 0'],
      ],
    )
    await statistics.rebuild()
    assert.deepEqual(await statistics.verify(), [])
    assert.deepEqual(await readKept(tenant), await readPlainly(db, tenant))
  })
})

describe('the cost of an answer', async () => {
  const { db } = await testDatabase(ownedBySuite())

  /** Users with one grant; all or the first of them have two connections and three positions each. */
  async function fill(tenantId: string, users: number, holders = users): Promise<number> {
    const { tenantKey, clientIds } = await addTenant(db, tenantId)
    const now = db.now()
    const ids = `${tenantKey} * 1000000 + n as user_key, ${tenantKey} as tenant_key, '${tenantId}' as tenant_id, 'usr_x' || n || '${tenantId}' as user_id`
    await db.execute(
      `create temporary table made on commit drop as select n, ${ids} from generate_series(1, ${users}) n;
       insert into users (user_key, tenant_key, tenant_id, id, external_user_id, created_at)
       select user_key, tenant_key, tenant_id, user_id, user_id, '${now}' from made;
       insert into grants (user_key, tenant_key, tenant_id, user_id, client_id, id, scopes, consent, granted_at, expires_at)
       select user_key, tenant_key, tenant_id, user_id, '${clientIds[0] ?? ''}', 'grt_' || n, '{providers:read,assets:read}', '{}',
         '${now}', '${now}'::timestamptz + interval '1 year' from made;
       insert into connections (user_key, tenant_key, tenant_id, user_id, connection_key, id, provider_id, connection_type,
         status, key_lane, created_at, added_at, shown_at, shown_seq)
       select user_key, tenant_key, tenant_id, user_id, c, 'con_' || n || c, 'provider_' || c, 'api_key', 'active', n || 'x' || c,
         '${now}', '${now}', '${now}', 1 from made, generate_series(1, 2) c where n <= ${holders};
       insert into assets (id, kind, symbol, name)
       select 'crypto:' || a, 'crypto', 'S' || a, 'S' from generate_series(1, 3) a on conflict do nothing;
       insert into holdings (user_key, connection_key, asset_key, liquid, staked, changed_at)
       select user_key, 1, asset_key, 0.1, 0, '${now}' from made, assets where assets.id like 'crypto:_' and n <= ${holders};
       insert into user_notices (user_key, tenant_key) select user_key, tenant_key from made`,
    )
    await db.execute('analyze grants; analyze connections; analyze holdings')
    await createStatistics({ db }).fold()
    await db.execute('vacuum analyze tenant_statistics')
    await db.execute('vacuum analyze user_statistics')
    await db.execute('vacuum analyze user_notices')
    await db.execute('vacuum analyze feed_users')
    return tenantKey
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

  const literal = (value: unknown): string => {
    if (Array.isArray(value)) return `array[${value.map(literal).join()}]`
    return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
  }

  /** The number of rows that all statements of one answer touched, by PostgreSQL's own count. */
  async function rowsExamined(
    answer: (of: ReturnType<typeof createEnterprise>, spied: Database) => Promise<unknown>,
  ): Promise<number> {
    let rows = 0
    const explain = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
      // A generic plan, which PostgreSQL may choose after five runs.
      await db.transaction(async (tx) => {
        await tx.execute(`set local plan_cache_mode = force_generic_plan; prepare spied as ${text}`)
        const given = values.length === 0 ? '' : `(${values.map(literal).join(', ')})`
        const [explained] = await tx.rows<{ 'QUERY PLAN': { Plan: Plan }[] }>(
          `explain (analyze, format json) execute spied${given}`,
        )
        await tx.execute('deallocate spied')
        rows += examined(explained?.['QUERY PLAN'][0]?.Plan ?? { 'Actual Rows': NaN, 'Actual Loops': 1 })
      })
      return db.rows<Row>(text, values)
    }
    const spied: Database = {
      ...db,
      rows: explain,
      row: async <Row>(...of: Parameters<Sql['row']>) => (await explain<Row>(...of))[0] as Row,
    }
    await answer(createEnterprise({ db: spied, endGrants: async () => 0 }), spied)
    return rows
  }

  const reads = ['countUsers', 'countAccounts', 'sumBalances', 'listTopAssets'] as const

  it('does not depend on the number of users', async () => {
    const smallKey = await fill('ten_small', 101)
    const largeKey = await fill('ten_large', 500)
    for (const read of reads) {
      const small = await rowsExamined((enterprise) => enterprise[read](smallKey))
      const large = await rowsExamined((enterprise) => enterprise[read](largeKey))
      assert.ok(small > 0 && small < 60, `${read}: ${small} rows`)
      assert.equal(large, small, read)
    }
  })

  it('does not depend on the number of users beside the few whose sum it is', async () => {
    const tenantKey = await fill('ten_few', 5_000, 3)
    for (const read of reads) {
      let userKeys: readonly string[] = []
      const rows = await rowsExamined(async (enterprise) => {
        userKeys = (await enterprise[read](tenantKey)).userKeys
      })
      assert.equal(userKeys.length, 3, read)
      assert.ok(rows < 100, `${read}: ${rows} rows`)
    }
  })

  it('a round with nothing to fold reads a few rows per tenant, however many users there are', async () => {
    await fill('ten_round', 2_000)
    await db.execute(
      `insert into tenants (id, name, created_at) select 'ten_other' || n, 'x', $1 from generate_series(1, 100) n`,
      [db.now()],
    )
    await db.execute('vacuum analyze tenants')
    const { rows: tenants } = await db.row<{ rows: number }>('select count(*)::int as rows from tenants')
    const examined = await rowsExamined(async (_, spied) => {
      await createStatistics({ db: spied }).fold()
    })
    assert.ok(examined >= tenants && examined <= 10 * tenants, `${examined} rows for ${tenants} tenants`)
  })
})

describe('a user with more assets than anyone chooses', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const statistics = createStatistics({ db })
  const tenant = await insertTenant(db, 'ten_a', ['cli_a'])
  const owner = await insertUser(db, tenant, 'usr_a')
  await putGrant(db, owner, { clientId: 'cli_a', scopes: ['assets:read'] })
  await insertConnection(db, owner, { connectionKey: 1, connectionId: 'con_a' })
  const assets = Array.from({ length: 2_100 }, (_, index) => [`evm:1:${index}`, `T${index}`] as const)
  await insertAssets(db, assets)
  await db.execute(
    `insert into holdings (user_key, connection_key, asset_key, liquid, staked, spam, changed_at)
     select $1, 1, asset_key, 1, 0, false, $2 from assets where id like 'evm:1:%'`,
    [owner.userKey, db.now()],
  )

  it('counts for those that were known first', async () => {
    await db.execute('insert into user_notices (user_key, tenant_key) values ($1, $2)', [
      owner.userKey,
      tenant.tenantKey,
    ])
    await statistics.fold()
    const kept = await db.rows<{ subject: string }>(`select subject from user_statistics where measure = 'asset'`)
    const first = assets.slice(0, 2_000).map(([id]) => id)
    assert.deepEqual(kept.map(({ subject }) => subject).toSorted(), first.toSorted())
    assert.deepEqual(await statistics.verify(), [])
  })
})
