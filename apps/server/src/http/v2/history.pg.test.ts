import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  getAssetHistory,
  getTransaction,
  listAssets,
  listProviders,
  listTransactions,
  type ErrorResponse,
} from '@assay/contract'
import { add, dayMs, type Decimal, isZero, parseDecimal, sum, zero } from '@assay/core'
import { untilRead } from '../../../../../test/application.ts'
import { openResource, until } from '../test-resource.ts'

const path = '/accounts/v2/assets/history'
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

describe('GET /accounts/v2/assets/history', async () => {
  const api = await openResource()
  const noonMs = await api.moveToNoon()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const today = dayOf(noonMs)
  await api.untilPriced()
  /** A time that has also passed for the service, whose clock differs from the test's by some milliseconds. */
  const readClock = async (): Promise<number> => {
    await api.service.db.clock.refresh()
    const nowMs = api.service.db.clock.now()
    await api.moveClock(5)
    return nowMs
  }

  it('200: today is observed and is the sum of the positions; days before are derived', async () => {
    const sumOfPositions = async (): Promise<string> => {
      const { data: positions } = await api.ask(listAssets, '/accounts/v2/assets?limit=100', ann.access_token)
      return sum(positions.flatMap(({ value_in_usd: value }) => (value === null ? [] : [parseDecimal(value)])))
    }
    // Prices change over time, so the history is read between two reads that saw the same prices.
    const { history, before } = await until(
      async () => ({
        before: await sumOfPositions(),
        history: await api.ask(getAssetHistory, `${path}?interval=day`, ann.access_token),
        after: await sumOfPositions(),
      }),
      ({ before: first, after: second }) => first === second,
    )
    const { data, errors } = history
    assert.equal(data.length, 30)
    assert.deepEqual(
      data.map(({ date }) => date),
      data.map(({ date }) => date).toSorted(),
    )
    assert.deepEqual(errors, [])
    const now = data.at(-1)
    assert.deepEqual([now?.date, now?.method], [today, 'observed'])
    assert.ok(data.slice(0, -1).every(({ method }) => method === 'derived'))
    assert.equal(now?.value_in_usd, before)
  })

  it('200: undoing every transaction back to the beginning leaves exactly zero', async () => {
    const { data: connections } = await api.ask(listProviders, '/accounts/v2/providers', ann.access_token)
    const beganMs = Date.parse(connections[0]?.history_from ?? '')
    const query = `start_time=${new Date(beganMs - 3 * dayMs).toISOString()}&end_time=${dayOf(beganMs)}T00:00:00Z`
    const { data } = await api.ask(getAssetHistory, `${path}?${query}`, ann.access_token)
    assert.equal(data.length, 3)
    for (const point of data)
      assert.deepEqual({ ...point, date: '' }, { date: '', value_in_usd: '0', method: 'derived', incomplete: [] })
    // Days before the first record are worth nothing in any case; here nothing had to be cut off for it.
    const left = await api.service.db.rows(
      `select asset_key, sum(amount) from (
         select connection_key, user_key, asset_key, liquid + staked as amount from holdings where not spam
         union all select connection_key, user_key, asset_key, -amount from daily_changes) moved
       join connections c using (user_key, connection_key) where c.id = $1
       group by asset_key having sum(amount) <> 0`,
      [ann.connectionIds[0]],
    )
    assert.deepEqual(left, [])
  })

  describe('GET /accounts/v2/assets?as_of', () => {
    const positions = '/accounts/v2/assets?limit=100'
    const atMs = noonMs - 200 * dayMs
    const at = new Date(atMs).toISOString()

    it('200: at the present time it equals the current list, as it was read', async () => {
      const { data: present } = await api.ask(listAssets, positions, ann.access_token)
      const now = new Date(await readClock()).toISOString()
      const { data, errors } = await until(
        () => api.ask(listAssets, `${positions}&as_of=${now}`, ann.access_token),
        ({ data: rows }) => rows.every(({ grade }) => grade === 'proved'),
      )
      const toText = (rows: typeof data): string[] =>
        rows.map(({ asset_id, exact, spam }) => JSON.stringify([asset_id, exact.total_holdings, spam]))
      assert.deepEqual(toText(data), toText(present))
      assert.deepEqual(errors, [])
      assert.ok(present.every(({ grade, method }) => grade === undefined && method === undefined))
    })

    it('200: at an earlier moment it is the sum of the transactions until then, with the price of that time', async () => {
      const sums = new Map<string, Decimal>()
      for (let next = `/accounts/v2/transactions?limit=100&end_time=${at}`; next !== '';) {
        const { page, data } = await api.ask(listTransactions, next, ann.access_token)
        for (const { inputs, outputs, fees, status } of data) {
          if (status === 'pending') continue
          const gone = [...outputs, ...fees.items].map(({ asset_id, amount }) => ({ asset_id, amount: `-${amount}` }))
          for (const { asset_id, amount } of [...inputs, ...gone]) {
            sums.set(asset_id, add(sums.get(asset_id) ?? zero, parseDecimal(amount)))
          }
        }
        next = page.next
      }
      const { data } = await api.ask(listAssets, `${positions}&as_of=${at}`, ann.access_token)
      assert.ok(data.length > 5)
      // The values are keyed by asset, because deepEqual ignores the order of a map.
      assert.deepEqual(
        new Map(data.map(({ asset_id, exact }) => [asset_id, exact.total_holdings])),
        new Map([...sums].filter(([, amount]) => !isZero(amount))),
      )
      assert.ok(data.some(({ exact }) => exact.staked_holdings !== '0'))
      for (const { exact, method, price_in_usd: price, value_in_usd: value } of data) {
        assert.equal(method, 'derived')
        assert.doesNotMatch(exact.asset_holdings + exact.staked_holdings, /-/)
        assert.equal(price === null, value === null)
      }
    })

    it('200: before the first record there is nothing, and pages and filters work as in the present', async () => {
      const early = await api.ask(listAssets, `${positions}&as_of=2001-01-01T00:00:00Z`, ann.access_token)
      assert.deepEqual([early.data, early.errors], [[], []])
      const { data: whole } = await api.ask(listAssets, `${positions}&as_of=${at}`, ann.access_token)
      const walked: unknown[] = []
      for (let next = `/accounts/v2/assets?limit=3&as_of=${at}`; next !== '';) {
        const { page, data } = await api.ask(listAssets, next, ann.access_token)
        walked.push(...data)
        next = page.next
      }
      assert.deepEqual(walked, whole)
      const some = await api.ask(listAssets, `${positions}&as_of=${at}&asset_symbols=BTC`, ann.access_token)
      assert.deepEqual(
        some.data,
        whole.filter(({ asset_symbol: symbol }) => symbol === 'BTC'),
      )
    })

    it('400: a time in the future or an invalid one, and the error names the bound', async () => {
      const soon = new Date((await readClock()) + 3_600_000).toISOString()
      for (const [path, parameter] of [
        ['/accounts/v2/assets', 'as_of'],
        ['/accounts/v2/transactions', 'known_at'],
        [`/accounts/v2/transactions/txn_${'0'.repeat(32)}`, 'known_at'],
      ] as const) {
        for (const [given, rule] of [
          [soon, /^must not be after the present, \d{4}-.*Z, got /],
          ['yesterday', /^must be ISO 8601/],
        ] as const) {
          const { status, body } = await api.call<ErrorResponse>(
            'GET',
            `${path}?${parameter}=${given}`,
            ann.access_token,
          )
          assert.equal(status, 400)
          assert.equal(body.errors[0]?.parameter, parameter)
          assert.match(body.errors[0]?.message ?? '', rule)
        }
      }
    })
  })

  describe('GET /accounts/v2/transactions?known_at', () => {
    const list = '/accounts/v2/transactions'

    it('200: at the present time it equals the current list, page by page; before anything was known it is empty', async () => {
      // A client's clock may run ahead by seconds.
      const now = new Date((await readClock()) + 5_000).toISOString()
      const present = await api.ask(listTransactions, `${list}?limit=2`, ann.access_token)
      const known = await api.ask(listTransactions, `${list}?limit=2&known_at=${now}`, ann.access_token)
      assert.deepEqual(known.data, present.data)
      assert.deepEqual(
        (await api.ask(listTransactions, known.page.next, ann.access_token)).data,
        (await api.ask(listTransactions, present.page.next, ann.access_token)).data,
      )
      const before = new Date(noonMs - dayMs).toISOString()
      const { data } = await api.ask(listTransactions, `${list}?known_at=${before}`, ann.access_token)
      assert.deepEqual(data, [])
      const [first] = present.data
      const one = `${list}/${first?.id ?? ''}?known_at=`
      assert.deepEqual((await api.ask(getTransaction, `${one}${now}`, ann.access_token)).data, first)
      assert.equal((await api.call('GET', `${one}${before}`, ann.access_token)).status, 404)
    })

    it('400: a time before the kept history, with the earliest time in the error; filters that the past does not support', async () => {
      const earliestMs = (await readClock()) - 400 * dayMs
      const early = new Date(earliestMs - 60_000).toISOString()
      const { status, body } = await api.call<ErrorResponse>('GET', `${list}?known_at=${early}`, ann.access_token)
      assert.equal(status, 400)
      const [, named = ''] = /must not be before (\S+):/.exec(body.errors[0]?.message ?? '') ?? []
      assert.ok(Date.parse(named) >= earliestMs, named)
      const within = new Date(earliestMs + 3_600_000).toISOString()
      assert.equal((await api.call('GET', `${list}?known_at=${within}`, ann.access_token)).status, 200)
      for (const filter of ['types=send', 'updated_since=2026-01-01T00:00:00Z', 'asset_symbols=BTC']) {
        const refused = await api.call<ErrorResponse>('GET', `${list}?known_at=${within}&${filter}`, ann.access_token)
        assert.deepEqual([refused.status, refused.body.errors[0]?.parameter], [400, filter.split('=')[0]])
      }
    })
  })

  it('200: at a record that could not be understood the history ends, and the reason is given', async () => {
    const cut = noonMs - 10 * dayMs
    await api.service.db.execute(
      `with made as (
         insert into raw_records (user_key, connection_key, stream, partition, source_key, group_key, occurred_at,
           fetched_at, pending, body)
         select user_key, connection_key, 'ledger', '', 'bad', 'bad', $2, $2, false, '{}' from connections
         where id = $1 returning *)
       insert into poison_groups (user_key, connection_key, group_key, reason, seen_at)
       select user_key, connection_key, 'bad', 'x', $2 from made`,
      [ann.connectionIds[0], new Date(cut).toISOString()],
    )
    const { data, errors } = await api.ask(getAssetHistory, path, ann.access_token)
    assert.equal(data[0]?.date, dayOf(cut))
    assert.deepEqual(
      errors.map(({ cause, provider_id: provider, connection_id: id }) => [cause, provider, id]),
      [['data_hole', 'kraken', ann.connectionIds[0]]],
    )
    const after = `start_time=${new Date(cut + 2 * dayMs).toISOString()}`
    const later = await api.ask(getAssetHistory, `${path}?${after}`, ann.access_token)
    assert.deepEqual(later.errors, [], 'what is missing from before the first day is not missing from the answer')
    await api.service.db.execute(`delete from poison_groups where group_key = 'bad'`, [])
  })

  it('200: without connections every day is worth nothing', async () => {
    const zoe = await api.signIn('zoe')
    const { data } = await api.ask(getAssetHistory, path, zoe.access_token)
    assert.ok(data.every(({ value_in_usd: value }) => value === '0'))
  })

  it('200: a day that was observed keeps its value, and is deleted with its connection', async () => {
    await api.moveClock(86_400)
    const later = await api.signIn('ann')
    await untilRead(api.url, later.access_token)
    const { data } = await api.ask(getAssetHistory, path, later.access_token)
    assert.equal(data.find(({ date }) => date === today)?.method, 'observed')
    await api.call('DELETE', '/accounts/v2/providers?provider_id=kraken', later.access_token)
    const left = await api.service.db.rows(
      'select from observed_values join users using (user_key) where users.id = $1',
      [ann.user_id],
    )
    assert.deepEqual(left, [])
  })

  it('400: another interval, a backward range, more than 366 days', async () => {
    const who = await api.signIn('ann')
    for (const query of [
      'interval=hour',
      'start_time=2026-01-02T00:00:00Z&end_time=2026-01-01T00:00:00Z',
      'start_time=2020-01-01T00:00:00Z',
      'limit=3',
    ]) {
      assert.equal((await api.call('GET', `${path}?${query}`, who.access_token)).status, 400, query)
    }
  })

  it('401, 403: needs assets:read', async () => {
    assert.equal((await api.call('GET', path)).status, 401)
    const narrow = await api.signIn('ann', { scope: 'providers:read' })
    assert.equal((await api.call('GET', path, narrow.access_token)).status, 403)
  })
})
