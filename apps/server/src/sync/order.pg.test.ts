/** The order in which a connection is read: first what users look at first, and around what cannot be read. */
import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseStored } from '../jobs/index.ts'
import { openEngine, type Account } from '../test-engine.ts'
import type { ConnectionRef } from '../owner.ts'
import { beginningMs } from './plan.ts'

describe('a first read', async () => {
  const engine = await openEngine()
  const { db } = engine

  const listJobs = ({ connectionId }: ConnectionRef): Promise<{ priority: number; payload: { run?: object } }[]> =>
    db.rows(
      'select j.priority, p.payload from graphile_worker.jobs j join graphile_worker._private_jobs p using (id) where j.key = $1',
      [`sync:${connectionId}`],
    )
  const listDays = async ({ userKey }: ConnectionRef): Promise<number[]> => {
    const rows = await db.rows<{ days: number }>(
      `select floor(extract(epoch from $2::timestamptz - occurred_at) / 86400)::int as days from transactions
       where user_key = $1 order by 1`,
      [userKey, db.now()],
    )
    return rows.map(({ days }) => days)
  }
  const book = ({ accountId }: Account, daysAgo: number): Promise<unknown> =>
    engine.control(`accounts/${accountId}/entries`, {
      entries: [
        {
          type: 'deposit',
          asset: 'XXBT',
          amount: '0.5',
          time: new Date(engine.clock.now() - daysAgo * dayMs).toISOString(),
        },
      ],
    })
  const clearFaults = (): Promise<unknown> =>
    fetch(`${engine.sandbox.controlUrl}/control/providers/kraken/faults`, { method: 'DELETE' })

  it('begins with a job for the balances alone, which goes before background jobs; the rest is a background job', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    assert.deepEqual(
      (await listJobs(ref)).map(({ priority }) => priority),
      [-10],
    )
    let jobs = 0
    await engine.drain({ enough: async () => jobs++ === 1 })
    const positions = await db.rows('select from holdings where user_key = $1', [ref.userKey])
    assert.ok(positions.length > 10)
    const calls = await engine.listCalls(ref)
    assert.deepEqual([calls['BalanceEx'], calls['Ledgers']], [1, undefined])
    const [next] = await listJobs(ref)
    assert.equal(next?.priority, 0)
    assert.ok(next?.payload.run !== undefined)
    await engine.drain({ delayed: true })
    assert.equal((await engine.listCalls(ref))['BalanceEx'], 1)
  })

  it('shows the last thirty days while the rest is still to be read, and leaves out what lies at the edge', async () => {
    const account = await engine.newAccount('empty')
    for (const daysAgo of [400, 65, 40, 29, 9, 2]) await book(account, daysAgo)
    const owner = await engine.newOwner()
    const { connectionId } = await engine.add(owner, account)
    assert.ok(connectionId !== null)
    const ref = { ...(await engine.toRef(owner, connectionId)), ...account }
    // The provider serves a page for the last days and the empty one after it; then the ledger is away.
    await engine.control('providers/kraken/faults', {
      kind: 'http_5xx',
      endpoint: 'Ledgers',
      account_id: account.accountId,
      after: 2,
    })
    await engine.drain()
    assert.deepEqual(await listDays(ref), [2, 9, 29])
    const shown = await engine.connections.find(ref, ref.connectionId)
    assert.equal(shown?.transaction_count, '3')
    assert.equal(Math.floor((engine.clock.now() - Date.parse(shown.history_from ?? '')) / dayMs), 29)
    const coverage = await engine.sync.findCoverage(ref, ref.connectionId)
    const ledger = coverage?.find(({ stream }) => stream === 'ledger')
    assert.deepEqual(
      ledger?.windows.map(({ startMs, endMs }) => (endMs - startMs) / dayMs),
      [60],
    )
    assert.deepEqual([ledger?.holes[0]?.startMs, ledger?.holes[0]?.endMs], [beginningMs, ledger?.windows[0]?.startMs])
    // The other lists were read to their end all the same.
    for (const { stream, windows } of coverage ?? [])
      if (stream !== 'ledger') assert.equal(windows[0]?.startMs, beginningMs, stream)

    await clearFaults()
    await engine.drain({ delayed: true })
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
    assert.deepEqual(await listDays(ref), [2, 9, 29, 40, 65, 400])
    for (const { windows, holes } of (await engine.sync.findCoverage(ref, ref.connectionId)) ?? []) {
      assert.equal(windows.length, 1)
      assert.deepEqual(holes, [])
    }
  })

  it('in two windows requests one more page of each list than one window would', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    // This leaves out the run behind it, which reads past the balances so that they can be judged.
    const isRead = async (): Promise<boolean> =>
      (await engine.connections.find(ref, ref.connectionId))?.status === 'active'
    await engine.drain({ delayed: true, enough: isRead })
    const { ledger, deposits, withdrawals } = await engine.control<Record<string, unknown[]>>(
      `accounts/${ref.accountId}/state`,
    )
    const calls = await engine.listCalls(ref)
    // Pages have fifty rows. Every page of the ledger except the first repeats a row, and each window ends with an
    // empty page.
    assert.ok((calls['Ledgers'] ?? 0) <= Math.ceil((ledger?.length ?? 0) / 49) + 3, JSON.stringify(calls))
    assert.ok((calls['DepositStatus'] ?? 0) <= Math.ceil((deposits?.length ?? 0) / 50) + 1, JSON.stringify(calls))
    assert.ok((calls['WithdrawStatus'] ?? 0) <= Math.ceil((withdrawals?.length ?? 0) / 50) + 1, JSON.stringify(calls))
  })

  it('is followed by runs a quarter of an hour apart, at a different time for each connection', async () => {
    await engine.drain({ delayed: true })
    const rows = await db.rows<{ minutes: number }>(
      `select extract(epoch from next_sync_at - last_synced_at)::float8 / 60 as minutes from connections
       where status = 'active'`,
    )
    const minutes = rows.map((row) => row.minutes)
    assert.ok(minutes.length >= 3)
    assert.ok(
      minutes.every((one) => one >= 11.2 && one <= 18.8),
      JSON.stringify(minutes),
    )
    // Two of the times may coincide by chance.
    assert.ok(new Set(minutes).size > 1)
  })

  it('that is asked to make room ends before its next page and queues the rest, at the back', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    let jobs = 0
    await engine.drain({ enough: async () => jobs++ === 1 })
    const [next] = await listJobs(ref)
    await db.execute('select graphile_worker.remove_job($1)', [`sync:${ref.connectionId}`])
    await engine.sync.runTask(parseStored('sync', next?.payload), AbortSignal.abort())
    assert.equal((await engine.listCalls(ref))['Ledgers'], undefined)
    const [again] = await listJobs(ref)
    assert.deepEqual([again?.priority, again?.payload], [0, next?.payload])
    await engine.drain({ delayed: true })
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
  })
})
