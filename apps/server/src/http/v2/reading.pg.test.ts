import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getCoverage, getRefresh, refreshAssets, refreshAssetsV1, refreshTransactions } from '@assay/contract'
import { openResource, until, type SignedIn } from '../test-resource.ts'

interface Problem {
  code: string
  errors: { cause: string; connection_id?: string; retry_after_seconds?: number }[]
}

const missing = 'con_01jq8n7x2zf4tb9v6h3m5kcdwe'

describe('reading', async () => {
  const api = await openResource()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const bob = await api.signIn('bob', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
  const [connectionId = ''] = ann.connectionIds
  const coveragePath = (id: string): string => `/accounts/v2/providers/${id}/coverage`

  describe('coverage', () => {
    it('200: every stream of a connection that was read is covered without a hole', async () => {
      const { data, errors } = await api.ask(getCoverage, coveragePath(connectionId), ann.access_token)
      assert.deepEqual(
        data.streams.map(({ stream }) => stream),
        ['ledger', 'deposits', 'withdrawals'],
      )
      for (const { windows, holes } of data.streams) {
        assert.equal(windows.length, 1)
        assert.equal(windows[0]?.start_time, '2009-01-01T00:00:00.000Z')
        assert.deepEqual(holes, [])
      }
      assert.deepEqual(errors, [])
    })

    it('200: a group that cannot be derived is a hole at its time', async () => {
      const [record] = await api.service.db.rows<{ group_key: string; occurred_at: string; stream: string }>(
        `select r.group_key, r.occurred_at, r.stream from raw_records r join connections c using (user_key, connection_key)
         where c.id = $1 and r.stream = 'ledger' limit 1`,
        [connectionId],
      )
      assert.ok(record !== undefined)
      await api.service.db.execute(
        `insert into poison_groups (user_key, connection_key, group_key, reason, seen_at)
         select user_key, connection_key, $2, 'secret innards', $3 from connections where id = $1`,
        [connectionId, record.group_key, api.service.db.now()],
      )
      const { data } = await api.ask(getCoverage, coveragePath(connectionId), ann.access_token)
      await api.service.db.execute('delete from poison_groups where group_key = $1', [record.group_key])
      const holes = data.streams.find(({ stream }) => stream === 'ledger')?.holes ?? []
      assert.equal(holes.length, 1)
      assert.equal(holes[0]?.cause, 'data_hole')
      assert.equal(JSON.stringify(data).includes('innards'), false)
    })

    it('200: a window that was not read because the key was revoked has that cause and its remedy', async () => {
      const eve = await api.signIn('eve', { providers: [{ provider_id: 'kraken', scenario: 'revoked_later' }] })
      const { data } = await api.ask(getCoverage, coveragePath(eve.connectionIds[0] ?? ''), eve.access_token)
      const ledger = data.streams.find(({ stream }) => stream === 'ledger')
      // One window is older than the last page, and one came since.
      const causes = ledger?.holes.map(({ cause }) => cause)
      assert.deepEqual(causes, ['invalid_credentials', 'invalid_credentials'])
      assert.notEqual(ledger?.remedy, null)
    })

    it('401, 403: needs a token with providers:read', async () => {
      assert.equal((await api.call('GET', coveragePath(connectionId))).status, 401)
      const narrow = await api.signIn('ann', { scope: 'assets:read' })
      assert.equal((await api.call('GET', coveragePath(connectionId), narrow.access_token)).status, 403)
    })

    it('404: another user’s connection gets the same answer as a missing one', async () => {
      for (const id of [connectionId, missing, 'nonsense']) {
        const { status, body } = await api.call<Problem>('GET', coveragePath(id), bob.access_token)
        assert.deepEqual([status, body.code], [404, 'not_found'], id)
      }
    })
  })

  describe('a refresh', () => {
    const untilDone = (who: SignedIn, id: string) =>
      until(
        () => api.ask(getRefresh, `/accounts/v2/refreshes/${id}`, who.access_token),
        ({ data }) => !['queued', 'running'].includes(data.status),
      )

    it('200: reads balances again even right after the first read, and can be followed', async () => {
      const before = await heldAt()
      const { data } = await api.ask(refreshAssets, '/accounts/v2/assets/refresh', ann.access_token)
      assert.equal(data.status, 'queued')
      assert.match(data.refresh_id, /^rfr_/)
      const done = await untilDone(ann, data.refresh_id)
      assert.deepEqual(done.data.connections, [
        { connection_id: connectionId, provider_id: 'kraken', status: 'succeeded', cause: null },
      ])
      assert.ok((await heldAt()) > before)
    })

    it('429: repeated within 60 seconds, with Retry-After, in v1 too; another user is not affected', async () => {
      // The cooldown begins here, because the tests before may have taken longer than it lasts.
      await api.moveClock(60)
      await api.ask(refreshAssets, '/accounts/v2/assets/refresh', ann.access_token)
      const { status, headers, body } = await api.call<Problem>(
        'POST',
        '/accounts/v2/assets/refresh',
        ann.access_token,
        { connection_ids: [connectionId] },
      )
      assert.equal(status, 429)
      const seconds = Number(headers.get('retry-after'))
      assert.ok(seconds > 0 && seconds <= 60, String(seconds))
      assert.equal(body.errors[0]?.connection_id, connectionId)
      assert.equal(body.errors[0]?.retry_after_seconds, seconds)
      assert.equal((await api.call('POST', '/platform/v1/assets/refresh', ann.access_token)).status, 429)
      const other = await api.ask(refreshAssetsV1, '/platform/v1/assets/refresh', bob.access_token)
      assert.equal(other.connections[0]?.crypto_source_id, 'kraken')
    })

    it('200: reads the history again without touching the plan of the regular run', async () => {
      const { db } = api.service
      // The regular run that follows the first read is planned by now, and the plan is sooner than one for a user who is
      // back: that an application reads the data is noticed some time later, and brings such a plan forward.
      const planSooner = `update connections set next_sync_at = last_synced_at + interval '5 minutes'
        where id = $1 and next_sync_at > last_synced_at + interval '5 minutes' returning next_sync_at`
      const planned = await until(
        () => db.maybeRow<object>(planSooner, [connectionId]),
        (row) => row !== undefined,
      )
      const path = '/accounts/v2/transactions/refresh'
      const { data } = await api.ask(refreshTransactions, path, ann.access_token, { connection_ids: [connectionId] })
      assert.equal((await untilDone(ann, data.refresh_id)).data.status, 'succeeded')
      assert.deepEqual(await db.row('select next_sync_at from connections where id = $1', [connectionId]), planned)
    })

    it('200: the cooldown ends after 60 seconds by the service’s clock', async () => {
      await api.moveClock(60)
      const { data } = await api.ask(refreshAssets, '/accounts/v2/assets/refresh', ann.access_token, {})
      assert.equal((await untilDone(ann, data.refresh_id)).data.status, 'succeeded')
    })

    it('200: connections that are cooling down are named, and the refresh is partial', async () => {
      const more = await api.signIn('ann', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
      await api.moveClock(60)
      await api.ask(refreshAssets, '/accounts/v2/assets/refresh', more.access_token, { connection_ids: [connectionId] })
      const { data } = await api.ask(refreshAssets, '/accounts/v2/assets/refresh', more.access_token)
      const statuses = new Map(data.connections.map(({ connection_id: id, status }) => [id, status]))
      assert.equal(statuses.get(connectionId), 'cooling_down')
      assert.equal(statuses.get(more.connectionIds[0] ?? ''), 'queued')
      assert.equal((await untilDone(more, data.refresh_id)).data.status, 'partial')
    })

    it('200: without connections there is nothing to do, and the refresh is complete', async () => {
      const zoe = await api.signIn('zoe')
      for (let round = 0; round < 2; round += 1) {
        const { data } = await api.ask(refreshAssets, '/accounts/v2/assets/refresh', zoe.access_token)
        assert.deepEqual([data.status, data.connections], ['succeeded', []])
      }
    })

    it('200: a connection that needs its owner fails with the cause, without advice to wait', async () => {
      const kim = await api.signIn('kim', { providers: [{ provider_id: 'kraken', scenario: 'revoked_later' }] })
      const { data } = await api.ask(refreshTransactions, '/accounts/v2/transactions/refresh', kim.access_token)
      assert.equal(data.status, 'failed')
      assert.deepEqual(
        data.connections.map(({ status, cause }) => [status, cause]),
        [['failed', 'invalid_credentials']],
      )
    })

    it('400: a body with other fields, an empty list or a wrong type', async () => {
      for (const body of [{ connections: [] }, { connection_ids: [] }, { connection_ids: 'all' }, []]) {
        const { status } = await api.call('POST', '/accounts/v2/assets/refresh', ann.access_token, body)
        assert.equal(status, 400, JSON.stringify(body))
      }
    })

    it('404: a connection or refresh of another user is not found, and nothing is queued', async () => {
      const ids = [...bob.connectionIds, connectionId]
      const answer = await api.call('POST', '/accounts/v2/transactions/refresh', bob.access_token, {
        connection_ids: ids,
      })
      assert.equal(answer.status, 404)
      const { data } = await api.ask(refreshTransactions, '/accounts/v2/transactions/refresh', bob.access_token)
      const path = `/accounts/v2/refreshes/${data.refresh_id}`
      assert.equal((await api.call('GET', path, ann.access_token)).status, 404)
      assert.equal((await api.call('GET', path, bob.access_token)).status, 200)
      assert.equal((await api.call('GET', '/accounts/v2/refreshes/rfr_nobody', bob.access_token)).status, 404)
    })

    it('403: each kind needs the scope of what it reads', async () => {
      const narrow = await api.signIn('bob', { scope: 'assets:read' })
      const path = '/accounts/v2/transactions/refresh'
      assert.equal((await api.call('POST', path, narrow.access_token)).status, 403)
    })

    async function heldAt(): Promise<string> {
      const { balances_at } = await api.service.db.row<{ balances_at: string }>(
        'select balances_at from connections where id = $1',
        [connectionId],
      )
      return balances_at
    }
  })
})
