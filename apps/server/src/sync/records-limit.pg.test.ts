import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hourMs } from '@assay/core'
import { recordStatements } from '../db/test-statements.ts'
import type { ConnectionRef } from '../owner.ts'
import { openEngine } from '../test-engine.ts'
import { createTestProvider, openReader, plainStream, record } from './test-provider.ts'

describe('a user with more records than may be kept', async () => {
  const engine = await openEngine({ ASSAY_LIMIT_RECORDS: '20' })
  const { db } = engine

  it('has no more history read, and keeps what was read and the balances', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'default')
    const find = async () => engine.connections.find(ref, ref.connectionId)
    await engine.drain({ delayed: true, enough: async () => (await find())?.status_cause === 'data_hole' })
    const count = async (table: 'raw_records' | 'transactions'): Promise<number> =>
      (await db.rows(`select from ${table} where user_key = $1::bigint`, [ref.userKey])).length
    const [records, transactions] = [await count('raw_records'), await count('transactions')]
    // The limit is looked at when a job begins.
    assert.ok(records > 20 && transactions > 0)
    const findBalancesAt = async (): Promise<string> =>
      (await db.row<{ at: string }>('select balances_at as at from connections where id = $1', [ref.connectionId])).at
    const before = await findBalancesAt()

    await engine.control(`accounts/${ref.accountId}/entries`, {
      entries: [{ type: 'deposit', asset: 'XXBT', amount: '0.5' }],
    })
    await engine.moveClock(3_600_000)
    const { key_lane: lane } = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
      ref.connectionId,
    ])
    await engine.sync.beginReading(db, ref, lane)
    let jobs = 0
    await engine.drain({ delayed: true, enough: async () => jobs++ === 3 })
    assert.deepEqual([await count('raw_records'), await count('transactions')], [records, transactions])
    const row = await find()
    assert.equal(row?.status_cause, 'data_hole')
    assert.notEqual(await findBalancesAt(), before)
  })
})

