/** What the fleet and its readers see of a provider that does not answer. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readStatus } from '../operations/index.ts'
import { openEngine, type Account } from '../test-engine.ts'
import type { ConnectionRow } from '../connections/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'

type Connected = ConnectionRef & Account

describe('a provider that does not answer', async () => {
  const engine = await openEngine()
  const { db } = engine

  const begin = (ref: ConnectionRef): Promise<void> => engine.sync.beginReading(db, ref, `lane of ${ref.connectionId}`)
  const takeDown = (more: object = {}): Promise<unknown> =>
    engine.control('providers/kraken/faults', { kind: 'down', ...more })
  const bringBack = async (): Promise<void> => {
    await fetch(`${engine.sandbox.controlUrl}/control/providers/kraken/faults`, { method: 'DELETE' })
  }
  const find = async (ref: ConnectionRef): Promise<ConnectionRow> => {
    const row = await engine.connections.find(ref, ref.connectionId)
    assert.ok(row)
    return row
  }
  const countCalls = async (ref: Connected): Promise<number> =>
    Object.values(await engine.listCalls(ref)).reduce((sum, count) => sum + count, 0)
  const listCircuits = (): Promise<{ opened: boolean; probes: number }[]> =>
    db.rows('select opened_at is not null as opened, probes from circuits')
  const makeProbeDue = (): Promise<number> =>
    db.execute("update circuits set probe_at = $1::timestamptz - interval '1 ms'", [db.now()])
  /** This lasts longer than any test takes. */
  const holdProbe = (): Promise<number> =>
    db.execute("update circuits set probe_at = $1::timestamptz + interval '1 hour'", [db.now()])
  const refColumns = `tenant_key as "tenantKey", tenant_id as "tenantId", user_key as "userKey", user_id as "userId",
    connection_key as "connectionKey", id as "connectionId"`

  async function connectRead(owner?: Owner): Promise<Connected> {
    const ref = await engine.connect(owner ?? (await engine.newOwner()), 'empty')
    await engine.drain({ delayed: true })
    return ref
  }
  /** Makes three connections fail five times. */
  async function open(refs: readonly Connected[]): Promise<void> {
    const [a, b, c] = refs
    assert.ok(a && b && c)
    const isOpen = async (): Promise<boolean> => (await listCircuits()).some(({ opened }) => opened)
    for (const ref of [a, b, c, a, b]) {
      if (await isOpen()) return
      await begin(ref)
      // The clock moves no further, because on a slow machine the first probe may come due.
      await engine.drain({ enough: isOpen })
    }
  }

  it('is still called when only connections that were never read get no answer: strangers can connect such wallets', async () => {
    const refs: Connected[] = []
    for (let count = 0; count < 3; count += 1) refs.push(await engine.connect(await engine.newOwner(), 'empty'))
    await takeDown()
    await open(refs)
    for (const ref of refs) assert.deepEqual([(await find(ref)).status_cause], ['venue_down'])
    assert.deepEqual(await listCircuits(), [])
    await bringBack()
    await engine.drain({ delayed: true })
    for (const ref of refs) assert.equal((await find(ref)).status, 'active')
  })

  it('is still called when it says itself that it is down: it may mean one account', async () => {
    const refs = [await connectRead(), await connectRead(), await connectRead()] as const
    await engine.control('providers/kraken/faults', { kind: 'service_unavailable' })
    const before = await countCalls(refs[0])
    await open(refs)
    for (const ref of refs) assert.deepEqual([(await find(ref)).status_cause], ['venue_down'])
    assert.deepEqual(await listCircuits(), [])
    assert.ok((await countCalls(refs[0])) >= before + 2)
    await bringBack()
    await engine.drain({ delayed: true })
    for (const ref of refs) assert.equal((await find(ref)).status, 'active')
  })

  it('is not called after connections of three users failed, and every connection reports since when and until when', async () => {
    const refs = [await connectRead(), await connectRead(), await connectRead(), await connectRead()] as const
    await takeDown()
    await open(refs)
    assert.deepEqual(await listCircuits(), [{ opened: true, probes: 0 }])
    await holdProbe()

    const [, , , other] = refs
    const before = await countCalls(other)
    await begin(other)
    await engine.drain()
    assert.equal(await countCalls(other), before)
    const row = await find(other)
    assert.deepEqual([row.status, row.status_cause], ['degraded', 'venue_down'])
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`
    const told = new RegExp(`^Kraken cannot be reached .* since ${time}\\. It is tried again at ${time}\\.$`)
    assert.match(row.status_message ?? '', told)
    // The wait is spread, so that connections do not come back all at once. The job may be added some time after its
    // time was chosen, so it is due then or later, and the remaining wait shrinks while the test runs.
    const nextMs = Date.parse(row.next_sync_at ?? '')
    const { after_ms: afterMs } = await db.row<{ after_ms: number }>(
      'select 1000 * extract(epoch from $1::timestamptz - probe_at)::float8 as after_ms from circuits',
      [row.next_sync_at],
    )
    assert.ok(afterMs >= 0 && afterMs <= 1_800_000, `next try ${afterMs} ms after the probe`)
    const job = await db.row<{ due_ms: number }>(
      `select 1000 * extract(epoch from run_at - clock_timestamp())::float8 as due_ms
       from graphile_worker.jobs where key = $1`,
      [`sync:${other.connectionId}`],
    )
    assert.ok(job.due_ms >= nextMs - engine.clock.now() - 1, `a job due in ${job.due_ms} ms`)

    const [issue] = await engine.connections.listIssues(other)
    assert.deepEqual([issue?.cause, issue?.message], ['venue_down', row.status_message])
    const leftSeconds = (nextMs - engine.clock.now()) / 1_000
    assert.ok((issue?.retry_after_seconds ?? 0) >= Math.floor(leftSeconds), `${issue?.retry_after_seconds} s`)

    const { circuits } = await readStatus(db)
    assert.deepEqual(
      circuits.map(({ provider_id, open, failures }) => [provider_id, open, failures >= 5]),
      [['kraken', true, true]],
    )
    await bringBack()
  })

  it('is reported at once to a user who adds a key or refreshes, without a call and without a cooldown', async () => {
    await holdProbe()
    const owner = await engine.newOwner()
    const account = await engine.newAccount('empty')
    const result = await engine.add(owner, account)
    assert.equal(result.added, false)
    const [item] = result.errors
    assert.equal(item?.cause, 'venue_down')
    assert.ok((item?.retry_after_seconds ?? 0) > 60, JSON.stringify(item))
    assert.deepEqual(await engine.listCalls(account), {})

    const connected = await db.row<Owner>(`select ${refColumns} from connections limit 1`)
    for (let time = 0; time < 2; time += 1) {
      const refresh = await engine.sync.requestRefresh(connected, 'assets', undefined)
      assert.equal(refresh.status, 'failed')
      assert.deepEqual(
        refresh.connections.map(({ status, cause }) => [status, cause]),
        [['failed', 'venue_down']],
      )
    }
  })

  it('is called by one job when a probe is due, and every connection continues when it answers', async () => {
    const refs = await db.rows<ConnectionRef>(
      `select ${refColumns} from connections where status = 'degraded' order by id limit 2`,
    )
    assert.equal(refs.length, 2)
    await takeDown()
    await makeProbeDue()
    for (const ref of refs) await begin(ref)
    await engine.drain()
    assert.deepEqual(await listCircuits(), [{ opened: true, probes: 1 }])
    await bringBack()
    await makeProbeDue()
    for (const ref of refs) await begin(ref)
    await engine.drain({ delayed: true })
    assert.deepEqual(await listCircuits(), [])
    for (const ref of refs) assert.equal((await find(ref)).status, 'active')
  })

  it('is still called when only connections of one user get no answer', async () => {
    const owner = await engine.newOwner()
    const refs = [await connectRead(owner), await connectRead(owner), await connectRead(owner)] as const
    await takeDown()
    await open(refs)
    const outage = await db.row<{ failures: number; opened: boolean }>(
      'select failures, opened_at is not null as opened from circuits',
    )
    assert.ok(outage.failures >= 5, `${outage.failures} failures`)
    assert.equal(outage.opened, false)
    await bringBack()
    await engine.drain({ delayed: true })
    for (const ref of refs) assert.equal((await find(ref)).status, 'active')
    assert.deepEqual(await listCircuits(), [])
  })

  it('for one key affects only that connection', async () => {
    const broken = await connectRead()
    const sound = await connectRead()
    await takeDown({ account_id: broken.accountId })
    const countFailures = async (): Promise<number> =>
      (await db.maybeRow<{ failures: number }>('select failures from circuits'))?.failures ?? 0
    await begin(broken)
    await engine.drain({ delayed: true, enough: async () => (await countFailures()) >= 10 })
    assert.deepEqual(await listCircuits(), [{ opened: false, probes: 0 }])
    await begin(sound)
    await engine.drain({ enough: async () => (await listCircuits()).length === 0 })
    await bringBack()
    await engine.drain({ delayed: true })
    assert.equal((await find(broken)).status, 'active')
  })

  it('that refuses a key is up, so the refusal closes the circuit', async () => {
    const refs = [await connectRead(), await connectRead(), await connectRead()] as const
    await takeDown()
    await open(refs)
    assert.deepEqual(await listCircuits(), [{ opened: true, probes: 0 }])
    await bringBack()
    await engine.control(`accounts/${refs[0].accountId}/key`, { revoked: true })
    await makeProbeDue()
    await begin(refs[0])
    await engine.drain()
    assert.deepEqual([await listCircuits(), (await find(refs[0])).status], [[], 'needs_reauth'])
  })
})
