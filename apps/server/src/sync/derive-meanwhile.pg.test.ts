/** A long history is derived while it is being read. */
import type { Stream } from '@assay/connectors'
import { dayMs, hourMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../test/until.ts'
import type { ConnectionRef } from '../owner.ts'
import { createTestProvider, openReader, plainStream, record, type TestProvider } from './test-provider.ts'

const pageSize = 200
const recordsCount = 4_000
const storySpanMs = dayMs

describe('while a long history is being read', async () => {
  const reader = await openReader()
  const { db } = reader

  /** A record every six hours, back from the present; two neighbours are always one story. */
  function createLong(options: Parameters<typeof createTestProvider>[0] = {}): TestProvider {
    const provider = reader.use(createTestProvider({ storySpanMs, ...options }))
    provider.pageSize = pageSize
    const nowMs = reader.clock.now()
    provider.lists.set(
      'ledger/',
      Array.from({ length: recordsCount }, (_, index) =>
        record(`row ${index}`, nowMs - (index + 1) * 6 * hourMs, { links: [`story ${Math.floor((index + 1) / 2)}`] }),
      ),
    )
    return provider
  }
  const findOldestMs = async ({ userKey }: ConnectionRef): Promise<number> => {
    const { oldest } = await db.row<{ oldest: string | null }>(
      'select min(occurred_at) as oldest from transactions where user_key = $1',
      [userKey],
    )
    return oldest === null ? Infinity : Date.parse(oldest)
  }
  const countHalves = async ({ userKey }: ConnectionRef): Promise<number> => {
    const { count } = await db.row<{ count: number }>(
      `select count(*)::integer as count from transactions where user_key = $1 and document not like '%"amount":"2"%'`,
      [userKey],
    )
    return count
  }

  const findFailures = async ({ connectionKey, userKey }: ConnectionRef): Promise<number> => {
    const row = await db.maybeRow<{ failures: number }>(
      'select failures from sync_failures where user_key = $1 and connection_key = $2',
      [userKey, connectionKey],
    )
    return row?.failures ?? 0
  }

  it('what has been read of it is shown, without the stories at its edge', async () => {
    const provider = createLong({ streams: [{ ...plainStream, newestFirst: true }] })
    const ref = await reader.connectTest()
    let seen: { oldestMs: number; readMs: number; halves: number } | undefined
    provider.answer = async (_request, page) => {
      const readMs = page.records.at(-1)?.occurredAtMs ?? Infinity
      // A page near the end is held back until older transactions are shown than those of the last month.
      if (seen === undefined && readMs < reader.clock.now() - 800 * dayMs) {
        const isShown = async (): Promise<boolean> => (await findOldestMs(ref)) < reader.clock.now() - 100 * dayMs
        await until('older transactions', async () => ((await isShown()) ? true : undefined))
        seen = { readMs, oldestMs: await findOldestMs(ref), halves: await countHalves(ref) }
      }
      return page
    }
    await reader.drain({ delayed: true })
    assert.ok(seen !== undefined)
    assert.ok(seen.oldestMs - storySpanMs >= seen.readMs)
    // The newest record and the oldest have no other half.
    assert.equal(seen.halves, 1)
    assert.equal((await reader.listAmounts(ref)).length, recordsCount / 2 + 1)
    assert.equal(await countHalves(ref), 2)
  })

  it('a replay leaves what has not been read whole to the reading', async () => {
    const second: Stream = { ...plainStream, name: 'second' }
    const provider = reader.use(createTestProvider({ storySpanMs, streams: [plainStream, second] }))
    const nowMs = reader.clock.now()
    for (const list of ['ledger', 'second']) {
      const links = (index: number): string[] => [`story ${index}`]
      const half = (_: unknown, index: number) =>
        record(`${list} ${index}`, nowMs - (index + 50) * dayMs, { links: links(index) })
      provider.lists.set(`${list}/`, Array.from({ length: 100 }, half))
    }
    const ref = await reader.connectTest()
    const replay = (apply: boolean) =>
      reader.ledger.replay({ connectionId: ref.connectionId, apply, onProgress: () => undefined })
    let seen: { changes: number; halves: number } | undefined
    provider.answer = async ({ stream, window }, page) => {
      if (seen === undefined && stream === 'second' && window.end < nowMs - 20 * dayMs) {
        const { changes } = await replay(false)
        await replay(true)
        seen = { changes: changes.length, halves: await countHalves(ref) }
      }
      return page
    }
    await reader.drain({ delayed: true })
    assert.deepEqual(seen, { changes: 0, halves: 0 })
    assert.equal((await reader.listAmounts(ref)).length, 100)
    assert.equal(await countHalves(ref), 0)
  })

  it('a list whose order is not known shows nothing but the last month', async () => {
    const provider = createLong()
    const ref = await reader.connectTest()
    let oldestMs = Infinity
    provider.answer = async (_request, page) => {
      if (page.records.length > 0) oldestMs = await findOldestMs(ref)
      return page
    }
    await reader.drain({ delayed: true })
    assert.ok(oldestMs >= reader.clock.now() - 31 * dayMs)
    assert.equal((await reader.listAmounts(ref)).length, recordsCount / 2 + 1)
  })

  for (const storiesStayInLists of [true, undefined] as const) {
    it(`a list that was read to its end is ${storiesStayInLists ? 'shown' : 'kept back'} when stories ${storiesStayInLists ? 'never' : 'may'} cross lists`, async () => {
      const second: Stream = { ...plainStream, name: 'second' }
      const provider = createLong({ streams: [plainStream, second], ...(storiesStayInLists && { storiesStayInLists }) })
      provider.lists.set('second/', [record('late', reader.clock.now() - 900 * dayMs, { links: ['alone'] })])
      const ref = await reader.connectTest()
      const isShown = async (): Promise<boolean> => (await findOldestMs(ref)) < reader.clock.now() - 900 * dayMs
      let seen: { halves: number; shown: boolean } | undefined
      provider.answer = async ({ stream, window }, page) => {
        if (stream === 'second' && window.end < reader.clock.now() - dayMs && seen === undefined) {
          if (storiesStayInLists) await until('the first list', async () => ((await isShown()) ? true : undefined))
          seen = { shown: await isShown(), halves: await countHalves(ref) }
        }
        return page
      }
      await reader.drain({ delayed: true })
      assert.equal(seen?.shown, storiesStayInLists === true)
      // The newest record and the oldest have no other half.
      if (storiesStayInLists) assert.ok(seen.halves <= 2)
      assert.equal((await reader.listAmounts(ref)).length, recordsCount / 2 + 2)
    })
  }

  it('a failure to derive ends the job, and what was read is derived by the next', async () => {
    createLong({ streams: [{ ...plainStream, newestFirst: true }] })
    const ref = await reader.connectTest()
    await db.execute(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'no transactions today'; end $$;
      create trigger refuse before insert on transactions for each statement execute function refuse()`)
    await reader.drain({ delayed: true, enough: async () => (await findFailures(ref)) > 0 })
    assert.equal((await reader.listAmounts(ref)).length, 0)
    await db.execute('drop trigger refuse on transactions; drop function refuse()')
    await reader.drain({ delayed: true })
    assert.equal((await reader.listAmounts(ref)).length, recordsCount / 2 + 1)
  })
})
