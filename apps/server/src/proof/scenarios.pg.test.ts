/**
 * The verdict on every scenario of Kraken equals the one computed here from the simulator's holdings, with integers and
 * without the connectors: held − moved. A withdrawal on hold has left the balance, and the ledger has its row. The
 * scenario `large` is left out, because reading it takes minutes.
 */
import { getProof, listProviders } from '@assay/contract'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { heldBySymbol, movedBySymbol, toUnits, type KrakenState } from '../../../../test/reconciler.ts'
import { openResource, until } from '../http/test-resource.ts'

/** The excess of the balances over the records by symbol; symbols that add up are omitted. */
function differencesOf(state: KrakenState): Map<string, bigint> {
  const differences = new Map<string, bigint>()
  const count = (symbol: string, units: bigint): void => {
    differences.set(symbol, (differences.get(symbol) ?? 0n) + units)
  }
  for (const [symbol, units] of heldBySymbol(state)) count(symbol, units)
  for (const [symbol, units] of movedBySymbol(state)) count(symbol, -units)
  for (const [symbol, units] of differences) if (units === 0n) differences.delete(symbol)
  return differences
}

/** The state of a scenario whose history cannot be read to the end. */
const unread: ReadonlySet<string> = new Set(['invalid_credentials', 'can_trade', 'down', 'revoked_later'])

describe('the proof of every scenario', async () => {
  const api = await openResource()
  const control = async <T>(path: string): Promise<T> =>
    (await (await fetch(`${api.service.sandbox.controlUrl}/control/${path}`)).json()) as T
  const { providers } = await control<{ providers: { provider_id: string; scenarios: { name: string }[] }[] }>(
    'providers',
  )
  const wishes = providers
    .filter(({ provider_id }) => provider_id === 'kraken')
    .flatMap(({ provider_id, scenarios }) => scenarios.map(({ name }) => ({ provider_id, scenario: name })))
    .filter(({ scenario }) => scenario !== 'large')

  /** The account that a scenario's calls belong to; each scenario has one. */
  async function findState(provider_id: string, scenario: string): Promise<KrakenState> {
    const { requests } = await control<{ requests: { provider_id: string; account_id: string | null }[] }>('log')
    const ids = requests.flatMap((one) => (one.provider_id === provider_id ? [one.account_id ?? []].flat() : []))
    for (const id of new Set(ids)) {
      const state = await control<KrakenState & { scenario: string }>(`accounts/${id}/state`)
      if (state.scenario === scenario) return state
    }
    throw new Error(`no account of ${provider_id} ${scenario}`)
  }

  for (const wish of wishes.filter(({ scenario }) => !unread.has(scenario))) {
    it(`${wish.provider_id} ${wish.scenario}: every balance adds up, even with a withdrawal on hold`, async () => {
      const { access_token: token, connectionIds } = await api.signIn(JSON.stringify(wish), { providers: [wish] })
      await until(
        async () => (await api.ask(listProviders, '/accounts/v2/providers', token)).data,
        ([connection]) => connection !== undefined && connection.proof !== null,
      )
      const path = `/accounts/v2/providers/${connectionIds[0] ?? ''}/proof?limit=100`
      const { data, summary } = await api.ask(getProof, path, token)
      const expected = differencesOf(await findState(wish.provider_id, wish.scenario))
      assert.deepEqual(expected, new Map())
      assert.deepEqual(
        data.filter(({ grade }) => grade !== 'proved'),
        [],
      )
      for (const { opening, posted, computed, observed, difference } of data) {
        assert.equal(toUnits(computed), toUnits(opening) + toUnits(posted))
        assert.equal(toUnits(difference ?? ''), toUnits(observed ?? '') - toUnits(computed))
      }
      assert.equal(summary.grade, 'proved')
      assert.equal(data.length, summary.assets_by_grade.proved)
    })
  }

  it('a connection that could not be read to its end has no verdict yet', async () => {
    for (const provider_id of ['kraken', 'coinbase']) {
      const wish = { provider_id, scenario: 'revoked_later' }
      const { access_token: token } = await api.signIn(JSON.stringify(wish), { providers: [wish], read: false })
      const [connection] = await until(
        async () => (await api.ask(listProviders, '/accounts/v2/providers', token)).data,
        ([one]) => one?.status === 'needs_reauth',
      )
      assert.equal(connection?.proof, null)
    }
  })

  it('404: the proof of another user’s connection is hidden; 403: both scopes are needed', async () => {
    const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
    const bob = await api.signIn('bob')
    const path = `/accounts/v2/providers/${ann.connectionIds[0] ?? ''}/proof`
    assert.equal((await api.call('GET', path, bob.access_token)).status, 404)
    const narrow = await api.signIn('ann', { scope: 'providers:read' })
    const answer = await api.call<{ detail: string }>('GET', path, narrow.access_token)
    assert.equal(answer.status, 403)
    assert.match(answer.body.detail, /lacks the scope assets:read/)
    assert.equal(
      answer.headers.get('www-authenticate'),
      'Bearer error="insufficient_scope", scope="providers:read assets:read"',
    )
  })

  it('200: pages of one asset give the same as one page', async () => {
    const { access_token: token, connectionIds } = await api.signIn('paging', {
      providers: [{ provider_id: 'kraken', scenario: 'default' }],
    })
    const path = `/accounts/v2/providers/${connectionIds[0] ?? ''}/proof`
    const whole = await until(
      () => api.ask(getProof, `${path}?limit=100`, token),
      ({ data }) => data.length > 0,
    )
    const walked: unknown[] = []
    for (let next = `${path}?limit=2`; next !== '';) {
      const page = await api.ask(getProof, next, token)
      walked.push(...page.data)
      ;({ next } = page.page)
    }
    assert.deepEqual(walked, whole.data)
  })
})
