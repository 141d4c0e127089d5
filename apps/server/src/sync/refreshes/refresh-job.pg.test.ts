/** What a refresh that reads one part of a connection says about the other. */
import { dayMs, SourceError } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseStored, type PayloadOf } from '../../jobs/index.ts'
import type { ConnectionRef } from '../../owner.ts'
import { createTestProvider, openReader, record, type TestProvider } from '../test-provider.ts'
import type { RefreshKind } from './refreshes.ts'

const { signal } = new AbortController()

describe('a refresh', async () => {
  const reader = await openReader()
  const { db } = reader

  const unreadable = (): never => {
    throw new SourceError('unreadable_answer', 'an unexpected shape')
  }
  async function connect(
    options: Parameters<typeof createTestProvider>[0] = {},
  ): Promise<{ ref: ConnectionRef; provider: TestProvider }> {
    const provider = reader.use(createTestProvider(options))
    provider.lists.set('ledger/', [record('A', reader.clock.now() - dayMs)])
    const ref = await reader.connectTest()
    await reader.drain()
    assert.equal(await findStatus(ref), 'active')
    return { ref, provider }
  }
  async function refresh(ref: ConnectionRef, kind: RefreshKind): Promise<string | undefined> {
    await db.execute('delete from refresh_cool_downs')
    const { refreshId } = await reader.sync.requestRefresh(ref, kind, undefined)
    const { payload } = await db.row<{ payload: object }>(
      'delete from graphile_worker._private_jobs where key = $1 returning payload',
      [`refresh:${kind}:${ref.connectionId}`],
    )
    await reader.sync.refreshTask(parseStored('refresh', payload), signal)
    return (await reader.sync.findRefresh(ref, refreshId))?.status
  }
  async function findStatus(ref: ConnectionRef): Promise<string | undefined> {
    const row = await reader.connections.find(ref, ref.connectionId)
    const [issue] = await reader.connections.listIssues(ref)
    return issue === undefined ? row?.status : `${row?.status}: ${issue.cause}`
  }

  for (const by of ['a run', 'a refresh'] as const) {
    it(`of transactions does not take back the report by ${by} that balances could not be read`, async () => {
      const { ref, provider } = await connect()
      const balances = provider.answerBalances
      provider.answerBalances = unreadable
      await (by === 'a run' ? reader.run(ref) : refresh(ref, 'assets'))
      assert.equal(await findStatus(ref), 'degraded: unreadable_answer')
      const before = await reader.connections.find(ref, ref.connectionId)
      provider.lists.get('ledger/')?.push(record('B', reader.clock.now() - 1_000))
      assert.equal(await refresh(ref, 'transactions'), 'succeeded')
      assert.equal((await reader.listAmounts(ref)).length, 2)
      const after = await reader.connections.find(ref, ref.connectionId)
      assert.equal(await findStatus(ref), 'degraded: unreadable_answer')
      assert.deepEqual([after?.status_message, after?.last_synced_at], [before?.status_message, before?.last_synced_at])
      provider.answerBalances = balances
      await reader.run(ref)
      assert.equal(await findStatus(ref), 'active')
    })
  }

  it('of assets that fails is still on record after a run that began before it has read the lists', async () => {
    const { ref, provider } = await connect()
    provider.answerBalances = unreadable
    assert.equal(await refresh(ref, 'assets'), 'failed')
    const { lane } = await db.row<{ lane: string }>('select key_lane as lane from connections where id = $1', [
      ref.connectionId,
    ])
    await reader.sync.runTask({ ref, lane, run: { untilMs: reader.clock.now(), stage: 'rest' } }, signal)
    assert.equal(await findStatus(ref), 'degraded: unreadable_answer')
  })

  it('of transactions takes back a report about the lists, also after another one about the balances', async () => {
    const { ref, provider } = await connect()
    const { answer, answerBalances } = provider
    Object.assign(provider, { answer: unreadable, answerBalances: unreadable })
    assert.equal(await refresh(ref, 'assets'), 'failed')
    assert.equal(await refresh(ref, 'transactions'), 'failed')
    provider.answer = answer
    assert.equal(await refresh(ref, 'transactions'), 'succeeded')
    assert.equal(await findStatus(ref), 'degraded: unreadable_answer', 'the balances were not read')
    provider.answerBalances = answerBalances
    assert.equal(await refresh(ref, 'assets'), 'succeeded')
    assert.equal(await refresh(ref, 'transactions'), 'succeeded')
    assert.equal(await findStatus(ref), 'active')
  })

  it('of assets does not take back the report that a list could not be read', async () => {
    const { ref, provider } = await connect()
    provider.answer = unreadable
    await reader.run(ref)
    assert.equal(await findStatus(ref), 'degraded: unreadable_answer')
    assert.equal(await refresh(ref, 'assets'), 'succeeded')
    assert.equal(await findStatus(ref), 'degraded: unreadable_answer')
  })

  it('takes from the share of people until its first page only', async () => {
    const tiers = [{ capacity: 1_000, refillPerSecond: 1_000 }] as const
    const { ref } = await connect({ budget: { buckets: [{ name: 'calls', scope: 'address', tiers }] } })
    const { lane } = await db.row<{ lane: string }>('select key_lane as lane from connections where id = $1', [
      ref.connectionId,
    ])
    const takesFromPeople = async (kind: RefreshKind, run?: PayloadOf<'refresh'>['run']): Promise<boolean> => {
      await db.execute("delete from budgets where bucket like '%:people:%'")
      await reader.sync.refreshTask({ ref, lane, kind, attempt: 1, ...(run && { run }) }, signal)
      return (await db.rows("select from budgets where bucket like '%:people:%'")).length > 0
    }
    assert.equal(await takesFromPeople('assets'), true)
    assert.equal(await takesFromPeople('transactions'), true)
    assert.equal(await takesFromPeople('transactions', { untilMs: reader.clock.now(), stage: 'rest' }), false)
  })

  it('whose connection is removed while it is read does not run for ever', async () => {
    const { ref, provider } = await connect()
    provider.lists.get('ledger/')?.push(record('B', reader.clock.now() - 1_000))
    let isRemoved = false
    provider.answer = async (_, page) => {
      if (isRemoved) return page
      isRemoved = true
      const rows = await db.rows('select * from refresh_connections where user_key = $1', [ref.userKey])
      await reader.connections.remove(ref, { connectionId: ref.connectionId })
      // The request was written while the removal was under way, after it had looked for requests.
      await db.execute(
        'insert into refresh_connections select * from jsonb_populate_recordset(null::refresh_connections, $1)',
        [JSON.stringify(rows)],
      )
      return page
    }
    assert.notEqual(await refresh(ref, 'transactions'), 'running')
  })
})
