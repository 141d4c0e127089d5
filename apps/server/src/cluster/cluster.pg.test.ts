/**
 * The parts that need no cluster: the layout against the schema, and the answer for a database that is not a cluster.
 * The campaign `cluster` runs the rest.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { emptyDatabase, testDatabase } from '../../../../test/postgres.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import { listTables, placeNewTables, planDistribution, toPlan } from './index.ts'
import { layout } from './layout.ts'

const direct = { pooler: 'none' } as const

interface UniqueKey {
  table: string
  has_user: boolean
}

describe('the layout of a cluster', async () => {
  const { db } = await testDatabase(ownedBySuite())

  it('lists every table of the schema exactly once, with a reason, and nothing else', async () => {
    const tables = await listTables(db)
    assert.deepEqual([...layout.keys()].toSorted(), tables.toSorted())
    for (const [name, { why }] of layout) assert.match(why, /^[a-z][^.]{20,}$/, name)
  })

  it('distributes only tables whose every unique key contains the user, and leaves no such table undistributed without a reason', async () => {
    const keys = await db.rows<UniqueKey>(
      `select c.relname as table, a.attnum = any(i.indkey::int2[]) as has_user
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_key'
       left join pg_index i on i.indrelid = c.oid and i.indisunique
       where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'`,
    )
    const could = new Set(keys.map(({ table }) => table))
    for (const { table, has_user: hasUser } of keys) if (hasUser === false) could.delete(table)
    const distributed = [...layout].filter(([, { place }]) => place === 'distributed').map(([name]) => name)
    assert.deepEqual(
      distributed.filter((name) => !could.has(name)),
      [],
    )
    assert.deepEqual([...could].filter((name) => !distributed.includes(name)).toSorted(), [
      // It is added up with the tenant's other sums.
      'feed_users',
      'user_statistics',
    ])
  })

  it('has no foreign key between a distributed table and one on the coordinator, in either direction', async () => {
    const keys = await db.rows<{ from: string; to: string }>(
      `select f.relname as from, t.relname as to from pg_constraint k
       join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
       where k.contype = 'f' and f.relnamespace = 'public'::regnamespace`,
    )
    assert.ok(keys.length > 5)
    const placeOf = (name: string): string | undefined => layout.get(name)?.place
    const across = keys.filter(({ from, to }) => placeOf(to) !== 'reference' && placeOf(from) !== placeOf(to))
    assert.deepEqual(across, [])
  })
})

describe('the plan', () => {
  const tables = [...layout.keys()]
  const lying = { name: 'transactions', kind: 'distributed', column: 'user_key' } as const

  it('moves only tables that have not moved yet, so that a run can continue an interrupted one', () => {
    const left = toPlan(tables, [lying]).filter(({ isThere }) => !isThere)
    assert.equal(
      left.length,
      tables.length - 1 - [...layout.values()].filter((one) => one.place === 'coordinator').length,
    )
    assert.ok(left.every(({ name }) => name !== 'transactions'))
  })

  for (const [what, moved, message] of [
    [
      'by another column',
      { ...lying, column: 'tenant_key' },
      /transactions is distributed by tenant_key; run: select undistr/,
    ],
    [
      'and is to stay on the coordinator',
      { ...lying, name: 'budgets', column: 'bucket' },
      /budgets is distributed by bucket/,
    ],
    ['to every node', { ...lying, kind: 'reference', column: null }, /transactions is reference; run/],
  ] as const) {
    it(`refuses a table that was moved ${what}, and says how to move it back`, () => {
      assert.throws(() => toPlan(tables, [moved]), message)
    })
  }

  it('refuses a table that this version does not know', () => {
    assert.throws(() => toPlan([...tables, 'stray'], []), /stray is not a table of this version/)
  })
})

describe('a database that is not a cluster', () => {
  it('is refused with advice, and stays unchanged', async (t) => {
    const { db } = await testDatabase(t)
    await assert.rejects(planDistribution(db, direct), /does not have Citus\. Install Citus on every node/)
    assert.deepEqual(await placeNewTables(db), [])
  })

  it('is not even queried through a pooler', async (t) => {
    const { db } = await emptyDatabase(t)
    await assert.rejects(planDistribution(db, { pooler: 'transaction' }), /DATABASE_POOLER is transaction.*coordinator/)
  })
})