describe('a list that a stranger has filled', async () => {
  const reader = await openReader({ ASSAY_LIMIT_RECORDS: '20' })
  const streams = [{ ...plainStream, partitioned: true }] as const
  const fill = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => record(`${name}${index}`, reader.clock.now() - (index + 1) * hourMs))

  const countOf = async ({ userKey, connectionKey }: ConnectionRef): Promise<Record<string, number>> => {
    const rows = await reader.db.rows<{ partition: string; records: number }>(
      `select partition, count(*)::integer as records from raw_records
       where user_key = $1::bigint and connection_key = $2 group by partition`,
      [userKey, connectionKey],
    )
    return Object.fromEntries(rows.map(({ partition, records }) => [partition, records]))
  }

  function open(lists: Readonly<Record<string, number>>) {
    const provider = reader.use(createTestProvider({ streams }))
    provider.partitions = Object.keys(lists).map((partition) => ({ stream: 'ledger', partition }))
    for (const [partition, count] of Object.entries(lists)) {
      provider.lists.set(`ledger/${partition}`, fill(partition, count))
    }
    return provider
  }

  it('is not read on, and the lists that have less than their share are', async () => {
    const provider = open({ A: 30, B: 3 })
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true, enough: async () => (await countOf(ref))['B'] === 3 })
    assert.deepEqual(await countOf(ref), { A: 30, B: 3 })
    for (const partition of ['A', 'B']) {
      provider.lists.get(`ledger/${partition}`)?.push(record(`${partition}new`, reader.clock.now() + 1))
    }
    await reader.moveClock(hourMs)
    await reader.run(ref)
    assert.deepEqual(await countOf(ref), { A: 30, B: 4 })
    const row = await reader.connections.find(ref, ref.connectionId)
    assert.equal(row?.status_cause, 'data_hole')
    assert.equal((await reader.listAmounts(ref)).length, 34)
  })

  it('counts by the length of its records', async () => {
    const provider = open({ A: 0, B: 3 })
    const long = JSON.stringify({ links: ['long'], amount: '1', note: 'x'.repeat(30 * 16_384) })
    provider.lists.set('ledger/A', [record('long', reader.clock.now() - hourMs, { body: long })])
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true, enough: async () => (await countOf(ref))['B'] === 3 })
    for (const partition of ['A', 'B']) {
      provider.lists.get(`ledger/${partition}`)?.push(record(`${partition}new`, reader.clock.now() + 1))
    }
    await reader.moveClock(hourMs)
    await reader.run(ref)
    assert.deepEqual(await countOf(ref), { A: 1, B: 4 })
  })

  it('counts what a short record lists', async () => {
    const provider = open({ A: 0, B: 3 })
    const list = { ...record('list', reader.clock.now() - hourMs), moves: 30 }
    provider.lists.set('ledger/A', [list])
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true, enough: async () => (await countOf(ref))['B'] === 3 })
    for (const partition of ['A', 'B']) {
      provider.lists.get(`ledger/${partition}`)?.push(record(`${partition}new`, reader.clock.now() + 1))
    }
    await reader.moveClock(hourMs)
    await reader.run(ref)
    assert.deepEqual(await countOf(ref), { A: 1, B: 4 })
  })

  it('counts a record once that changes again and again', async () => {
    const provider = open({ A: 0 })
    const long = (change: number) => {
      const body = JSON.stringify({ links: ['long'], amount: `${change}`, note: 'x'.repeat(12 * 16_384) })
      return record('long', reader.clock.now() - hourMs, { body })
    }
    provider.lists.set('ledger/A', [long(1)])
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true, enough: async () => (await countOf(ref))['A'] === 1 })
    for (const change of [2, 3]) {
      provider.lists.set('ledger/A', [{ ...long(change), occurredAtMs: reader.clock.now() }])
      await reader.moveClock(hourMs)
      await reader.run(ref)
    }
    provider.lists.get('ledger/A')?.push(record('new', reader.clock.now()))
    await reader.moveClock(hourMs)
    await reader.run(ref)
    assert.deepEqual(await countOf(ref), { A: 2 })
  })

  it('is known without counting its records, of which there may be millions', async () => {
    open({ A: 30 })
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true, enough: async () => (await countOf(ref))['A'] === 30 })
    await reader.moveClock(hourMs)
    const sent = await recordStatements(() => reader.run(ref))
    assert.deepEqual(
      sent.filter(({ text }) => /\b(?:sum|count)\(.*\bfrom raw_records\b/s.test(text)),
      [],
    )
    assert.equal((await reader.connections.find(ref, ref.connectionId))?.status_cause, 'data_hole')
  })

  it('does not end the history of another account of its user', async () => {
    open({ A: 30 })
    const flooded = await reader.connectTest()
    await reader.drain({ delayed: true, enough: async () => (await countOf(flooded))['A'] === 30 })
    open({ C: 8, D: 1 })
    const other = await reader.connect(flooded, 'empty')
    await reader.drain({ delayed: true, enough: async () => (await countOf(other))['D'] === 1 })
    assert.deepEqual(await countOf(other), { C: 8, D: 1 })
    assert.equal((await reader.connections.find(other, other.connectionId))?.status, 'active')
  })

  it('does not fill more than twice the limit with accounts that are added one after another', async () => {
    open({ A: 20 })
    const first = await reader.connectTest()
    await reader.drain({ delayed: true, enough: async () => (await countOf(first))['A'] === 20 })
    for (const share of [10, 7, 5]) {
      open({ A: share })
      const added = await reader.connect(first, 'empty')
      await reader.drain({ delayed: true, enough: async () => (await countOf(added))['A'] === share })
    }
    open({ A: 3 })
    const last = await reader.connect(first, 'empty')
    await reader.run(last)
    assert.deepEqual(await countOf(last), {})
    assert.equal((await reader.connections.find(last, last.connectionId))?.status_cause, 'data_hole')
  })
})
