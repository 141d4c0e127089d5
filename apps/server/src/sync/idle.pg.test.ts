/** What a connection costs while nothing happens to it, and when it is read at all. */
import { hourMs, minuteMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordStatements } from '../db/test-statements.ts'
import type { ConnectionRef } from '../owner.ts'
import { parseStored } from '../jobs/index.ts'
import { openEngine, type Account } from '../test-engine.ts'

type Connected = ConnectionRef & Account

describe('a run that finds nothing new', async () => {
  const engine = await openEngine()
  const { db } = engine

  const connectRead = async (scenario: string, providerId?: string): Promise<Connected> => {
    const ref = await engine.connect(await engine.newOwner(), scenario, providerId)
    await engine.drain({ delayed: true })
    return ref
  }
  const makeDue = ({ connectionId }: ConnectionRef): Promise<unknown> =>
    db.execute(
      `select graphile_worker.reschedule_jobs(array[id], run_at => clock_timestamp())
       from graphile_worker.jobs where key = $1`,
      [`sync:${connectionId}`],
    )
  const takeJob = async ({ connectionId }: ConnectionRef): Promise<unknown> =>
    (
      await db.row<{ payload: unknown }>('delete from graphile_worker._private_jobs where key = $1 returning payload', [
        `sync:${connectionId}`,
      ])
    ).payload
  /** Runs as a worker does, which reads the clock first. */
  const run = async (ref: ConnectionRef): Promise<string[]> => {
    const payload = await takeJob(ref)
    const { signal } = new AbortController()
    const sent = await recordStatements(async () => {
      await db.clock.refresh()
      await engine.sync.runTask(parseStored('sync', payload), signal)
    })
    return sent.map(({ text }) => text.replaceAll(/\s+/g, ' ').trim())
  }
  /** Other connections of the fleet do this every few minutes, because all connections share the prices. */
  const refreshPrices = async (): Promise<void> => {
    const rows = await db.rows<{ id: string }>('select id from assets')
    await engine.prices.ensureCurrent(rows.map(({ id }) => id))
  }

  it('sends at most 15 statements, whatever the number of records that it reads again', async () => {
    const ref = await connectRead('default')
    // Recent movements lie in the overlap of every stream, so each run reads them again.
    await engine.control(`accounts/${ref.accountId}/entries`, {
      entries: [{ type: 'deposit', asset: 'XXBT', amount: '0.5' }],
    })
    await engine.moveClock(minuteMs)
    await makeDue(ref)
    await engine.drain({ delayed: true })
    // The run after it judges the balances that have changed, and is the last that has something to do.
    await engine.moveClock(15 * minuteMs)
    await run(ref)

    const before = { calls: await engine.listCalls(ref), row: await engine.connections.find(ref, ref.connectionId) }
    await engine.moveClock(15 * minuteMs)
    await refreshPrices()
    const statements = await run(ref)
    assert.ok(
      statements.length <= 15,
      `${statements.length}:\n${statements.map((text) => text.slice(0, 150)).join('\n')}`,
    )
    const after = { calls: await engine.listCalls(ref), row: await engine.connections.find(ref, ref.connectionId) }
    // A list that is read by offsets has ended when a page shows nothing new: one page more.
    for (const [endpoint, count] of Object.entries({ BalanceEx: 1, Ledgers: 2, DepositStatus: 1, WithdrawStatus: 1 })) {
      assert.equal((after.calls[endpoint] ?? 0) - (before.calls[endpoint] ?? 0), count, endpoint)
    }
    assert.equal(after.calls['GetApiKeyInfo'], before.calls['GetApiKeyInfo'])
    assert.equal(after.row?.transaction_count, before.row?.transaction_count)
    assert.ok(
      Date.parse(after.row?.last_synced_at ?? '') - Date.parse(before.row?.last_synced_at ?? '') >= 15 * minuteMs,
    )
    const coverage = (await engine.sync.findCoverage(ref, ref.connectionId)) ?? []
    for (const { stream, windows } of coverage) {
      assert.equal(windows.length, 1, stream)
      // Coverage reaches the time of this run, a quarter of an hour after the one before.
      assert.ok((windows[0]?.endMs ?? 0) >= Date.parse(before.row?.last_synced_at ?? '') + 14 * minuteMs, stream)
    }
    const jobs = await db.rows<{ due_ms: number }>(
      `select 1000 * extract(epoch from run_at - clock_timestamp())::float8 as due_ms
       from graphile_worker.jobs where key = $1`,
      [`sync:${ref.connectionId}`],
    )
    // The job is added shortly after its time was chosen, so it is due then or later.
    const plannedMs = Date.parse(after.row?.next_sync_at ?? '') - engine.clock.now()
    assert.deepEqual(
      jobs.map(({ due_ms }) => due_ms >= plannedMs - 1 && due_ms <= plannedMs + hourMs),
      [true],
    )
  })

  it('sends at most 15 statements beside those of its calls, where the marks of lists move with every run', async () => {
    // Binance has a list of trades for each pair, whose mark says when the list was last read to its end.
    const account = await engine.newAccount('empty', 'binance')
    await engine.control(`accounts/${account.accountId}/entries`, {
      entries: [{ type: 'deposit', asset: 'BTC', amount: '1' }],
    })
    await engine.moveClock(minuteMs)
    const owner = await engine.newOwner()
    const { connectionId } = await engine.add(owner, account, { providerId: 'binance' })
    assert.ok(connectionId)
    const ref = { ...(await engine.toRef(owner, connectionId)), ...account }
    await engine.drain({ delayed: true })
    const findJudged = (): Promise<{ judged: string }> =>
      db.row('select proof_balances_at as judged from connections where id = $1', [connectionId])
    await engine.moveClock(15 * minuteMs)
    await run(ref)
    for (let count = 0; count < 2; count += 1) {
      const { judged } = await findJudged()
      await engine.moveClock(15 * minuteMs)
      await refreshPrices()
      // Each call takes its share of the budgets, and looks whether the provider is known to be away.
      const statements = (await run(ref)).filter((text) => !/\b(?:budgets|circuits)\b/.test(text))
      assert.ok(
        statements.length <= 15,
        `${statements.length}:\n${statements.map((text) => text.slice(0, 150)).join('\n')}`,
      )
      assert.ok((await findJudged()).judged > judged, 'a newer reading was judged')
    }
  })

  it('sends no webhook, and does not touch holdings or users', async () => {
    const ref = await connectRead('default')
    await engine.webhooks.set(ref.tenantId, 'http://127.0.0.1:9/hook')
    const look = (): Promise<unknown> =>
      db.row(
        `select (select count(*) from webhook_messages) as messages, (select count(*) from user_notices) as notices,
           (select count(*) from holdings where user_key = $1 and xmin::text = any(
             select distinct xmin::text from holdings where user_key = $1)) as holdings,
           (select string_agg(xmin::text, ',' order by asset_key) from holdings where user_key = $1) as versions`,
        [ref.userKey],
      )
    const before = await look()
    await engine.moveClock(minuteMs)
    await run(ref)
    assert.deepEqual(await look(), before)
    await engine.webhooks.remove(ref.tenantId)
  })

  it('resets the count of earlier failures', async () => {
    const ref = await connectRead('empty')
    await db.execute('insert into sync_failures (user_key, connection_key, failures) values ($1, $2, 3)', [
      ref.userKey,
      ref.connectionKey,
    ])
    await run(ref)
    assert.deepEqual(await db.rows('select from sync_failures where user_key = $1', [ref.userKey]), [])
  })

  it('reads the rights of the key once a day, and detects a key with added rights', async () => {
    const ref = await connectRead('empty')
    const countLooks = async (): Promise<number> => (await engine.listCalls(ref))['GetApiKeyInfo'] ?? 0
    const first = await countLooks()
    await engine.moveClock(23 * hourMs)
    await makeDue(ref)
    await engine.drain()
    assert.equal(await countLooks(), first)
    await engine.control(`accounts/${ref.accountId}/key`, {
      permissions: ['query-funds', 'query-closed-trades', 'query-ledger', 'withdraw-funds'],
    })
    await engine.moveClock(2 * hourMs)
    await makeDue(ref)
    await engine.drain()
    assert.equal(await countLooks(), first + 1)
    const row = await engine.connections.find(ref, ref.connectionId)
    assert.deepEqual([row?.status, row?.status_cause], ['needs_reauth', 'excess_permission'])
  })
})

