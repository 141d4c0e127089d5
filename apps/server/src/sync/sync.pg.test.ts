import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseStored } from '../jobs/index.ts'
import { openEngine, type Account } from '../test-engine.ts'
import type { ConnectionRef } from '../owner.ts'

type Connected = ConnectionRef & Account

describe('reading a connection', async () => {
  const engine = await openEngine()
  const { db } = engine

  const begin = (ref: Connected): Promise<void> => engine.sync.beginReading(db, ref, `lane of ${ref.connectionId}`)
  const countRaw = async ({ userKey }: ConnectionRef): Promise<number> =>
    (await db.rows("select from raw_records where user_key = $1 and stream = 'ledger'", [userKey])).length
  const countLedger = async ({ accountId }: Account): Promise<number> =>
    (await engine.control<{ ledger: unknown[] }>(`accounts/${accountId}/state`)).ledger.length
  const fault = (account: Account, kind: string, more: object = {}): Promise<unknown> =>
    engine.control('providers/kraken/faults', { kind, account_id: account.accountId, ...more })
  const listIds = async ({ userKey }: ConnectionRef): Promise<string[]> => {
    const rows = await db.rows<{ id: string }>('select id from transactions where user_key = $1', [userKey])
    return rows.map(({ id }) => id)
  }

  it('commits the rows and the bookmark of a page together: when that fails, neither is stored', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    await db.execute(`
      create sequence moves;
      create function fail_second() returns trigger language plpgsql as $$
        begin
          if nextval('moves') = 2 then raise 'a page was lost'; end if;
          return new;
        end $$;
      create trigger fail_second before insert or update on stream_bookmarks for each row execute function fail_second()`)
    const findCause = async (): Promise<unknown> => (await engine.connections.find(ref, ref.connectionId))?.status_cause
    await engine.drain({ delayed: true, enough: async () => (await findCause()) === 'internal' })
    assert.equal(await findCause(), 'internal')
    const recent = await db.row<{ rows: number }>(
      `select count(*)::int as rows from raw_records r
       join covered_windows w using (user_key, connection_key, stream)
       where user_key = $1 and stream = 'ledger' and occurred_at >= to_timestamp(window_start / 1000.0)`,
      [ref.userKey],
    )
    // Whole pages of fifty rows up to the bookmark, and nothing of the page that was lost.
    assert.equal((await db.rows('select from stream_bookmarks')).length, 1)
    const older = (await countRaw(ref)) - recent.rows
    assert.ok(older > 0 && older % 50 === 0, String(older))
    const covered = await db.rows<{ days: number }>(
      `select ((window_end - window_start) / 86400000)::int as days from covered_windows where user_key = $1`,
      [ref.userKey],
    )
    assert.deepEqual(
      covered.map(({ days }) => days),
      [60, 60, 60],
    )
    await db.execute('drop trigger fail_second on stream_bookmarks')

    await begin(ref)
    await engine.drain({ delayed: true })
    assert.equal(await countRaw(ref), await countLedger(ref))
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
  })

  it('continues after a failure where it stopped, with the same result as an undisturbed run', async () => {
    const calm = await engine.connect(await engine.newOwner(), 'default')
    await engine.drain({ delayed: true })
    const disturbed = await engine.connect(await engine.newOwner(), 'default')
    await fault(disturbed, 'http_5xx', { endpoint: 'Ledgers', after: 4, times: 1 })
    let seen: { status: string | undefined; cause: string | null | undefined } | undefined
    await engine.drain({
      delayed: true,
      async enough() {
        const row = await engine.connections.find(disturbed, disturbed.connectionId)
        if (row?.status_cause) seen ??= { status: row.status, cause: row.status_cause }
        return false
      },
    })
    assert.deepEqual(seen, { status: 'syncing', cause: 'venue_down' })
    const [calls, more] = [await engine.listCalls(calm), await engine.listCalls(disturbed)]
    assert.ok((calls['Ledgers'] ?? 0) > 8, JSON.stringify(calls))
    // Only the call that failed is repeated.
    assert.equal(more['Ledgers'], (calls['Ledgers'] ?? 0) + 1)
    assert.equal(await countRaw(disturbed), await countRaw(calm))
    assert.equal((await listIds(disturbed)).length, (await listIds(calm)).length)
    assert.deepEqual(await db.rows('select from sync_failures where user_key = $1', [disturbed.userKey]), [])
  })

  it('a second time requests only the new window, and finds the new records in it', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    await engine.drain({ delayed: true })
    const before = { ids: await listIds(ref), calls: await engine.listCalls(ref), raw: await countRaw(ref) }
    await engine.moveClock(3_600_000)
    await engine.control(`accounts/${ref.accountId}/entries`, {
      entries: [{ type: 'deposit', asset: 'XXBT', amount: '0.5' }],
    })
    await engine.moveClock(60_000)
    await begin(ref)
    await engine.drain({ delayed: true })
    const after = { ids: await listIds(ref), calls: await engine.listCalls(ref), raw: await countRaw(ref) }
    // These are the page with the new entry and the empty one after it.
    assert.equal((after.calls['Ledgers'] ?? 0) - (before.calls['Ledgers'] ?? 0), 2)
    assert.equal(after.raw, before.raw + 1)
    assert.equal(after.ids.filter((id) => !before.ids.includes(id)).length, 1)
    assert.deepEqual(
      before.ids.filter((id) => !after.ids.includes(id)),
      [],
    )
    const covered = await db.rows('select from covered_windows where user_key = $1', [ref.userKey])
    assert.equal(covered.length, 3)
  })

  it('finds a row that the provider booked late, inside the overlap', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    await engine.drain({ delayed: true })
    const late = new Date(engine.clock.now() - 20 * 60_000).toISOString()
    await engine.moveClock(600_000)
    await engine.control(`accounts/${ref.accountId}/entries`, {
      entries: [{ type: 'deposit', asset: 'XXBT', amount: '0.5', time: late }],
    })
    await begin(ref)
    await engine.drain({ delayed: true })
    assert.equal(await countRaw(ref), 1)
  })

  it('is degraded while the provider is down, keeps what it served, and recovers by itself', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    await engine.drain({ delayed: true })
    const ids = await listIds(ref)
    await fault(ref, 'down', { times: 3 })
    await begin(ref)
    await engine.drain()
    const down = await engine.connections.find(ref, ref.connectionId)
    assert.deepEqual([down?.status, down?.status_cause], ['degraded', 'venue_down'])
    assert.deepEqual(await listIds(ref), ids)
    const issues = await engine.connections.listIssues(ref)
    assert.deepEqual(
      issues.map(({ cause, connection_id }) => [cause, connection_id]),
      [['venue_down', ref.connectionId]],
    )
    await engine.drain({ delayed: true })
    const up = await engine.connections.find(ref, ref.connectionId)
    assert.deepEqual([up?.status, up?.status_cause, up?.status_message], ['active', null, null])
  })

  it('stops until the owner acts when the key is gone, and queues nothing more', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    await engine.drain({ delayed: true })
    await engine.control(`accounts/${ref.accountId}/key`, { revoked: true })
    await begin(ref)
    await engine.drain({ delayed: true })
    const row = await engine.connections.find(ref, ref.connectionId)
    assert.deepEqual([row?.status, row?.status_cause], ['needs_reauth', 'invalid_credentials'])
    const jobs = await db.rows('select from graphile_worker.jobs where key = $1', [`sync:${ref.connectionId}`])
    assert.deepEqual(jobs, [])
  })

  it('lowers the budget of the key when the provider reports a rate limit, and continues', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    await fault(ref, 'rate_limited', { endpoint: 'Ledgers', times: 1 })
    await engine.drain({ delayed: true })
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
    const { key_lane: lane } = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
      ref.connectionId,
    ])
    const { tier } = await db.row<{ tier: number }>('select tier from budgets where bucket = $1', [
      `kraken:counter:key:${lane}`,
    ])
    assert.equal(tier, 1)
  })

  it('by two workers at once, one of them presumed dead, stores everything once without a failure', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    const { payload } = await db.row<{ payload: unknown }>(
      'select payload from graphile_worker._private_jobs where key = $1',
      [`sync:${ref.connectionId}`],
    )
    const { signal } = new AbortController()
    const job = parseStored('sync', payload)
    await Promise.all([engine.sync.runTask(job, signal), engine.sync.runTask(job, signal)])
    await engine.drain({ delayed: true })
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
    assert.equal(await countRaw(ref), await countLedger(ref))
    const bookmarks = await db.rows('select from stream_bookmarks where user_key = $1', [ref.userKey])
    assert.deepEqual(bookmarks, [])
  })

  it('of a connection that is gone does nothing', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    await engine.connections.remove(ref, { connectionId: ref.connectionId })
    await engine.drain({ delayed: true })
    assert.deepEqual(await engine.listCalls(ref), { GetApiKeyInfo: 1 })
  })
})
