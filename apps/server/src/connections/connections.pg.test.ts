import { listCatalog } from '@assay/connectors/catalog'
import { faults, newId, type Fault } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testKeyring } from '../test-keys.ts'
import { until } from '../../../../test/until.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import { openEngine, type Account } from '../test-engine.ts'
import { addConnection, type AddResult } from './adding/add.ts'
import { insertPending } from './adding/pending-store.ts'
import { recordTransactions } from './counters-store.ts'
import { createSealer } from './credentials/seal.ts'
import { recordRights } from './store.ts'

describe('the read-only gate', async () => {
  const engine = await openEngine()
  const readOnly = ['query-funds', 'query-closed-trades', 'query-ledger']
  const count = (userId: string): Promise<{ rows: number }> =>
    engine.db.row('select count(*)::int as rows from connections where user_id = $1', [userId])

  it('accepts a key that can only read, and starts the first read', async () => {
    const owner = await engine.newOwner()
    const result = await engine.add(owner, await engine.newAccount('empty'))
    assert.equal(result.added, true)
    assert.equal(result.status, 'syncing')
    assert.deepEqual(result.errors, [])
    const jobs = await engine.db.rows('select from graphile_worker.jobs where key = $1', [
      `sync:${result.connectionId}`,
    ])
    assert.equal(jobs.length, 1)
  })

  it('takes a key that expires after the year 9999, which PostgreSQL and our dates do not reach, as one that does not', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    for (const [expiresAtMs, kept] of [
      [Date.UTC(9999, 11, 31), '9999-12-31T00:00:00.000Z'],
      [Date.UTC(10_000, 0, 1), null],
      [Date.parse('+200000-01-01T00:00:00.000Z'), null],
      [1e17, null],
    ] as const) {
      await recordRights(engine.db, ref, expiresAtMs)
      const row = await engine.db.row('select key_expires_at from connections where id = $1', [ref.connectionId])
      assert.deepEqual(row, { key_expires_at: kept })
    }
  })

  interface Refused {
    title: string
    cause: Fault
    prepare: (account: Account) => Promise<unknown>
    says?: RegExp
    scenario?: string
  }
  const keyIs = (change: object) => (account: Account) => engine.control(`accounts/${account.accountId}/key`, change)
  const fault = (kind: string, more: object = {}) => {
    return (account: Account) =>
      engine.control('providers/kraken/faults', { kind, account_id: account.accountId, ...more })
  }
  const refusals: Refused[] = [
    {
      title: 'a key that may withdraw',
      cause: 'excess_permission',
      prepare: keyIs({ permissions: [...readOnly, 'withdraw-funds'] }),
      says: /“Funds permissions - Withdraw”/,
    },
    {
      title: 'a key with an unknown right',
      cause: 'excess_permission',
      prepare: keyIs({ permissions: [...readOnly, 'lend-everything'] }),
      says: /“lend-everything”/,
    },
    {
      title: 'a key that may not read the ledger',
      cause: 'missing_permission',
      prepare: keyIs({ permissions: ['query-funds', 'query-closed-trades'] }),
      says: /“Data - Query ledger entries”/,
    },
    { title: 'a key that was deleted', cause: 'invalid_credentials', prepare: keyIs({ revoked: true }) },
    { title: 'a provider that is down', cause: 'venue_down', prepare: fault('down') },
    { title: 'a provider that only says "slow down"', cause: 'rate_limited', prepare: fault('rate_limited') },
    { title: 'HTML instead of JSON', cause: 'venue_down', prepare: fault('html') },
  ]
  for (const { title, cause, prepare, says, scenario = 'empty' } of refusals) {
    it(`refuses ${title} with ${cause}, and keeps nothing`, async () => {
      const owner = await engine.newOwner()
      const account = await engine.newAccount(scenario)
      await prepare(account)
      const result = await engine.add(owner, account)
      assert.deepEqual([result.added, result.connectionId, result.status], [false, null, null])
      assert.deepEqual(
        result.errors.map((error) => error.cause),
        [cause],
      )
      assert.match(result.errors[0]?.message ?? '', says ?? /./)
      assert.match(result.errors[0]?.fix ?? '', /./)
      assert.equal((await count(owner.userId)).rows, 0)
    })
  }

  it('retries when the provider fails briefly', async () => {
    const account = await engine.newAccount('empty')
    await fault('http_5xx', { times: 2 })(account)
    const result = await engine.add(await engine.newOwner(), account)
    assert.equal(result.added, true, JSON.stringify(result.errors))
  })

  it('does not retry when the answer could come after the person has stopped waiting', async (t) => {
    const tryAfterOneFailure = async (settings: Record<string, string>): Promise<AddResult> => {
      const hurried = await openEngine({ ASSAY_KEY_CHECK_TIMEOUT: '21000', ...settings }, {}, t)
      const account = await hurried.newAccount('empty')
      const once = { kind: 'http_5xx', account_id: account.accountId, times: 1 }
      await hurried.control('providers/kraken/faults', once)
      return hurried.add(await hurried.newOwner(), account)
    }
    const refused = await tryAfterOneFailure({})
    assert.deepEqual(
      refused.errors.map((error) => error.cause),
      ['venue_down'],
    )
    const retried = await tryAfterOneFailure({ ASSAY_PROVIDER_TIMEOUT: '10000' })
    assert.equal(retried.added, true, JSON.stringify(retried.errors))
  })

  it('finds the existing connection of an account', async () => {
    const owner = await engine.newOwner()
    const account = await engine.newAccount('empty')
    const first = await engine.add(owner, account)
    const second = await engine.add(owner, account)
    assert.deepEqual([second.added, second.connectionId], [false, first.connectionId])
    assert.deepEqual(
      second.errors.map((error) => [error.cause, error.connection_id]),
      [['already_connected', first.connectionId]],
    )
    assert.equal(second.errors[0]?.fix, undefined)
    assert.equal((await count(owner.userId)).rows, 1)
  })

  it('says how to repair the existing connection of an account when it needs that, and does not repair it by itself', async () => {
    const owner = await engine.newOwner()
    const account = await engine.newAccount('empty')
    const { connectionId } = await engine.add(owner, account)
    const broken = "update connections set status = 'needs_reauth', status_cause = 'invalid_credentials' where id = $1"
    await engine.db.execute(broken, [connectionId])
    const again = await engine.add(owner, account)
    assert.deepEqual([again.added, again.connectionId, again.status], [false, connectionId, 'needs_reauth'])
    const [item] = again.errors
    assert.equal(item?.cause, 'already_connected')
    assert.equal(
      item.fix,
      `Repair it: open the connect flow with connection_id ${connectionId} and enter the key there.`,
    )
  })

  /** Runs without a worker, so that the key stays unchecked. */
  async function addUnheard(owner: Owner, verdictTimeoutMs: number): Promise<AddResult> {
    const keyring = testKeyring('test')
    const catalog = listCatalog()
    const deps = { db: engine.db, keyring, catalog, uncheckedKeys: 'confirm', verdictTimeoutMs } as const
    const { apiKey, secretKey } = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'kraken', displayLabel: null, credentials, connectSessionId: null }
    return addConnection(deps, createSealer(keyring), owner, request)
  }

  it('says that the key was not checked when no worker got to it, does not blame the key, and keeps nothing', async () => {
    const owner = await engine.newOwner()
    const result = await addUnheard(owner, 60)
    assert.deepEqual([result.added, result.connectionId], [false, null])
    assert.deepEqual(
      result.errors.map((error) => error.cause),
      ['internal'],
    )
    assert.equal((await count(owner.userId)).rows, 0)
    // The job that comes too late finds nothing to verify.
    await engine.drain()
    assert.equal((await count(owner.userId)).rows, 0)
  })

  it('refuses a key for a user who was deleted after the request had been admitted, and keeps nothing', async () => {
    const owner = await engine.newOwner()
    await engine.db.execute('delete from users where user_key = $1', [owner.userKey])
    await assert.rejects(addUnheard(owner, 60), { code: 'invalid_token' })
    assert.equal((await count(owner.userId)).rows, 0)
    assert.deepEqual(await engine.db.rows('select from user_ledgers where user_key = $1', [owner.userKey]), [])
  })

  it('a key that is added while its user is being deleted is destroyed with the others', async () => {
    const owner = await engine.newOwner()
    const isWaiting = () =>
      engine.db.maybeRow(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' limit 1`,
      )
    // An account that is being added: its transaction has not ended when the removal begins.
    const { removing } = await engine.db.transaction(async (tx) => {
      await insertPending(tx, owner, {
        ...{ connectionId: newId('con'), providerId: 'kraken', connectionType: 'api_key', displayLabel: null },
        ...{ stored: { sealedCredentials: 'sealed', address: null, networks: null }, keyLane: 'lane' },
        ...{ connectSessionId: null, repairOf: null },
      })
      const begun = engine.db.transaction((removal) => engine.connections.removeAll(removal, owner))
      await until('the removal waits', isWaiting)
      return { removing: begun }
    })
    await removing
    assert.equal((await count(owner.userId)).rows, 0)
  })

  it('stops waiting when the pending connection is deleted meanwhile', async () => {
    const owner = await engine.newOwner()
    const adding = addUnheard(owner, 24 * 60 * 60_000)
    await until('the pending connection', () =>
      engine.db.maybeRow("delete from connections where user_id = $1 and status = 'pending' returning id", [
        owner.userId,
      ]),
    )
    assert.deepEqual(
      (await adding).errors.map((error) => error.cause),
      ['internal'],
    )
  })
})

