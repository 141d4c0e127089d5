/** What the tenant is notified of when a user is removed, and what remains of a removed connection. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../test/until.ts'
import type { Database } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { openEngine, type TestEngine } from '../test-engine.ts'

async function listTold({ db }: TestEngine): Promise<string[]> {
  const rows = await db.rows<{ body: string }>('select body from webhook_messages order by seq')
  return rows
    .map(({ body }) => JSON.parse(body) as { type: string; data: { change?: string; connection_id: string } })
    .map(({ type, data }) => `${data.change ?? type} ${data.connection_id}`)
}

/** On Citus the coordinator does not know which statement waits on a node. */
async function findWaiting(db: Database): Promise<object[]> {
  const citus = await db.maybeRow("select from pg_extension where extname = 'citus'")
  if (citus !== undefined) return db.rows("select from citus_lock_waits where blocked_statement like '%user_ledgers%'")
  return db.rows(`select from pg_stat_activity where datname = current_database()
    and wait_event_type = 'Lock' and query like '%user_ledgers%'`)
}

describe('removing everything of a user', async () => {
  const engine = await openEngine()

  it('announces each connection that the tenant could know of as removed, in the same transaction', async () => {
    const owner = await engine.newOwner()
    await engine.webhooks.set(owner.tenantId, 'http://127.0.0.1:9/hook')
    const [first, second] = [await engine.connect(owner, 'empty'), await engine.connect(owner, 'empty')]
    const provisional = await engine.connect(owner, 'empty')
    await engine.db.execute("update connections set session_id = 'ses_open' where id = $1", [provisional.connectionId])
    const goes = engine.db.transaction(async (tx) => {
      await engine.connections.removeAll(tx, owner)
      throw new Error('taken back')
    })
    await assert.rejects(goes, /taken back/)
    assert.deepEqual(await listTold(engine), [])
    await engine.db.transaction((tx) => engine.connections.removeAll(tx, owner))
    assert.deepEqual(
      await listTold(engine),
      [first, second].map(({ connectionId }) => `removed ${connectionId}`),
    )
    // Nothing of the user is left, not even the ids of deleted transactions.
    for (const table of ['connections', 'user_ledgers', 'removed_transactions']) {
      assert.deepEqual(await engine.db.rows(`select from ${table} where user_key = $1`, [owner.userKey]), [], table)
    }
  })

  it('forgets which checks of keys counted against the user, and those of no other user', async () => {
    const [owner, other] = [await engine.newOwner(), await engine.newOwner()]
    const bad = await engine.newAccount('empty')
    await engine.control(`accounts/${bad.accountId}/key`, { revoked: true })
    const countChecks = async (): Promise<number[]> => {
      const rows = await engine.db.rows<{ user_key: string }>('select user_key from key_checks')
      return [owner, other].map(({ userKey }) => rows.filter((row) => row.user_key === userKey).length)
    }
    for (const one of [owner, other]) {
      const good = await engine.newAccount('empty')
      const { connectionId } = await engine.add(one, good)
      assert.equal((await engine.add(one, good)).errors[0]?.cause, 'already_connected')
      assert.equal((await engine.add(one, bad)).errors[0]?.cause, 'invalid_credentials')
      await engine.connections.remove(one, { connectionId: connectionId ?? '' })
      assert.equal((await engine.add(one, good)).added, true)
    }
    const [, others = 0] = await countChecks()
    assert.ok(others > 0)
    await engine.db.transaction((tx) => engine.connections.removeAll(tx, owner))
    assert.deepEqual(await countChecks(), [0, others])
  })
})

