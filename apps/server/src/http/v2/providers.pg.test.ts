import { addProvider, listProviders, removeProvider, type ErrorResponse } from '@assay/contract'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openResource } from '../test-resource.ts'

type Problem = ErrorResponse
const path = '/accounts/v2/providers'

describe('a provider of a user', async () => {
  const api = await openResource()
  const { access_token: token } = await api.signIn('ann')

  async function mintKey(scenario = 'empty'): Promise<{ api_key: string; secret_key: string }> {
    const response = await fetch(`${api.service.sandbox.controlUrl}/control/accounts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ provider_id: 'kraken', scenario, account: randomUUID() }),
    })
    return ((await response.json()) as { credentials: { api_key: string; secret_key: string } }).credentials
  }
  async function add(label?: string): Promise<string> {
    const connection = { type: 'api_key', ...(await mintKey()) }
    const body = { provider_id: 'kraken', connection, ...(label === undefined ? {} : { display_label: label }) }
    const { data } = await api.ask(addProvider, path, token, body)
    assert.equal(data.added, true)
    return data.connection_id ?? ''
  }
  async function listIds(): Promise<string[]> {
    const { data } = await api.ask(listProviders, path, token)
    return data.map(({ connection_id }) => connection_id)
  }
  async function refused(method: string, target: string, body?: unknown): Promise<Problem> {
    const answer = await api.call<Problem>(method, target, token, body)
    assert.equal(answer.status, 400, answer.text)
    return answer.body
  }

  it('200: is added with its label, and listed in the order of adding, page by page', async () => {
    const ids = [await add('Savings'), await add(), await add('Ä label')]
    const { data } = await api.ask(listProviders, path, token)
    assert.deepEqual(
      data.map(({ connection_id, display_label }) => [connection_id, display_label]),
      [
        [ids[0], 'Savings'],
        [ids[1], null],
        [ids[2], 'Ä label'],
      ],
    )
    const first = await api.ask(listProviders, `${path}?limit=2`, token)
    const second = await api.ask(listProviders, first.page.next, token)
    assert.deepEqual(
      [...first.data, ...second.data].map(({ connection_id }) => connection_id),
      ids,
    )
    assert.equal(second.page.next, '')
  })

  it('200: a key that was pasted with white space around it is the same key', async () => {
    const { api_key: key, secret_key: secret } = await mintKey()
    const connection = { type: 'api_key', api_key: ` ${key}\n`, secret_key: `\u200b${secret} ` }
    const { data, errors } = await api.ask(addProvider, path, token, { provider_id: 'kraken', connection })
    assert.deepEqual([data.added, errors], [true, []])
    const blank = { ...connection, secret_key: ' ' }
    const refusal = await refused('POST', path, { provider_id: 'kraken', connection: blank })
    assert.equal(refusal.errors[0]?.parameter, 'connection.secret_key')
    const { connection_id: connectionId } = data
    await api.ask(removeProvider, path, token, { connection_id: connectionId })
  })

  it('200: a refusal by the provider is not an error of the call', async () => {
    const connection = { type: 'api_key', ...(await mintKey('can_trade')) }
    const { data, errors } = await api.ask(addProvider, path, token, { provider_id: 'kraken', connection })
    assert.deepEqual([data.added, data.connection_id, data.status], [false, null, null])
    assert.deepEqual(
      errors.map(({ cause, provider_id }) => [cause, provider_id]),
      [['excess_permission', 'kraken']],
    )
  })

  it('200: is removed by its id in the query or in the body, or together with all connections of its provider', async () => {
    const before = await listIds()
    const [first = '', second = '', ...rest] = before
    const byQuery = await api.ask(removeProvider, `${path}?connection_id=${first}`, token)
    assert.deepEqual(byQuery.data, { removed: true, connection_ids: [first], data_destroyed: true })
    const byBody = await api.ask(removeProvider, path, token, { connection_id: second })
    assert.deepEqual(byBody.data.connection_ids, [second])
    assert.deepEqual(await listIds(), rest)
    const all = await api.ask(removeProvider, `${path}?provider_id=kraken`, token)
    assert.deepEqual(all.data.connection_ids.toSorted(), rest.toSorted())
    assert.deepEqual(await listIds(), [])
  })

  it('400: removal takes exactly one of the two, in the query and the body together', async () => {
    for (const [target, body] of [
      [path, undefined],
      [path, {}],
      [`${path}?connection_id=con_a&provider_id=kraken`, undefined],
      [`${path}?connection_id=con_a`, { connection_id: 'con_a' }],
      [`${path}?connection_id=con_a`, { provider_id: 'kraken' }],
      [path, { connection_id: 'con_a', provider_id: 'kraken' }],
    ] as const) {
      const { errors } = await refused('DELETE', target, body)
      assert.equal(errors[0]?.cause, 'bad_request', JSON.stringify([target, body]))
    }
    await refused('DELETE', `${path}?provider_id=krakn`)
    const { errors } = await refused('DELETE', path, { connection_id: 'con_a', force: true })
    assert.deepEqual([errors[0]?.cause, errors[0]?.parameter], ['unknown_parameter', 'force'])
  })

  it('400: a connection type that the provider does not support is answered with those it does', async () => {
    const wallet = { provider_id: 'kraken', connection: { type: 'wallet', address: '0x0' } }
    const { errors } = await refused('POST', path, wallet)
    assert.equal(errors[0]?.message, 'must be api_key for Kraken, got wallet')
  })

  it('400: an unknown provider, an unsupported connection type or a missing field is named', async () => {
    const key = { type: 'api_key', api_key: 'a', secret_key: 'b' }
    const cases: [object, string, string][] = [
      [{ provider_id: 'krakn', connection: key }, 'unknown_provider', 'provider_id'],
      // Which fields are missing depends on the provider, so an unknown one comes first.
      [{ provider_id: 'krakn', connection: { type: 'api_key' } }, 'unknown_provider', 'provider_id'],
      [{ provider_id: 'krakn' }, 'unknown_provider', 'provider_id'],
      [{ connection: key }, 'invalid_parameter', 'provider_id'],
      [{ provider_id: 'kraken' }, 'invalid_parameter', 'connection'],
      [
        { provider_id: 'kraken', connection: { type: 'wallet', address: '0x0' } },
        'unsupported_connection_type',
        'connection.type',
      ],
      [{ provider_id: 'kraken', connection: { ...key, secret_key: '' } }, 'invalid_parameter', 'connection.secret_key'],
      [{ provider_id: 'kraken', connection: { ...key, pin: '1' } }, 'unknown_parameter', 'connection.pin'],
      [{ provider_id: 'kraken', connection: key, display_label: 'x'.repeat(81) }, 'invalid_parameter', 'display_label'],
    ]
    for (const [body, cause, parameter] of cases) {
      const { errors } = await refused('POST', path, body)
      assert.deepEqual([errors[0]?.cause, errors[0]?.parameter], [cause, parameter], JSON.stringify(body))
    }
  })

  it('400: no error quotes a secret that was sent', async () => {
    const connection = { type: 'api_key', api_key: 'k', secret_key: 'very-secret\0', passphrase: 'very-secret' }
    const answer = await api.call('POST', path, token, { provider_id: 'kraken', connection })
    assert.equal(answer.status, 400)
    assert.doesNotMatch(answer.text, /very-secret/)
  })

  it('404: neither a missing connection nor another user’s can be removed', async () => {
    const bob = await api.signIn('bob', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
    const [theirs = ''] = bob.connectionIds
    const remove = async (query: string): Promise<object> => {
      const { status, body } = await api.call<Problem>('DELETE', `${path}?${query}`, token)
      assert.equal(status, 404)
      return { ...body, request_id: '' }
    }
    // Bob has the first of each pair, and no user has the second.
    assert.deepEqual(await remove(`connection_id=${theirs}`), await remove('connection_id=con_nobody'))
    assert.deepEqual(await remove('provider_id=kraken'), await remove('provider_id=binance'))
    assert.equal((await api.ask(listProviders, path, bob.access_token)).data.length, 1)
  })
})
