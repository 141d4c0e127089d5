/** What the tenant hears when a user goes, and what is left of a connection that is removed. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openEngine } from '../test-engine.ts'
import { discard } from './removal.ts'
import type { ConnectionRef } from './store.ts'

describe('removing everything of a user', async () => {
  const engine = await openEngine()

  it('announces each connection that the tenant could know of as removed, in the same transaction', async () => {
    const owner = await engine.newOwner()
    await engine.webhooks.set(owner.tenantId, 'http://127.0.0.1:9/hook')
    const [first, second] = [await engine.connect(owner, 'empty'), await engine.connect(owner, 'empty')]
    const provisional = await engine.connect(owner, 'empty')
    await engine.db.execute("update connections set session_id = 'ses_open' where id = $1", [provisional.connectionId])
    const listTold = async (): Promise<string[]> => {
      const rows = await engine.db.rows<{ body: string }>('select body from webhook_messages')
      return rows
        .map(({ body }) => JSON.parse(body) as { data: { change: string; connection_id: string } })
        .map(({ data }) => `${data.change} ${data.connection_id}`)
        .toSorted()
    }
    const goes = engine.db.transaction(async (tx) => {
      await engine.connections.removeAll(tx, owner)
      throw new Error('taken back')
    })
    await assert.rejects(goes, /taken back/)
    assert.deepEqual(await listTold(), [])
    await engine.db.transaction((tx) => engine.connections.removeAll(tx, owner))
    assert.deepEqual(await listTold(), [first, second].map(({ connectionId }) => `removed ${connectionId}`).toSorted())
    assert.deepEqual(await engine.db.rows('select from connections where user_id = $1', [owner.userId]), [])
    // Nothing is left that names the user, not even the ids of what is gone.
    assert.deepEqual(await engine.db.rows('select from removed_transactions where user_id = $1', [owner.userId]), [])
  })
})

describe('removing a connection with a long history', async () => {
  const engine = await openEngine()
  const { db } = engine

  /** As many transactions as that, of one record and one asset each, in tables that nobody has analysed. */
  async function connectLong(count: number): Promise<ConnectionRef> {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    const values = [ref.tenantId, ref.userId, ref.connectionId, count]
    const rows = "generate_series(1, $4::int) n cross join lateral (select lpad(n::text, 7, '0') as key) k"
    const at = "timestamptz '2020-01-01' + make_interval(mins => n)"
    await db.execute(
      `insert into transactions (tenant_id, user_id, connection_id, occurred_at, id, provider_id, group_key, type, category,
         updated_at, document)
       select $1, $2, $3, ${at}, 'txn_' || $3 || key, 'kraken', key, 'receive', 'deposit', ${at}, '"spam":false}' from ${rows}`,
      values,
    )
    await db.execute(
      `insert into transaction_assets (tenant_id, user_id, asset_symbol, occurred_at, id)
       select $1, $2, 'BTC', ${at}, 'txn_' || $3 || key from ${rows}`,
      values,
    )
    await db.execute(
      `insert into raw_records (tenant_id, user_id, connection_id, stream, source_key, group_key, occurred_at, body, derived)
       select $1, $2, $3, 'ledger', key, key, ${at}, '{}', true from ${rows}`,
      values,
    )
    return ref
  }

  async function countLeft({ userId }: ConnectionRef): Promise<Record<string, number>> {
    const tables = ['connections', 'transactions', 'transaction_assets', 'raw_records', 'removed_transactions']
    const counts = tables.map((table) => `(select count(*)::int from ${table} where user_id = $1) as ${table}`)
    return db.row(`select ${counts.join(', ')}`, [userId])
  }

  const nothing = { connections: 0, transactions: 0, transaction_assets: 0, raw_records: 0, removed_transactions: 0 }
  const firstPage = { limit: 10, after: undefined, filters: {} }

  it('has destroyed all of it when it answers, in batches, and remembers every id', async () => {
    const ref = await connectLong(20_000)
    const startedMs = performance.now()
    assert.deepEqual(await engine.connections.remove(ref, { providerId: 'kraken' }), [ref.connectionId])
    const tookMs = performance.now() - startedMs
    assert.ok(tookMs < 15_000, `${tookMs} ms`)
    assert.deepEqual(await countLeft(ref), { ...nothing, removed_transactions: 20_000 })
  })

  it('shows nothing of it from its first transaction on, and upkeep goes on where a process was killed', async () => {
    const ref = await connectLong(6_000)
    const deps = { ...engine.ledger, onRemoved: async () => undefined }
    assert.equal(await db.transaction((tx) => discard(deps, tx, ref, { served: true })), false)
    const { connections, transactions } = await countLeft(ref)
    assert.deepEqual([connections, transactions], [1, 1_000])
    assert.deepEqual(await engine.ledger.listTransactions(ref, firstPage), [])
    assert.deepEqual(await engine.connections.list(ref, { limit: 10, after: undefined }), [])
    assert.equal(await engine.ledger.findTransaction(ref, `txn_${ref.connectionId}0006000`), undefined)
    assert.deepEqual(
      await db.row('select sealed_credentials, key_lane, account_fingerprint from connections where id = $1', [
        ref.connectionId,
      ]),
      { sealed_credentials: null, key_lane: '', account_fingerprint: null },
    )
    await assert.rejects(engine.connections.remove(ref, { connectionId: ref.connectionId }), { code: 'not_found' })
    await engine.connections.finishRemovals()
    assert.deepEqual(await countLeft(ref), { ...nothing, removed_transactions: 6_000 })
  })

  it('remembers no id of a session’s, and is left to upkeep', async () => {
    const ref = await connectLong(6_000)
    await db.execute("update connections set session_id = 'ses_long' where id = $1", [ref.connectionId])
    await db.transaction((tx) => engine.connections.discardSession(tx, ref, 'ses_long'))
    assert.equal((await countLeft(ref))['connections'], 1)
    await engine.connections.finishRemovals()
    assert.deepEqual(await countLeft(ref), nothing)
  })
})
