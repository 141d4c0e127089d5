import {
  ErrorResponse,
  getTransaction,
  listAssets,
  listCatalog,
  listProviders,
  listTransactions,
} from '@assay/contract'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorize, redeem, untilRead } from '../../../../../test/application.ts'
import { openResource, until } from '../test-resource.ts'

type Problem = ErrorResponse

describe('platform v2', async () => {
  const api = await openResource()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const bob = await api.signIn('bob', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
  const token = ann.access_token
  const [connectionId = ''] = ann.connectionIds
  const transactions = '/accounts/v2/transactions'

  async function walk(path: string): Promise<string[]> {
    const ids: string[] = []
    for (let next = path; next !== '';) {
      const { page, data } = await api.ask(listTransactions, next, token)
      ids.push(...data.map(({ id }) => id))
      next = page.next
    }
    return ids
  }
  const whole = await walk(`${transactions}?limit=100`)
  const [someId = ''] = whole

  /** A time after everything written so far, and before everything that follows. */
  async function passTime(): Promise<string> {
    const { last } = await api.service.db.row<{ last: string }>('select max(updated_at) as last from transactions')
    await api.moveClock(10)
    return new Date(Date.parse(last) + 1_000).toISOString()
  }

  /** A 400 that names the parameter. */
  async function refused(path: string, parameter: string, cause = 'invalid_parameter'): Promise<Problem> {
    const { status, body, text } = await api.call<Problem>('GET', path, token)
    assert.equal(status, 400, text)
    assert.deepEqual(ErrorResponse.safeParse(body).error?.issues ?? [], [])
    assert.deepEqual([body.errors[0]?.cause, body.errors[0]?.parameter], [cause, parameter], path)
    return body
  }

  describe('200', () => {
    it('every list matches its schema', async () => {
      assert.equal((await api.ask(listProviders, '/accounts/v2/providers', token)).data.length, 1)
      assert.ok((await api.ask(listAssets, '/accounts/v2/assets?limit=100', token)).data.length > 10)
      assert.ok((await api.ask(listCatalog, '/accounts/v2/providers/catalog', token)).data.length > 0)
      const { data } = await api.ask(getTransaction, `${transactions}/${someId}`, token)
      assert.equal(data.id, someId)
    })

    it('a single transaction describes the user’s connections as the list does', async () => {
      const providers = ['default', 'revoked_later'].map((scenario) => ({ provider_id: 'kraken', scenario }))
      const eve = await api.signIn('eve', { providers })
      const { data, errors } = await api.ask(listTransactions, '/accounts/v2/transactions?limit=1', eve.access_token)
      assert.deepEqual(
        errors.map(({ connection_id: id }) => id),
        eve.connectionIds.slice(1),
      )
      const one = await api.ask(getTransaction, `/accounts/v2/transactions/${data[0]?.id ?? ''}`, eve.access_token)
      assert.deepEqual(one.errors, errors)
    })

    it('limit defaults to 30, and every page but the last is full', async () => {
      const first = await api.ask(listTransactions, transactions, token)
      assert.equal(first.data.length, 30)
      assert.equal(new URLSearchParams(first.page.next.split('?')[1]).get('limit'), '30')
      assert.deepEqual(await walk(transactions), whole)
      assert.equal(new Set(whole).size, whole.length)
    })

    it('the next page is fetched by next as it is, by its cursor, and by the whole value under both names', async () => {
      const query = 'limit=7&types=input_and_output'
      const { page } = await api.ask(listTransactions, `${transactions}?${query}`, token)
      const cursor = new URLSearchParams(page.next.split('?')[1]).get('cursor') ?? ''
      const expected = (await api.ask(listTransactions, page.next, token)).data
      assert.equal(expected.length, 7)
      const forms = [
        `limit=7&cursor=${cursor}`,
        `${query}&cursor=${cursor}`,
        `cursor=${encodeURIComponent(page.next)}`,
        `next_uri=${encodeURIComponent(page.next)}`,
      ]
      for (const form of forms) {
        const { data } = await api.ask(listTransactions, `${transactions}?${form}`, token)
        assert.deepEqual(data, expected, form)
      }
      const bare = await api.ask(listTransactions, `${transactions}?cursor=${cursor}`, token)
      assert.equal(bare.data.length, 30)
    })

    it('ids of another user match nothing', async () => {
      const [theirs = ''] = bob.connectionIds
      for (const path of [`${transactions}?connection_ids=${theirs}`, `/accounts/v2/assets?connection_ids=${theirs}`]) {
        const { status, body } = await api.call<{ data: unknown[] }>('GET', path, token)
        assert.deepEqual([status, body.data], [200, []], path)
      }
      const mixed = await walk(`${transactions}?limit=100&connection_ids=${theirs},${connectionId}`)
      assert.deepEqual(mixed, whole)
    })

    it('a range of time includes its start and excludes its end', async () => {
      const { data } = await api.ask(listTransactions, `${transactions}?limit=100`, token)
      const [newest, oldest] = [data[0]?.timestamp ?? '', data.at(-1)?.timestamp ?? '']
      const inside = data.filter(({ timestamp }) => timestamp < newest).map(({ id }) => id)
      const range = `start_time=${oldest}&end_time=${newest}`
      const found = await walk(`${transactions}?limit=100&${range}`)
      assert.deepEqual(
        found.filter((id) => inside.includes(id)),
        inside,
      )
      assert.ok(!found.includes(data[0]?.id ?? ''))
    })

    it('only updated_since adds a list of removed transactions', async () => {
      const removed = await api.ask(
        listTransactions,
        `${transactions}?updated_since=2020-01-01T00:00:00Z&limit=5`,
        token,
      )
      assert.deepEqual(removed.removed, [])
      assert.equal((await api.ask(listTransactions, transactions, token)).removed, undefined)
    })

    it('updated_since: nothing has changed since a time in the far future, and everything since the year 1', async () => {
      const since = (time: string) => api.ask(listTransactions, `${transactions}?updated_since=${time}`, token)
      const far = await since('9999-12-31T23:59:59.999Z')
      assert.deepEqual([far.data, far.removed], [[], []])
      assert.ok((await since('0001-01-01T00:00:00Z')).data.length > 0)
    })

    it('updated_since: removed transactions are in pages too, and next continues until both lists have ended', async () => {
      const providers = [{ provider_id: 'kraken' }, { provider_id: 'kraken' }]
      const lou = await api.signIn('lou', { providers })
      const since = await passTime()
      const before = await api.ask(listTransactions, `${transactions}?limit=100`, lou.access_token)
      const [gone = ''] = lou.connectionIds
      await api.call('DELETE', `/accounts/v2/providers?connection_id=${gone}`, lou.access_token)
      const [ids, removedIds, pages] = [new Set<string>(), new Set<string>(), { full: 0, onlyRemoved: 0 }]
      for (let next = `${transactions}?updated_since=${since}&limit=40`; next !== '';) {
        const { page, data, removed = [] } = await api.ask(listTransactions, next, lou.access_token)
        assert.ok(removed.length <= 40)
        for (const { id } of data) ids.add(id)
        for (const { id, removed_at: at } of removed) {
          assert.ok(!removedIds.has(id) && at >= since)
          removedIds.add(id)
        }
        if (removed.length === 40) pages.full += 1
        if (data.length === 0) pages.onlyRemoved += 1
        next = page.next
      }
      const wereThere = before.data.filter(({ connection_id: id }) => id === gone)
      assert.ok(wereThere.length > 0 && wereThere.every(({ id }) => removedIds.has(id)))
      assert.ok(removedIds.size > 200 && pages.full >= 5 && pages.onlyRemoved > 0, JSON.stringify(pages))
      assert.deepEqual(ids.intersection(removedIds), new Set())
    })

    it('updated_since returns everything of a connection once its session is settled, with a later updated_at', async () => {
      const session = await authorize(api.url, 'max', [{ provider_id: 'kraken' }])
      const { db } = api.service
      const read = `select from transactions join connections c using (user_key, connection_key) where c.id = $1`
      await until(
        () => db.rows(read, [session.connections[0]?.connection_id]),
        (rows) => rows.length > 200,
      )
      const since = await passTime()
      const max = await redeem(api.url, session)
      await untilRead(api.url, max.access_token)
      const query = `${transactions}?updated_since=${since}&limit=100`
      const { data } = await api.ask(listTransactions, query, max.access_token)
      assert.equal(data.length, 100)
      assert.ok(data.every(({ updated_at: at }) => at >= since))
      assert.deepEqual(data, (await api.ask(listTransactions, `${transactions}?limit=100`, max.access_token)).data)
    })
  })

  describe('400', () => {
    for (const limit of ['0', '101', 'abc', '-1', '1.5', '1e2', '٣']) {
      it(`limit ${limit} is refused, never clamped`, async () => {
        await refused(`${transactions}?limit=${encodeURIComponent(limit)}`, 'limit')
      })
    }

    it('an unknown, an empty and a repeated parameter are named', async () => {
      for (const path of [transactions, '/accounts/v2/assets', '/accounts/v2/providers']) {
        await refused(`${path}?asset=BTC`, 'asset', 'unknown_parameter')
        await refused(`${path}?limit=`, 'limit')
        await refused(`${path}?limit=5&limit=5`, 'limit')
      }
      await refused(`${transactions}?asset_symbols=BTC,,ETH`, 'asset_symbols')
    })

    it('a provider that does not exist is a mistake, in every filter', async () => {
      for (const path of [transactions, '/accounts/v2/assets']) {
        await refused(`${path}?provider_ids=kraken,krakn`, 'provider_ids', 'unknown_provider')
      }
    })

    it('an unknown type or category, and a range that ends before it begins, are refused', async () => {
      await refused(`${transactions}?types=trade`, 'types')
      await refused(`${transactions}?categories=input_only`, 'categories')
      const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
      await refused(`${transactions}?start_time=${late}&end_time=${early}`, 'start_time')
      await refused(`${transactions}?start_time=${early}&end_time=${early}`, 'start_time')
      await refused(`${transactions}?start_time=1772446272345`, 'start_time')
      await refused(`${transactions}?start_time=2026-01-01T00:00:00`, 'start_time')
    })

    it('a cursor is refused when it was altered, belongs to another user or list, or contradicts the filters', async () => {
      const { page } = await api.ask(listTransactions, `${transactions}?limit=5&types=send`, token)
      const cursor = new URLSearchParams(page.next.split('?')[1]).get('cursor') ?? ''
      await refused(`${transactions}?cursor=${cursor.slice(0, -2)}AA`, 'cursor')
      await refused(`/accounts/v2/assets?cursor=${cursor}`, 'cursor')
      await refused(`${transactions}?types=receive&cursor=${cursor}`, 'types')
      await refused(`${transactions}?categories=fee&cursor=${cursor}`, 'categories')
      const { status } = await api.call('GET', page.next, bob.access_token)
      assert.equal(status, 400)
    })
  })

  describe('404', () => {
    it('another user’s transaction gets the same answer as a missing one, apart from the request id', async () => {
      const answers = [
        await api.call<Problem>('GET', `${transactions}/${someId}`, bob.access_token),
        await api.call<Problem>('GET', `${transactions}/txn_${'0'.repeat(32)}`, bob.access_token),
        await api.call<Problem>('GET', `${transactions}/nonsense`, bob.access_token),
      ]
      const shown = answers.map(({ body }) => ({ ...body, request_id: '' }))
      assert.equal(shown[0]?.status, 404)
      assert.deepEqual(shown[1], shown[0])
      assert.deepEqual(shown[2], shown[0])
    })
  })

  describe('403 and 401', () => {
    it('a missing scope is named; a missing token and a wrong one get different errors', async () => {
      const narrow = await api.signIn('ann', { scope: 'providers:read', read: false })
      const lacking = await api.call<Problem>('GET', transactions, narrow.access_token)
      assert.equal(lacking.status, 403)
      assert.match(lacking.headers.get('www-authenticate') ?? '', /insufficient_scope.*transactions:read/)
      const none = await api.call('GET', transactions)
      const wrong = await api.call('GET', transactions, 'nonsense')
      assert.deepEqual([none.status, wrong.status], [401, 401])
      assert.doesNotMatch(none.headers.get('www-authenticate') ?? '', /error=/)
      assert.match(wrong.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
    })
  })
})