describe('the state of a connection', async () => {
  const engine = await openEngine()
  const findLane = async ({ connectionId }: ConnectionRef): Promise<string> =>
    (await engine.db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [connectionId]))
      .key_lane
  const states = ['syncing', 'active', 'degraded', 'needs_reauth'] as const
  const owners: Fault[] = [
    'invalid_credentials',
    'missing_permission',
    'excess_permission',
    'ip_not_allowed',
    'key_expired',
    'needs_reauth',
  ]

  it('follows from the previous state and the fault: either the owner has to act, or waiting is enough', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    const keyLane = await findLane(ref)
    for (const from of states) {
      for (const fault of faults) {
        const set = 'update connections set status = $2, status_cause = null where id = $1'
        await engine.db.execute(set, [ref.connectionId, from])
        const mayPass = await engine.connections.recordFault(ref, {
          providerId: 'kraken',
          keyLane,
          fault,
          isOfBalances: false,
        })
        assert.equal(mayPass, !owners.includes(fault) && from !== 'needs_reauth', fault)
        const after = await engine.connections.find(ref, ref.connectionId)
        const expected = !mayPass ? 'needs_reauth' : from === 'active' ? 'degraded' : from
        assert.equal(after?.status, expected, `${from}, ${fault}`)
        // A connection that waits for its owner keeps the cause that it stopped with.
        assert.equal(after.status_cause, from === 'needs_reauth' ? null : fault, `${from}, ${fault}`)
      }
    }
  })

  it('is active after a complete read, and the text of the fault is gone', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    const keyLane = await findLane(ref)
    await engine.connections.recordFault(ref, {
      providerId: 'kraken',
      keyLane,
      fault: 'venue_down',
      isOfBalances: false,
    })
    const issues = await engine.connections.listIssues(ref)
    assert.deepEqual(
      issues.map(({ cause }) => cause),
      ['sync_in_progress'],
    )
    const firstAt = '2026-01-02T03:04:05.678Z'
    const next = await engine.db.transaction(async (tx) => {
      await recordTransactions(tx, ref, { difference: 3, firstAt, isExact: false })
      return engine.connections.recordRun(tx, ref, { keyLane, jitter: 1 })
    })
    const row = await engine.connections.find(ref, ref.connectionId)
    assert.deepEqual([row?.status, row?.status_cause, row?.status_message], ['active', null, null])
    assert.equal(row?.history_from, firstAt)
    assert.equal(row.transaction_count, '3')
    assert.equal(next?.nextSyncInMs, 15 * 60_000)
    assert.equal(Date.parse(row.next_sync_at ?? '') - Date.parse(row.last_synced_at ?? ''), next.nextSyncInMs)
    assert.deepEqual(await engine.connections.listIssues(ref), [])
  })

  it('that waits for its owner is not read, and a read that ends late does not make it active', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    const keyLane = await findLane(ref)
    await engine.connections.recordFault(ref, {
      providerId: 'kraken',
      keyLane,
      fault: 'key_expired',
      isOfBalances: false,
    })
    assert.equal(await engine.connections.open(ref), undefined)
    const run = { keyLane, jitter: 1 }
    assert.equal(await engine.db.transaction((tx) => engine.connections.recordRun(tx, ref, run)), undefined)
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'needs_reauth')
  })
})