describe('deleting a user', async () => {
  const engine = await openEngine()
  const { db } = engine

  it('takes back what waits in the queue and the ids of connections that were removed before', async () => {
    const owner = await engine.newOwner()
    const [before, last] = [await engine.connect(owner, 'default'), await engine.connect(owner, 'empty')]
    await engine.drain()
    await engine.connections.remove(owner, { connectionId: before.connectionId })
    const countRemoved = async (): Promise<number> =>
      (await db.rows('select from removed_transactions where user_key = $1', [owner.userKey])).length
    assert.ok((await countRemoved()) > 0)
    const waiting = `select key from graphile_worker._private_jobs where key = any($1::text[]) order by key`
    const keysOf = ({ connectionId }: ConnectionRef): string[] => [`sync:${connectionId}`]
    assert.deepEqual(await db.rows(waiting, [keysOf(before)]), [])
    assert.equal((await db.rows(waiting, [keysOf(last)])).length, 1)
    await db.transaction((tx) => engine.connections.removeAll(tx, owner))
    assert.deepEqual(await db.rows(waiting, [keysOf(last)]), [])
    assert.equal(await countRemoved(), 0)
  })

  it('keeps no ids of a connection whose history is still being destroyed', async () => {
    const owner = await engine.newOwner()
    const ref = await engine.connect(owner, 'empty')
    await db.execute("update connections set status = 'removed', hidden_seq = 7 where id = $1", [ref.connectionId])
    await db.transaction((tx) => engine.connections.removeAll(tx, owner))
    assert.deepEqual(await db.row('select hidden_seq from connections where id = $1', [ref.connectionId]), {
      hidden_seq: null,
    })
  })
})

describe('upkeep', async () => {
  const { db, connections, newOwner } = await openEngine()

  it('destroys the keys of every session that lapsed in the same minute, however many there are', async () => {
    const owner = await newOwner()
    const lapsed = 230
    await db.execute('insert into user_ledgers (user_key, connection_keys) values ($1, $2)', [owner.userKey, lapsed])
    await db.execute(
      `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id,
         connection_type, status, key_lane, session_id, sealed_credentials, created_at, added_at)
       select $1::bigint, g, 'con_lapsed_' || g, $2, $3, $4, 'kraken', 'api_key', 'syncing', 'lane ' || g, 'ses_' || g,
         'sealed', $5::timestamptz, $5::timestamptz
       from generate_series(1, $6::integer) g`,
      [owner.userKey, owner.tenantKey, owner.tenantId, owner.userId, db.now(), lapsed],
    )
    await connections.sweep()
    assert.deepEqual(await db.rows('select id from connections where sealed_credentials is not null'), [])
  })
})