describe('the next run', async () => {
  const engine = await openEngine()
  const { db } = engine

  const readAt = (ref: ConnectionRef, agoMs: number): Promise<unknown> =>
    db.execute('update user_ledgers set read_at = $2 where user_key = $1', [
      ref.userKey,
      new Date(engine.clock.now() - agoMs).toISOString(),
    ])
  const addedAgo = ({ connectionId }: ConnectionRef, agoMs: number): Promise<unknown> =>
    db.execute('update connections set added_at = $2 where id = $1', [
      connectionId,
      new Date(engine.clock.now() - agoMs).toISOString(),
    ])
  const begin = async (ref: ConnectionRef): Promise<void> => {
    const { key_lane: lane } = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
      ref.connectionId,
    ])
    await engine.sync.beginReading(db, ref, lane)
    await engine.drain()
  }
  const plannedMinutes = async (ref: ConnectionRef): Promise<number> => {
    const row = await engine.connections.find(ref, ref.connectionId)
    return (Date.parse(row?.next_sync_at ?? '') - Date.parse(row?.last_synced_at ?? '')) / minuteMs
  }
  const jobMinutes = async ({ connectionId }: ConnectionRef): Promise<number> => {
    const { minutes } = await db.row<{ minutes: number }>(
      `select extract(epoch from run_at - clock_timestamp())::float8 / 60 as minutes
       from graphile_worker.jobs where key = $1`,
      [`sync:${connectionId}`],
    )
    return minutes
  }
  async function connectOld(): Promise<ConnectionRef> {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    await engine.drain()
    await addedAgo(ref, 100 * 24 * hourMs)
    return ref
  }
  const isNear = (minutes: number, expected: number): void =>
    assert.ok(minutes >= expected * 0.74 && minutes <= expected * 1.26, `${minutes} minutes, expected ${expected}`)

  it('comes after a quarter of an hour when the data was read within the hour', async () => {
    const ref = await connectOld()
    await readAt(ref, 50 * minuteMs)
    await begin(ref)
    isNear(await plannedMinutes(ref), 15)
    isNear(await jobMinutes(ref), 15)
  })

  it('comes after an hour when it was read within a day', async () => {
    const ref = await connectOld()
    await readAt(ref, 23 * hourMs)
    await begin(ref)
    isNear(await plannedMinutes(ref), 60)
    isNear(await jobMinutes(ref), 60)
  })

  it('comes after six hours otherwise, and after an hour where the tenant has a webhook', async () => {
    const ref = await connectOld()
    await readAt(ref, 25 * hourMs)
    await begin(ref)
    isNear(await plannedMinutes(ref), 360)
    isNear(await jobMinutes(ref), 360)
    await engine.webhooks.set(ref.tenantId, 'http://127.0.0.1:9/hook')
    await begin(ref)
    isNear(await plannedMinutes(ref), 60)
    await engine.webhooks.remove(ref.tenantId)
  })

  it('comes soon for a new connection, because the user who added it is looking at it', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    await engine.drain({ delayed: true })
    isNear(await plannedMinutes(ref), 15)
  })

  it('comes at once when the user returns after hours, but keeps its time after minutes', async () => {
    const [late, fresh, broken] = [await connectOld(), await connectOld(), await connectOld()]
    for (const ref of [late, fresh, broken]) await begin(ref)
    await db.execute("update connections set last_synced_at = last_synced_at - interval '2 hours' where id = $1", [
      late.connectionId,
    ])
    await db.execute("update connections set status = 'degraded' where id = $1", [broken.connectionId])
    for (const ref of [late, fresh, broken]) await readAt(ref, 0)
    await engine.connections.onUserAccesses([late, fresh, broken])
    assert.ok((await jobMinutes(late)) < 0.5)
    isNear(await jobMinutes(fresh), 15)
    // A connection that backs off from a failing provider keeps its own time.
    isNear(await jobMinutes(broken), 360)
    const row = await engine.connections.find(late, late.connectionId)
    assert.ok(Date.parse(row?.next_sync_at ?? '') <= engine.clock.now())
  })

  it('is planned by settings', async () => {
    const often = await openEngine({ ASSAY_SYNC_ACTIVE_INTERVAL: '3' })
    const ref = await often.connect(await often.newOwner(), 'empty')
    const isJudged = 'select from connections where proof_grade is not null'
    await often.drain({ delayed: true, enough: async () => (await often.db.rows(isJudged)).length > 0 })
    const row = await often.connections.find(ref, ref.connectionId)
    isNear((Date.parse(row?.next_sync_at ?? '') - Date.parse(row?.last_synced_at ?? '')) / minuteMs, 3)
  })
})
