/**
 * When applications start and stop seeing a connection, as change numbers of the user, and which modules are notified.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../test/until.ts'
import { holdConnectionAlone, holdUser } from '../ledger/locks-store.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import { openEngine } from '../test-engine.ts'

interface Shown {
  shown_at: string | null
  shown_seq: string | null
  hidden_seq: string | null
  session_id: string | null
  status: string
}

describe('a connection', async () => {
  const engine = await openEngine()
  const { db } = engine

  const look = ({ connectionId }: ConnectionRef): Promise<Shown> =>
    db.row<Shown>('select shown_at, shown_seq, hidden_seq, session_id, status from connections where id = $1', [
      connectionId,
    ])
  const countNotices = async ({ userKey }: Owner): Promise<number> =>
    (await db.rows('select from user_notices where user_key = $1', [userKey])).length
  const toMs = (seq: string | null): number => Number(BigInt(seq ?? '0') >> 20n)
  const addInSession = async (owner: Owner, connectSessionId: string): Promise<ConnectionRef> => {
    const { apiKey, secretKey } = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const adding = engine.connections.add(owner, {
      ...{ providerId: 'kraken', displayLabel: null, credentials, connectSessionId },
    })
    let added: Awaited<typeof adding> | undefined
    void adding.then((result) => (added = result))
    while (added === undefined) await engine.drain({ enough: async () => added !== undefined })
    assert.ok(added.connectionId !== null)
    return engine.toRef(owner, added.connectionId)
  }
  const settle = (owner: Owner, connectSessionId: string): Promise<boolean> =>
    db.transaction((tx) => engine.connections.settleSession(tx, owner, connectSessionId))

  it('that is added outside a session is shown once its key has been verified, at its own change number', async () => {
    const before = Date.now()
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    const row = await look(ref)
    assert.deepEqual([row.status, row.hidden_seq], ['syncing', null])
    assert.ok(toMs(row.shown_seq) >= before - 1_000)
    assert.equal(Date.parse(row.shown_at ?? ''), toMs(row.shown_seq))
    assert.equal(await countNotices(ref), 1)
  })

  it('of a session is shown only when its code is redeemed, each at its own change number', async () => {
    const owner = await engine.newOwner()
    const [first, second] = [await addInSession(owner, 'ses_1'), await addInSession(owner, 'ses_1')]
    assert.deepEqual([(await look(first)).shown_seq, (await look(first)).shown_at], [null, null])
    assert.equal(await countNotices(owner), 0)
    assert.deepEqual(await engine.connections.list(owner, { limit: 10, after: undefined }), [])
    assert.equal(await settle(owner, 'ses_1'), true)
    const [one, two] = [await look(first), await look(second)]
    assert.equal(BigInt(two.shown_seq ?? 0) - BigInt(one.shown_seq ?? 0), 1n)
    assert.deepEqual([one.session_id, two.session_id], [null, null])
    assert.equal(Date.parse(one.shown_at ?? ''), toMs(one.shown_seq))
    assert.equal(await countNotices(owner), 1)
    assert.equal((await engine.connections.list(owner, { limit: 10, after: undefined })).length, 2)
    assert.equal(await settle(owner, 'ses_1'), false)
  })

  it('of a session is settled even while a run that holds an overdue connection waits for the user', async () => {
    const owner = await engine.newOwner()
    const overdue = await engine.connect(owner, 'empty')
    await engine.drain()
    await db.execute('update connections set next_sync_at = null where id = $1', [overdue.connectionId])
    await addInSession(owner, 'ses_late')
    let settling: Promise<boolean> | undefined
    await db.transaction(async (tx) => {
      await holdConnectionAlone(tx, overdue)
      settling = settle(owner, 'ses_late')
      await until('the settling to wait', () =>
        db.maybeRow("select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"),
      )
      await holdUser(tx, owner)
    })
    assert.equal(await settling, true)
  })

  it('of a session can need repair without notice to the tenant, who is notified when the code is redeemed', async () => {
    const owner = await engine.newOwner()
    await engine.webhooks.set(owner.tenantId, 'http://127.0.0.1:1/')
    const ref = await addInSession(owner, 'ses_4')
    const listMessages = async (): Promise<unknown[]> =>
      (
        await db.rows<{ body: string }>('select body from webhook_messages where connection_id = $1', [
          ref.connectionId,
        ])
      ).map(({ body }) => (JSON.parse(body) as { data: unknown }).data)
    const { keyLane } = await db.row<{ keyLane: string }>(
      'select key_lane as "keyLane" from connections where id = $1',
      [ref.connectionId],
    )
    const failure = { providerId: 'kraken', keyLane, fault: 'invalid_credentials', isOfBalances: true } as const
    assert.equal(await engine.connections.recordFault(ref, failure), false)
    assert.deepEqual(await listMessages(), [])
    await settle(owner, 'ses_4')
    assert.deepEqual(await listMessages(), [
      { change: 'needs_reauth', user_id: owner.userId, connection_id: ref.connectionId },
    ])
    await engine.webhooks.remove(owner.tenantId)
  })

  it('that is verified after its session was settled is shown from then on', async () => {
    const owner = await engine.newOwner()
    const { apiKey, secretKey } = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const adding = engine.connections.add(owner, {
      ...{ providerId: 'kraken', displayLabel: null, credentials, connectSessionId: 'ses_2' },
    })
    const pending = async (): Promise<boolean> =>
      (await db.maybeRow("select from connections where user_key = $1 and status = 'pending'", [owner.userKey])) !==
      undefined
    while (!(await pending()));
    await settle(owner, 'ses_2')
    assert.equal(await countNotices(owner), 0)
    await engine.drain({ enough: async () => !(await pending()) })
    const { connectionId } = await adding
    const row = await look(await engine.toRef(owner, connectionId ?? ''))
    assert.equal(row.status, 'syncing')
    assert.notEqual(row.shown_seq, null)
    assert.equal(await countNotices(owner), 1)
  })

  it('that was shown disappears at a later change number; one of a session has none', async () => {
    const owner = await engine.newOwner()
    const shown = await engine.connect(owner, 'empty')
    const provisional = await addInSession(owner, 'ses_3')
    const { shown_seq: shownSeq } = await look(shown)
    // Simulates more rows than one transaction destroys.
    const keepRow = `create function keep_row() returns trigger language plpgsql as $$ begin return null; end $$;
      create trigger keep_row before delete on connections for each row execute function keep_row()`
    await db.execute(keepRow)
    await engine.connections.remove(owner, { connectionId: shown.connectionId })
    await db.transaction((tx) => engine.connections.discardSession(tx, owner, 'ses_3'))
    await db.execute('drop trigger keep_row on connections')
    const [one, two] = [await look(shown), await look(provisional)]
    assert.deepEqual([one.status, two.status], ['removed', 'removed'])
    assert.ok(BigInt(one.hidden_seq ?? 0) > BigInt(shownSeq ?? 0))
    assert.equal(two.hidden_seq, null)
    assert.equal(await countNotices(owner), 2)
  })
})