describe('removing a connection with a long history', async () => {
  const engine = await openEngine()
  const { db } = engine

  /** Adds `count` transactions of one record and one asset each, in tables that were never analysed. */
  async function connectLong(count: number): Promise<ConnectionRef> {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    const [assetKey] = (await engine.assets.ensureKeys(db, ['crypto:bitcoin'])).values()
    const values = [ref.userKey, ref.connectionKey, count]
    const rows = `generate_series(1, $3::int) n cross join lateral (
      select lpad(n::text, 7, '0') as key, md5($1::text || $2::text || n)::uuid as id,
        timestamptz '2020-01-01' + make_interval(mins => n) as at) k`
    await db.execute(
      `insert into transactions (user_key, connection_key, id, occurred_at, change_seq, updated_at, tenant_key, type,
         category, pending, staked_legs, provider_id, group_key, document)
       select $1::bigint, $2::int, id, at, n, at, $4::int, 'receive', 'deposit', false, 0, 'kraken', key, '"spam":false}'
       from ${rows}`,
      [...values, ref.tenantKey],
    )
    await db.execute(
      `insert into postings (user_key, connection_key, asset_key, occurred_at, transaction_id, ordinal, staked, side, spam, amount)
       select $1::bigint, $2::int, $4::int, at, id, 0, false, 'i', false, 1 from ${rows}`,
      [...values, assetKey],
    )
    await db.execute(
      `insert into raw_records (user_key, connection_key, stream, partition, pending, source_key, group_key, occurred_at,
         fetched_at, body)
       select $1::bigint, $2::int, 'ledger', '', false, key, key, at, at, '{}' from ${rows}`,
      values,
    )
    // Only wallets have these.
    await db.execute("update connections set address = 'an address', networks = '{one}' where id = $1", [
      ref.connectionId,
    ])
    return ref
  }

  async function countLeft({ userKey }: ConnectionRef): Promise<Record<string, number>> {
    const tables = ['connections', 'transactions', 'postings', 'raw_records', 'removed_transactions']
    const counts = tables.map((table) => `(select count(*)::int from ${table} where user_key = $1) as ${table}`)
    return db.row(`select ${counts.join(', ')}`, [userKey])
  }
  const listJobs = ({ connectionId }: ConnectionRef): Promise<unknown[]> =>
    db.rows('select from graphile_worker.jobs where key = $1', [`destroy:${connectionId}`])
  const show = (ref: ConnectionRef): Promise<unknown> =>
    db.row(
      `select sealed_credentials, address, networks, key_lane, account_fingerprint, status from connections where id = $1`,
      [ref.connectionId],
    )

  const nothing = { connections: 0, transactions: 0, postings: 0, raw_records: 0, removed_transactions: 0 }
  const gone = { sealed_credentials: null, address: null, networks: null, account_fingerprint: null }
  const hidden = { ...gone, key_lane: '', status: 'removed' }

  it('of fewer than 5,000 rows destroys all of it before it answers, and remembers every id', async () => {
    const ref = await connectLong(1_500)
    assert.deepEqual(await engine.connections.remove(ref, { providerId: 'kraken' }), {
      connectionIds: [ref.connectionId],
      dataDestroyed: true,
    })
    assert.deepEqual(await countLeft(ref), { ...nothing, removed_transactions: 1_500 })
    assert.deepEqual(await listJobs(ref), [])
  })

  it('of more rows says that some are left: the key is gone and nothing is served, and a job destroys the rest and announces it', async () => {
    const ref = await connectLong(20_000)
    await engine.webhooks.set(ref.tenantId, 'http://127.0.0.1:9/hook')
    assert.deepEqual(await engine.connections.remove(ref, { connectionId: ref.connectionId }), {
      connectionIds: [ref.connectionId],
      dataDestroyed: false,
    })
    assert.deepEqual(await show(ref), hidden)
    assert.ok(((await countLeft(ref))['transactions'] ?? 0) > 10_000)
    assert.deepEqual(await db.rows('select from readable_connections where user_key = $1', [ref.userKey]), [])
    assert.deepEqual(await engine.connections.list(ref, { limit: 10, after: undefined }), [])
    await assert.rejects(engine.connections.remove(ref, { connectionId: ref.connectionId }), { code: 'not_found' })
    assert.deepEqual(await listTold(engine), [`removed ${ref.connectionId}`])

    await engine.drain()
    assert.deepEqual(await countLeft(ref), { ...nothing, removed_transactions: 20_000 })
    const told = [`removed ${ref.connectionId}`, `connection.destroyed ${ref.connectionId}`]
    assert.deepEqual(await listTold(engine), told)
    await engine.webhooks.remove(ref.tenantId)
    // Its transactions disappeared at one change number of the user, and keep their order.
    const removals = await db.rows<{ change_seq: string; first: string; last: string }>(
      `select change_seq, min(former_seq) as first, max(former_seq) as last from removed_transactions
       where user_key = $1 group by change_seq`,
      [ref.userKey],
    )
    assert.deepEqual(
      removals.map(({ first, last }) => [first, last]),
      [['1', '20000']],
    )
  })

  it('whose job was lost is resumed by upkeep', async () => {
    const ref = await connectLong(6_000)
    await engine.connections.remove(ref, { connectionId: ref.connectionId })
    await db.execute('select graphile_worker.remove_job($1)', [`destroy:${ref.connectionId}`])
    await engine.drain()
    assert.deepEqual(await show(ref), hidden)
    await engine.connections.sweep()
    assert.equal((await listJobs(ref)).length, 1)
    await engine.drain()
    assert.deepEqual(await countLeft(ref), { ...nothing, removed_transactions: 6_000 })
  })

  it('remembers no further id when the user is deleted while a job destroys it', async () => {
    const ref = await connectLong(20_000)
    await engine.connections.remove(ref, { connectionId: ref.connectionId })
    let destroyed: Promise<void> | undefined
    await db.transaction(async (tx) => {
      await engine.connections.removeAll(tx, ref)
      destroyed = engine.drain()
      await until('the job waits for the user', async () => ((await findWaiting(db)).length > 0 ? true : undefined))
    })
    await destroyed
    assert.deepEqual(await countLeft(ref), nothing)
  })

  it('that belongs to a session remembers no id and announces nothing', async () => {
    const ref = await connectLong(6_000)
    await engine.webhooks.set(ref.tenantId, 'http://127.0.0.1:9/hook')
    await db.execute("update connections set session_id = 'ses_long' where id = $1", [ref.connectionId])
    await db.transaction((tx) => engine.connections.discardSession(tx, ref, 'ses_long'))
    assert.deepEqual(await show(ref), hidden)
    await engine.drain()
    assert.deepEqual(await countLeft(ref), nothing)
    assert.deepEqual(await listTold(engine), [])
    await engine.webhooks.remove(ref.tenantId)
  })
})
