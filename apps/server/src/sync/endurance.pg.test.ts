/** What reading recovers from: parts of a provider that are away for days, wrong clocks, lost keys and lost jobs. */
import { hourMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testKeyring } from '../test-keys.ts'
import { createSealer } from '../connections/credentials/seal.ts'
import { parseStored } from '../jobs/index.ts'
import { openEngine, type Account } from '../test-engine.ts'
import type { ConnectionRef } from '../owner.ts'
import { queueRefresh } from './refreshes/refreshes.ts'

type Connected = ConnectionRef & Account

const { signal } = new AbortController()

describe('reading', async () => {
  const engine = await openEngine()
  const { db } = engine

  const laneOf = async ({ connectionId }: ConnectionRef): Promise<string> =>
    (await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [connectionId])).key_lane
  const connect = async (scenario: string): Promise<Connected> => {
    const ref = await engine.connect(await engine.newOwner(), scenario)
    await engine.drain({ delayed: true })
    return ref
  }
  const readAgain = async (ref: Connected): Promise<void> => {
    await engine.sync.beginReading(db, ref, await laneOf(ref))
    await engine.drain({ delayed: true })
  }
  const book = (ref: Connected, time?: string): Promise<unknown> =>
    engine.control(`accounts/${ref.accountId}/entries`, {
      entries: [{ type: 'deposit', asset: 'XXBT', amount: '0.5', ...(time === undefined ? {} : { time }) }],
    })
  const countRaw = async ({ userKey }: ConnectionRef): Promise<number> =>
    (await db.rows("select from raw_records where user_key = $1 and stream = 'ledger'", [userKey])).length
  const listLanes = async ({ connectionId }: ConnectionRef): Promise<string[]> =>
    (
      await db.rows<{ lane: string }>(
        "select payload ->> 'lane' as lane from graphile_worker._private_jobs where key = $1",
        [`sync:${connectionId}`],
      )
    ).map(({ lane }) => lane)
  const setFault = (ref: Account, fault: object): Promise<unknown> =>
    engine.control('providers/kraken/faults', { account_id: ref.accountId, ...fault })
  const clearFaults = (): Promise<unknown> =>
    fetch(`${engine.sandbox.controlUrl}/control/providers/kraken/faults`, { method: 'DELETE' })
  const makeDue = (): Promise<unknown> =>
    db.execute(
      `select graphile_worker.reschedule_jobs(array[id], run_at => clock_timestamp()) from graphile_worker.jobs`,
    )
  const stopAfter = (jobs: number): (() => Promise<boolean>) => {
    let done = 0
    return async () => done++ === jobs
  }

  it('of balances and of the other lists continues while one list is away for days', async () => {
    const ref = await connect('default')
    await setFault(ref, { kind: 'http_5xx', endpoint: 'DepositStatus', times: 10_000 })
    for (let day = 0; day < 3; day += 1) {
      await book(ref)
      await engine.moveClock(24 * hourMs)
      await makeDue()
      await engine.drain({ delayed: true, enough: stopAfter(3) })
    }
    const { ledger } = await engine.control<{ ledger: unknown[] }>(`accounts/${ref.accountId}/state`)
    assert.equal(await countRaw(ref), ledger.length)
    const { hours } = await db.row<{ hours: number }>(
      'select extract(epoch from $2::timestamptz - balances_at)::float8 / 3600 as hours from connections where id = $1',
      [ref.connectionId, db.now()],
    )
    assert.ok(hours < 1, `balances of ${hours} hours ago`)
    const row = await engine.connections.find(ref, ref.connectionId)
    assert.deepEqual([row?.status, row?.status_cause], ['degraded', 'venue_down'])
    const coverage = await engine.sync.findCoverage(ref, ref.connectionId)
    assert.equal(coverage?.find(({ stream }) => stream === 'deposits')?.holes[0]?.cause, 'venue_down')

    await clearFaults()
    await makeDue()
    await engine.drain({ delayed: true })
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
    for (const { stream, windows, holes } of (await engine.sync.findCoverage(ref, ref.connectionId)) ?? []) {
      assert.deepEqual(holes, [], stream)
      assert.ok(engine.clock.now() - (windows.at(-1)?.endMs ?? 0) < hourMs, stream)
    }
  })

  it('does not trust a window that was marked as read before its time had come', async () => {
    const ref = await connect('empty')
    await db.execute('update covered_windows set window_end = window_end + 86400000 where user_key = $1', [ref.userKey])
    await engine.moveClock(hourMs)
    await book(ref)
    await engine.moveClock(hourMs)
    await readAgain(ref)
    assert.equal(await countRaw(ref), 1)
    const coverage = await engine.sync.findCoverage(ref, ref.connectionId)
    assert.ok(coverage?.every(({ windows }) => (windows.at(-1)?.endMs ?? Infinity) <= engine.clock.now()))
  })

  it('finds records that were booked days late with the first run of a day', async () => {
    const ref = await connect('empty')
    await engine.moveClock(7 * 24 * hourMs)
    await readAgain(ref)
    await book(ref, new Date(engine.clock.now() - 3 * 24 * hourMs).toISOString())
    await engine.moveClock(24 * hourMs)
    await readAgain(ref)
    assert.equal(await countRaw(ref), 1)
  })

  it('continues when the user allows it again, even in the middle of a first read', async () => {
    const owner = await engine.newOwner()
    const ref = await engine.connect(owner, 'default')
    await engine.drain({ enough: stopAfter(1) })
    await db.execute('update grants set revoked_at = $2 where user_key = $1', [owner.userKey, db.now()])
    await engine.drain({ delayed: true })
    const paused = await engine.connections.find(ref, ref.connectionId)
    assert.deepEqual([paused?.status, paused?.next_sync_at], ['syncing', null])
    await db.execute('update grants set revoked_at = null where user_key = $1', [owner.userKey])
    await db.transaction((tx) => engine.connections.settleSession(tx, owner, 'ses_without_connections'))
    await engine.drain({ delayed: true })
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
  })

  it('that stalls on a key that does not open is reported, and continues when it opens again', async () => {
    const ref = await connect('empty')
    const find = 'select sealed_credentials as sealed from connections where id = $1'
    const { sealed } = await db.row<{ sealed: string }>(find, [ref.connectionId])
    const seal = (text: string): Promise<unknown> =>
      db.execute('update connections set sealed_credentials = $2 where id = $1', [ref.connectionId, text])
    const lost = createSealer(testKeyring('lost'))
    await seal(await lost.seal(ref.connectionId, { apiKey: 'a', secretKey: 'b' }))
    await engine.sync.beginReading(db, ref, await laneOf(ref))
    await engine.drain({ enough: stopAfter(1) })
    const row = await engine.connections.find(ref, ref.connectionId)
    assert.deepEqual([row?.status, row?.status_cause], ['degraded', 'internal'])
    const [issue] = await engine.connections.listIssues(ref)
    assert.equal(issue?.cause, 'internal')
    assert.match(issue.fix ?? '', /connect the account again/)

    await seal(sealed)
    await engine.drain({ delayed: true })
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
  })

  it('with a key that was replaced meanwhile does not affect the new key or its run', async () => {
    const ref = await connect('empty')
    const oldLane = await laneOf(ref)
    const payload = { ref, lane: oldLane }
    await setFault(ref, { kind: 'latency_ms', latency_ms: 400 })
    const old = engine.sync.runTask(payload, signal)
    // Does what an accepted repair does, while the old key waits for its answer.
    const repaired = await db.transaction(async (tx) => {
      await tx.execute("update connections set key_lane = 'new' where id = $1", [ref.connectionId])
      await engine.sync.beginReading(tx, ref, 'new')
      return engine.control(`accounts/${ref.accountId}/key`, { revoked: true })
    })
    assert.ok(repaired)
    await old
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
    assert.deepEqual(await listLanes(ref), ['new'])
    await engine.control(`accounts/${ref.accountId}/key`, { revoked: false })
    await clearFaults()

    // Jobs that were queued for the old key continue in the lane of the new one.
    await engine.sync.runTask(payload, signal)
    assert.deepEqual(await listLanes(ref), ['new'])
    await engine.drain({ delayed: true })
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
  })

  it('is restarted by upkeep when its next job was lost', async () => {
    const ref = await connect('empty')
    await db.execute('select graphile_worker.remove_job($1)', [`sync:${ref.connectionId}`])
    await engine.sync.sweep()
    assert.deepEqual(await listLanes(ref), [])
    await engine.moveClock(hourMs)
    await engine.sync.sweep()
    assert.deepEqual(await listLanes(ref), [await laneOf(ref)])
  })

  it('on request is not satisfied by a run that was requested earlier', async () => {
    const ref = await connect('empty')
    const lane = await laneOf(ref)
    const untilMs = engine.clock.now()
    await engine.moveClock(hourMs)
    await book(ref)
    await engine.moveClock(60_000)
    const { refreshId } = await engine.sync.requestRefresh(ref, 'transactions', undefined)
    const runQueued = async (): Promise<void> => {
      const { payload } = await db.row<{ payload: object }>(
        `delete from graphile_worker._private_jobs where key = $1 returning payload`,
        [`refresh:transactions:${ref.connectionId}`],
      )
      await engine.sync.refreshTask(parseStored('refresh', payload), signal)
    }
    // An earlier refresh that is running queues its rest, which replaces the new job.
    await queueRefresh(db, { ref, lane, kind: 'transactions', attempt: 1, run: { untilMs, stage: 'rest' } }, 0)
    await runQueued()
    assert.equal((await engine.sync.findRefresh(ref, refreshId))?.status, 'queued')
    assert.equal(await countRaw(ref), 0)
    await runQueued()
    assert.equal((await engine.sync.findRefresh(ref, refreshId))?.status, 'succeeded')
    assert.equal(await countRaw(ref), 1)
  })

  it('backs off for every user of a budget when a provider reports a rate limit while a key is checked', async () => {
    const account = await engine.newAccount('empty')
    await setFault(account, { kind: 'http_429_retry_after', retry_after_s: 3_600, endpoint: 'GetApiKeyInfo' })
    const { connectionId } = await engine.add(await engine.newOwner(), account)
    await clearFaults()
    assert.equal(connectionId, null)
    const { blocked } = await db.row<{ blocked: number }>(
      'select count(*)::int as blocked from budgets where blocked_until > $1::timestamptz',
      [db.now()],
    )
    assert.equal(blocked, 1)
  })
})
