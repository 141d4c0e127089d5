import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { demo } from '../../../../../test/application.ts'
import { openResource } from '../test-resource.ts'

interface Refused {
  code: string
  detail: string
  errors: { cause: string; parameter?: string }[]
}

describe('the sandbox’s own endpoints', async () => {
  const api = await openResource()
  const request = {
    client_id: demo.clientId,
    code_challenge: createHash('sha256').update('x'.repeat(43)).digest('base64url'),
    code_challenge_method: 'S256',
    state: randomUUID(),
    user: 'ann',
    providers: [] as object[],
  }
  const post = (path: string, body: unknown): ReturnType<typeof api.call<Refused>> =>
    api.call<Refused>('POST', path, undefined, body)

  it('an authorization is answered with a code and the address the browser would go to', async () => {
    const { status, body, headers } = await api.call<{ code: string; state: string; redirect_to: string }>(
      'POST',
      '/sandbox/authorizations',
      undefined,
      request,
    )
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    const target = new URL(body.redirect_to)
    assert.equal(`${target.origin}${target.pathname}`, demo.redirectUri)
    assert.deepEqual(Object.fromEntries(target.searchParams), {
      code: body.code,
      state: request.state,
      iss: api.url,
    })
    assert.equal(body.state, request.state)
  })

  it('the same text is the same user of a client', async () => {
    const [one, two, other] = [await api.signIn('same'), await api.signIn('same'), await api.signIn('other')]
    assert.equal(one.user_id, two.user_id)
    assert.notEqual(one.user_id, other.user_id)
  })

  it('400: what a real authorization would refuse is refused, and what is unknown is named', async () => {
    const cases: [object, RegExp][] = [
      [{ ...request, client_id: 'cli_nobody' }, /client/],
      [{ ...request, state: 'not a uuid' }, /state/],
      [{ ...request, code_challenge: 'short' }, /code_challenge/],
      [{ ...request, redirect_uri: 'https://evil.example/' }, /redirect_uri/],
      [{ ...request, user: '' }, /user/],
      [{ ...request, extra: 1 }, /extra/],
      [{ ...request, providers: [{ provider_id: 'krakn' }] }, /krakn/],
      [{ ...request, providers: [{ provider_id: 'kraken', scenario: 'sunny' }] }, /sunny/],
    ]
    for (const [body, words] of cases) {
      const answer = await post('/sandbox/authorizations', body)
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.text, words)
    }
  })

  it('scenarios are described for every simulated provider', async () => {
    const { body } = await api.call<{
      data: { provider_id: string; scenarios: { name: string; expects: string }[] }[]
    }>('GET', '/sandbox/scenarios')
    const [kraken] = body.data
    assert.equal(kraken?.provider_id, 'kraken')
    const names = kraken?.scenarios.map(({ name }) => name) ?? []
    for (const name of 'default empty large invalid_credentials can_trade rate_limited down revoked_later flaky'.split(
      ' ',
    )) {
      assert.ok(names.includes(name), name)
    }
    assert.ok(kraken?.scenarios.every(({ expects }) => expects.length > 0))
  })

  it('a fault is set and cleared; one that does not exist, and a provider that does not, are refused', async () => {
    const path = '/sandbox/providers/kraken/faults'
    assert.equal((await post(path, { kind: 'http_5xx', times: 1 })).status, 200)
    assert.equal((await api.call('DELETE', path)).status, 200)
    assert.equal((await post(path, { kind: 'rain' })).status, 400)
    assert.equal((await post('/sandbox/providers/krakn/faults', { kind: 'http_5xx' })).status, 400)
    const listed = await fetch(`${api.service.sandbox.controlUrl}/control/providers/kraken/faults`)
    assert.deepEqual(await listed.json(), { faults: [] })
  })

  it('the clock goes forward only, for the service and its providers alike', async () => {
    const clock = (body: object): ReturnType<typeof api.call<{ data: { offset_ms: number; now: string } }>> =>
      api.call('POST', '/sandbox/clock', undefined, body)
    const first = await clock({ advance_ms: 3_600_000 })
    assert.equal(first.body.data.offset_ms, 3_600_000)
    const second = await clock({ offset_ms: 7_200_000 })
    assert.equal(second.body.data.offset_ms, 7_200_000)
    assert.ok(Math.abs(Date.parse(second.body.data.now) - Date.now() - 7_200_000) < 60_000)
    const providers = await fetch(`${api.service.sandbox.controlUrl}/control/clock`)
    assert.equal(((await providers.json()) as { offset_ms: number }).offset_ms, 7_200_000)
    for (const body of [
      { offset_ms: 0 },
      { advance_ms: -1 },
      { advance_ms: 1.5 },
      { advance_ms: 1, offset_ms: 1 },
      {},
    ]) {
      assert.equal((await clock(body)).status, 400, JSON.stringify(body))
    }
  })

  it('time that passed makes an access token expire', async () => {
    const { access_token: token } = await api.signIn('ann')
    assert.equal((await api.call('GET', '/accounts/v2/providers', token)).status, 200)
    await api.moveClock(901)
    assert.equal((await api.call('GET', '/accounts/v2/providers', token)).status, 401)
  })
})