describe('removal', async () => {
  const engine = await openEngine()

  it('takes one connection or all of a provider, and touches no other user', async () => {
    const [owner, other] = [await engine.newOwner(), await engine.newOwner()]
    const mine = [
      await engine.connect(owner, 'empty'),
      await engine.connect(owner, 'empty'),
      await engine.connect(owner, 'empty'),
    ]
    const theirs = await engine.connect(other, 'empty')
    const first = mine[0]?.connectionId ?? ''
    assert.deepEqual(await engine.connections.remove(owner, { connectionId: first }), {
      connectionIds: [first],
      dataDestroyed: true,
    })
    await assert.rejects(engine.connections.remove(owner, { connectionId: first }), { code: 'not_found' })
    await assert.rejects(engine.connections.remove(owner, { connectionId: theirs.connectionId }), { code: 'not_found' })
    const rest = await engine.connections.remove(owner, { providerId: 'kraken' })
    assert.deepEqual(
      rest.connectionIds.toSorted(),
      mine
        .slice(1)
        .map(({ connectionId }) => connectionId)
        .toSorted(),
    )
    assert.notEqual(await engine.connections.find(theirs, theirs.connectionId), undefined)
  })

  it('that is requested twice at once happens once', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    const results = await Promise.allSettled([
      engine.connections.remove(ref, { connectionId: ref.connectionId }),
      engine.connections.remove(ref, { connectionId: ref.connectionId }),
    ])
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  })

  it('leaves no row of the connection in any table, except the ids of transactions that were served', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    await engine.drain()
    await engine.connections.remove(ref, { connectionId: ref.connectionId })
    const tables = await engine.db.rows<{ table_name: string }>(
      `select table_name from information_schema.columns
       join information_schema.tables using (table_schema, table_name)
       where table_schema = 'public' and column_name = 'connection_key' and table_type = 'BASE TABLE'`,
    )
    assert.ok(tables.length > 10)
    for (const { table_name: table } of tables.filter(({ table_name: name }) => name !== 'removed_transactions')) {
      const left = await engine.db.rows(`select 1 from ${table} where user_key = $1`, [ref.userKey])
      assert.deepEqual(left, [], table)
    }
    const named = await engine.db.rows('select 1 from webhook_messages where connection_id = $1', [ref.connectionId])
    assert.deepEqual(named, [])
  })
})
