import {
  addProviderV1,
  listAssets,
  listAssetsV1,
  listProvidersV1,
  listTransactions,
  listTransactionsV1,
  removeProviderV1,
} from '@assay/contract'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openResource, type Answer } from '../test-resource.ts'

describe('platform v1', async () => {
  const api = await openResource()
  await api.moveToNoon()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  await api.untilPriced()
  const token = ann.access_token
  const transactions = '/platform/v1/transactions'

  const nextOf = ({ headers }: Answer): string | undefined =>
    /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]

  /** Follows the Link header to the end. */
  async function walk<T>(path: string): Promise<T[]> {
    const all: T[] = []
    for (let next: string | undefined = path; next !== undefined;) {
      const answer: Answer<T[]> = await api.call<T[]>('GET', next, token)
      assert.equal(answer.status, 200, answer.text)
      all.push(...answer.body)
      next = nextOf(answer)
    }
    return all
  }
  async function refused(path: string, parameter: string): Promise<void> {
    const { status, body, text } = await api.call<{ errors: { parameter?: string }[] }>('GET', path, token)
    assert.equal(status, 400, text)
    assert.equal(body.errors[0]?.parameter, parameter, text)
  }

  describe('200', () => {
    it('every list is a bare array that matches its schema', async () => {
      const assets = await api.ask(listAssetsV1, '/platform/v1/assets?limit=30', token)
      assert.ok(assets.length > 10)
      assert.equal((await api.ask(listProvidersV1, '/platform/v1/provider', token)).length, 1)
      assert.equal((await api.ask(listTransactionsV1, transactions, token)).length, 30)
    })

    it('transactions equal those of v2 with v1’s name for the provider, in pages behind Link', async () => {
      type Shown = Record<string, unknown> & { id: string }
      const v1 = await walk<Shown>(`${transactions}?limit=100`)
      const v2: Shown[] = []
      for (let next = '/accounts/v2/transactions?limit=100'; next !== '';) {
        const { page, data } = await api.ask(listTransactions, next, token)
        v2.push(...data)
        next = page.next
      }
      const renamed = v2.map(({ provider_id, ...rest }) => ({ ...rest, crypto_source_id: provider_id }))
      assert.deepEqual(v1, renamed)
    })

    it('assets without a limit are one page, with a limit they are several, and both agree with v2', async () => {
      type Position = { asset_symbol: string; crypto_source_id: string }
      const all = await api.call<Position[]>('GET', '/platform/v1/assets', token)
      assert.equal(nextOf(all), undefined)
      assert.deepEqual(await walk<Position>('/platform/v1/assets?limit=4'), all.body)
      const { data } = await api.ask(listAssets, '/accounts/v2/assets?limit=100', token)
      assert.deepEqual(
        all.body.map(({ asset_symbol }) => asset_symbol).toSorted(),
        data.map(({ asset_symbol }) => asset_symbol).toSorted(),
      )
    })

    it('filters by symbol in exact case, and by source', async () => {
      const ask = async (query: string): Promise<string[]> =>
        (await api.ask(listAssetsV1, `/platform/v1/assets?${query}`, token)).map(({ asset_symbol }) => asset_symbol)
      assert.deepEqual(await ask('asset_symbols=BTC,ETH'), ['BTC', 'ETH'])
      assert.deepEqual(await ask('asset_symbols=btc'), [])
      assert.ok((await ask('crypto_sources=kraken')).length > 10)
    })

    it('accepts times as ISO 8601 and as epoch milliseconds, with the same answer', async () => {
      const [newest] = await api.ask(listTransactionsV1, `${transactions}?limit=1`, token)
      const at = newest?.timestamp ?? ''
      const from = Date.parse(at)
      const iso = await api.call('GET', `${transactions}?start_time=${at}`, token)
      const epoch = await api.call('GET', `${transactions}?start_time=${from}`, token)
      assert.equal(iso.text, epoch.text)
      assert.equal((await api.ask(listTransactionsV1, `${transactions}?start_time=${from}`, token)).length >= 1, true)
      assert.deepEqual(await api.ask(listTransactionsV1, `${transactions}?start_time=${from + 1}`, token), [])
      const until = await walk<{ id: string }>(`${transactions}?limit=100&end_time=${from}`)
      assert.ok(!until.some(({ id }) => id === newest?.id))
    })
  })

  describe('400', () => {
    it('names the mistake in v1’s own terms', async () => {
      await refused(`${transactions}?limit=0`, 'limit')
      await refused(`${transactions}?limit=101`, 'limit')
      await refused('/platform/v1/assets?limit=abc', 'limit')
      await refused(`${transactions}?crypto_sources=krakn`, 'crypto_sources')
      await refused(`${transactions}?provider_ids=kraken`, 'provider_ids')
      await refused(`${transactions}?next_uri=x`, 'next_uri')
      await refused(`${transactions}?start_time=yesterday`, 'start_time')
      await refused(`${transactions}?start_time=5&end_time=5`, 'start_time')
      await refused('/platform/v1/assets?asset_symbols=', 'asset_symbols')
    })

    it('a parameter that is given twice: commas are for those that take several values', async () => {
      const single = 'must be given once'
      const several = 'must be given once; separate several values by commas'
      for (const [query, message] of [
        ['limit=1&limit=2', single],
        ['cursor=a&cursor=b', single],
        ['start_time=5&start_time=6', single],
        ['asset_symbols=BTC&asset_symbols=ETH', several],
        ['crypto_sources=kraken&crypto_sources=okx', several],
      ]) {
        const { body } = await api.call<{ errors: { message: string }[] }>('GET', `${transactions}?${query}`, token)
        assert.equal(body.errors[0]?.message, message, query)
      }
      const target = '/platform/v1/provider?connection_id=con_a&connection_id=con_b'
      const { body } = await api.call<{ errors: { message: string }[] }>('DELETE', target, token)
      assert.equal(body.errors[0]?.message, single)
    })

    it('an unknown crypto source is reported as such', async () => {
      for (const connection of [{ type: 'api_key', api_key: 'a', secret_key: 'b' }, { type: 'api_key' }]) {
        const answer = await api.call<{ errors: { cause: string; parameter: string }[] }>(
          'POST',
          '/platform/v1/provider',
          token,
          { crypto_source_id: 'krakn', connection },
        )
        assert.equal(answer.status, 400)
        assert.deepEqual(
          answer.body.errors.map(({ cause, parameter }) => [cause, parameter]),
          [['unknown_provider', 'crypto_source_id']],
        )
      }
    })

    it('a crypto source that cannot be added is named as v1 names it, whichever check refuses it', async () => {
      const connection = { type: 'api_key', api_key: 'a', secret_key: 'b' }
      for (const [method, path, body] of [
        ['POST', '/platform/v1/provider', { crypto_source_id: 'kucoin', connection }],
        ['GET', '/platform/v1/oauth/callback/nope?code=a&state=b', undefined],
      ] as const) {
        const { status, text } = await api.call(method, path, token, body)
        assert.equal(status, 400, text)
        assert.match(text, /"parameter":"crypto_source_id"/)
        assert.doesNotMatch(text, /provider_id/)
      }
    })

    it('provider_id, which v2 takes, is named as it was sent', async () => {
      const connection = { type: 'api_key', api_key: 'a', secret_key: 'b' }
      for (const [method, path, body] of [
        ['POST', '/platform/v1/provider', { crypto_source_id: 'kraken', provider_id: 'kraken', connection }],
        ['DELETE', '/platform/v1/provider?provider_id=kraken', undefined],
        ['DELETE', '/platform/v1/provider', { provider_id: 'kraken' }],
        ['GET', '/platform/v1/assets?provider_id=kraken', undefined],
      ] as const) {
        const { status, body: problem } = await api.call<{ errors: { cause: string; parameter: string }[] }>(
          method,
          path,
          token,
          body,
        )
        assert.equal(status, 400)
        assert.deepEqual(
          problem.errors.map(({ cause, parameter }) => [cause, parameter]),
          [['unknown_parameter', 'provider_id']],
        )
      }
    })
  })

  it('200: a crypto source is added and removed with bare answers', async () => {
    const response = await fetch(`${api.service.sandbox.controlUrl}/control/accounts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ provider_id: 'kraken', scenario: 'can_trade', account: 'v1' }),
    })
    const { credentials } = (await response.json()) as { credentials: object }
    const body = { crypto_source_id: 'kraken', connection: { type: 'api_key', ...credentials } }
    const added = await api.ask(addProviderV1, '/platform/v1/provider', token, body)
    assert.deepEqual([added.added, added.crypto_source_id], [false, 'kraken'])
    assert.deepEqual(
      added.errors.map(({ cause, crypto_source_id }) => [cause, crypto_source_id]),
      [['excess_permission', 'kraken']],
    )
    const removed = await api.ask(removeProviderV1, '/platform/v1/provider', token, { crypto_source_id: 'kraken' })
    assert.deepEqual(removed.connection_ids, ann.connectionIds)
    assert.deepEqual(await api.ask(listAssetsV1, '/platform/v1/assets', token), [])
  })
})
