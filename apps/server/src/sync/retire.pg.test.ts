/** Records that the provider no longer shows. */
import { dayMs, hourMs, minuteMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConnectionRef } from '../owner.ts'
import { createTestProvider, openReader, record, type TestProvider } from './test-provider.ts'

describe('a record that the provider no longer shows', async () => {
  const reader = await openReader()
  const { db } = reader

  /**
   * A connection that was read, with records of these keys from a few minutes ago, so that every run reads them again.
   */
  async function readFirst(...keys: string[]): Promise<{ provider: TestProvider; ref: ConnectionRef }> {
    const provider = reader.use(createTestProvider())
    provider.pageSize = 50
    const nowMs = reader.clock.now()
    provider.lists.set(
      'ledger/',
      keys.map((key, index) => record(key, nowMs - (index + 1) * 1_000)),
    )
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    return { provider, ref }
  }
  const hide = (provider: TestProvider, ...keys: string[]): void => {
    const records = provider.lists.get('ledger/') ?? []
    provider.lists.set(
      'ledger/',
      records.filter(({ key }) => !keys.includes(key)),
    )
  }
  const listRetired = async ({ userKey }: ConnectionRef): Promise<string[]> => {
    const rows = await db.rows<{ source_key: string }>(
      'select source_key from raw_records where user_key = $1 and retired_at is not null order by 1',
      [userKey],
    )
    return rows.map(({ source_key }) => source_key)
  }
  const listIds = async (table: string, { userKey }: ConnectionRef): Promise<string[]> =>
    (await db.rows<{ id: string }>(`select id from ${table} where user_key = $1 order by id`, [userKey])).map(
      ({ id }) => id,
    )
  const countRaw = async ({ userKey }: ConnectionRef): Promise<number> =>
    (await db.rows('select from raw_records where user_key = $1', [userKey])).length

  it('is retired when it is missing twice, ten minutes apart, and its transaction is removed with its id kept', async () => {
    const { provider, ref } = await readFirst('A', 'B')
    const before = await listIds('transactions', ref)
    hide(provider, 'B')
    await reader.moveClock(5 * minuteMs)
    await reader.run(ref)
    assert.deepEqual([await listRetired(ref), (await reader.listAmounts(ref)).length], [[], 2])
    await reader.moveClock(5 * minuteMs)
    await reader.run(ref)
    assert.deepEqual(await listRetired(ref), [])
    await reader.moveClock(6 * minuteMs)
    await reader.run(ref)
    assert.deepEqual(await listRetired(ref), ['B'])
    assert.equal(await countRaw(ref), 2)
    const after = await listIds('transactions', ref)
    assert.equal(after.length, 1)
    assert.deepEqual(
      await listIds('removed_transactions', ref),
      before.filter((id) => !after.includes(id)),
    )
  })

  it('is used again when it comes back', async () => {
    const { provider, ref } = await readFirst('A', 'B')
    const records = provider.lists.get('ledger/') ?? []
    const before = await listIds('transactions', ref)
    hide(provider, 'B')
    for (let run = 0; run < 2; run += 1) {
      await reader.moveClock(11 * minuteMs)
      await reader.run(ref)
    }
    assert.deepEqual(await listRetired(ref), ['B'])
    provider.lists.set('ledger/', records)
    await reader.moveClock(11 * minuteMs)
    await reader.run(ref)
    assert.deepEqual(await listRetired(ref), [])
    assert.deepEqual(await listIds('transactions', ref), before)
    assert.deepEqual(await listIds('removed_transactions', ref), [])
  })

  it('is forgotten as missing when the next read shows it', async () => {
    const { provider, ref } = await readFirst('A', 'B')
    const records = provider.lists.get('ledger/') ?? []
    for (const shown of [false, true, false]) {
      if (shown) provider.lists.set('ledger/', records)
      else hide(provider, 'B')
      await reader.moveClock(11 * minuteMs)
      await reader.run(ref)
    }
    assert.deepEqual(await listRetired(ref), [])
  })

  it('stays when too much is missing at once: that is a hole, and the next run asks again', async () => {
    const keys = Array.from({ length: 20 }, (_, index) => `K${index}`)
    const { provider, ref } = await readFirst(...keys)
    const records = provider.lists.get('ledger/') ?? []
    hide(provider, 'K3', 'K4')
    for (let run = 0; run < 3; run += 1) {
      await reader.moveClock(11 * minuteMs)
      await reader.run(ref)
    }
    assert.deepEqual([await listRetired(ref), (await reader.listAmounts(ref)).length], [[], 20])
    const row = await reader.connections.find(ref, ref.connectionId)
    assert.deepEqual([row?.status, row?.status_cause], ['degraded', 'data_hole'])
    const [ledger] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.equal(ledger?.holes.at(-1)?.cause, 'data_hole')
    provider.lists.set('ledger/', records)
    await reader.moveClock(minuteMs)
    await reader.run(ref)
    assert.equal((await reader.connections.find(ref, ref.connectionId))?.status, 'active')
    // One of twenty is not suspicious.
    hide(provider, 'K3')
    for (let run = 0; run < 2; run += 1) {
      await reader.moveClock(11 * minuteMs)
      await reader.run(ref)
    }
    assert.deepEqual(await listRetired(ref), ['K3'])
  })

  it('is retired after a week in which too much was missing, and the window is read to its end again', async () => {
    const keys = Array.from({ length: 10 }, (_, index) => `K${index}`)
    const { provider, ref } = await readFirst(...keys)
    hide(provider, 'K3', 'K4')
    for (let day = 0; day < 6; day += 1) {
      await reader.moveClock(dayMs)
      await reader.run(ref)
    }
    assert.deepEqual(await listRetired(ref), [])
    for (let day = 0; day < 2; day += 1) {
      await reader.moveClock(dayMs)
      await reader.run(ref)
    }
    assert.deepEqual(await listRetired(ref), ['K3', 'K4'])
    assert.equal((await reader.connections.find(ref, ref.connectionId))?.status, 'active')
    const [ledger] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.deepEqual(ledger?.holes, [])
  })

  it('does not count when it could not be read: the same record has come under its own key since', async () => {
    const { provider, ref } = await readFirst('A', 'B')
    const records = provider.lists.get('ledger/') ?? []
    const garbled = records.map((one) => ({ ...one, key: `hash of ${one.key}`, unreadable: 'no side' }))
    provider.lists.set('ledger/', [...records, ...garbled])
    await reader.moveClock(minuteMs)
    await reader.run(ref)
    provider.lists.set('ledger/', records)
    for (let run = 0; run < 2; run += 1) {
      await reader.moveClock(11 * minuteMs)
      await reader.run(ref)
      assert.equal((await reader.connections.find(ref, ref.connectionId))?.status, 'active')
    }
    assert.deepEqual(await listRetired(ref), ['hash of A', 'hash of B'])
  })

  it('is not missed because of an empty answer when it could not be read', async () => {
    const { provider, ref } = await readFirst()
    const nowMs = reader.clock.now()
    const garbled = { ...record('G', nowMs - 1_000), unreadable: 'no side' }
    provider.lists.set('ledger/', [garbled])
    await reader.moveClock(minuteMs)
    await reader.run(ref)
    provider.lists.set('ledger/', [])
    for (let run = 0; run < 3; run += 1) {
      await reader.moveClock(11 * minuteMs)
      await reader.run(ref)
    }
    assert.deepEqual(await listRetired(ref), [])
  })

  it('is retired at once when the provider says that it was withdrawn', async () => {
    const { provider, ref } = await readFirst('A', 'B')
    hide(provider, 'A')
    provider.answer = (_, page) => ({ ...page, withdrawn: ['A'] })
    await reader.moveClock(minuteMs)
    await reader.run(ref)
    assert.deepEqual([await listRetired(ref), (await reader.listAmounts(ref)).length], [['A'], 1])
    assert.equal((await listIds('removed_transactions', ref)).length, 1)
  })

  it('is not looked for outside the window that was read', async () => {
    const { provider, ref } = await readFirst('A', 'B')
    provider.lists.set('ledger/', [])
    await reader.moveClock(3 * hourMs)
    for (let run = 0; run < 3; run += 1) {
      await reader.moveClock(11 * minuteMs)
      // Within one day, a run looks an hour back.
      await reader.run(ref)
    }
    const looked = provider.requests.slice(-2).map(({ window }) => reader.clock.now() - window.start)
    if (Math.max(...looked) < 3 * hourMs) assert.deepEqual(await listRetired(ref), [])
  })
})
