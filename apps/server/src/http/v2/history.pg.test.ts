import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getAssetHistory, listAssets, listProviders } from '@assay/contract'
import { parseDecimal, sum } from '@assay/core'
import { untilRead } from '../../../../../test/application.ts'
import { openResource, until } from '../test-resource.ts'

const path = '/accounts/v2/assets/history'
const dayMs = 86_400_000
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

describe('GET /accounts/v2/assets/history', async () => {
  const api = await openResource()
  const noonMs = await api.moveToNoon()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const today = dayOf(noonMs)
  await api.untilPriced()

  it('200: today is observed and is the sum of the positions; days before are derived', async () => {
    const sumOfPositions = async (): Promise<string> => {
      const { data: positions } = await api.ask(listAssets, '/accounts/v2/assets?limit=100', ann.access_token)
      return sum(positions.flatMap(({ value_in_usd: value }) => (value === null ? [] : [parseDecimal(value)])))
    }
    // Prices move on: the history is read between two looks at the same ones.
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

  it('200: undone to its beginning, the history leaves exactly nothing', async () => {
    const { data: connections } = await api.ask(listProviders, '/accounts/v2/providers', ann.access_token)
    const beganMs = Date.parse(connections[0]?.history_from ?? '')
    const query = `start_time=${new Date(beganMs - 3 * dayMs).toISOString()}&end_time=${dayOf(beganMs)}T00:00:00Z`
    const { data } = await api.ask(getAssetHistory, `${path}?${query}`, ann.access_token)
    assert.equal(data.length, 3)
    for (const point of data)
      assert.deepEqual({ ...point, date: '' }, { date: '', value_in_usd: '0', method: 'derived', incomplete: [] })
  })

  it('200: where a record could not be understood, deriving ends and the reason is said', async () => {
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
      errors.map(({ cause, connection_id: id }) => [cause, id]),
      [['data_hole', ann.connectionIds[0]]],
    )
    await api.service.db.execute(`delete from poison_groups where group_key = 'bad'`, [])
  })

  it('200: without connections every day is worth nothing', async () => {
    const zoe = await api.signIn('zoe')
    const { data } = await api.ask(getAssetHistory, path, zoe.access_token)
    assert.ok(data.every(({ value_in_usd: value }) => value === '0'))
  })

  it('200: a day that was observed stays as it was seen, and goes with its connection', async () => {
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
