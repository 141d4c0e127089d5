import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { control } from '../testing/kraken-client.ts'
import type { Sandbox } from '../index.ts'
import { coinbaseScenarios } from '../scenarios/coinbase/index.ts'
import { makeJwt, mint, openKey, startCoinbase, type Minted, type TestClock } from '../testing/coinbase-client.ts'
import { createCoinbase } from './index.ts'

let sandbox: Sandbox
let clock: TestClock
let keys: Minted
before(async () => {
  ;({ sandbox, clock } = await startCoinbase())
  keys = await mint(sandbox, 'default', 'keys')
})
after(() => sandbox.close())

const never = new AbortController().signal
const path = '/v2/user'
const uri = `GET api.coinbase.com${path}`

async function statusOf(token: string, to = path): Promise<number> {
  const response = await fetch(sandbox.urls.coinbase + to, { headers: { authorization: `Bearer ${token}` } })
  if (response.status === 401) {
    // https://github.com/ccxt/ccxt/issues/23987: the gateway says so in plain text.
    assert.equal(response.headers.get('content-type'), 'text/plain')
    assert.equal(await response.text(), 'Unauthorized\n')
  }
  return response.status
}

async function faultOf(token: string, to = path): Promise<string | undefined> {
  await control(sandbox, 'DELETE', 'log')
  await statusOf(token, to)
  const { requests } = (await control(sandbox, 'GET', 'log')) as { requests: { error: string | null }[] }
  return requests[0]?.error ?? undefined
}

describe('a CDP API key', () => {
  // https://docs.cdp.coinbase.com/coinbase-app/authentication-authorization/api-key-authentication and
  // https://github.com/coinbase/coinbase-advanced-py/blob/master/coinbase/jwt_generator.py
  it('has the shapes of the documents: a PEM of P-256, and 64 bytes of Ed25519', () => {
    assert.match(keys.ecdsa.name, /^organizations\/[0-9a-f-]{36}\/apiKeys\/[0-9a-f-]{36}$/)
    assert.match(keys.ecdsa.secret, /^-----BEGIN EC PRIVATE KEY-----\n[\w+/=\n]+-----END EC PRIVATE KEY-----\n$/)
    assert.equal(createPrivateKey(keys.ecdsa.secret).asymmetricKeyDetails?.namedCurve, 'prime256v1')
    assert.match(keys.ed25519.name, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const bytes = Buffer.from(keys.ed25519.secret, 'base64')
    assert.equal(bytes.length, 64)
    assert.equal(keys.ed25519.secret.length, 88)
    const key = { kty: 'OKP', crv: 'Ed25519', d: bytes.subarray(0, 32).toString('base64url') }
    const { x } = createPublicKey(
      createPrivateKey({ key: { ...key, x: bytes.subarray(32).toString('base64url') }, format: 'jwk' }),
    ).export({ format: 'jwk' })
    assert.equal(Buffer.from(x ?? '', 'base64url').equals(bytes.subarray(32)), true)
  })

  it('differs for every account, scenario and algorithm, and is otherwise the same', async () => {
    const names = new Set<string>()
    for (const [scenario, account] of [
      ['default', 'a'],
      ['default', 'b'],
      ['empty', 'a'],
      ['down', 'a'],
      ['default', 'a'],
    ] as const) {
      const { ecdsa, ed25519 } = await mint(sandbox, scenario, account)
      names.add(ecdsa.name).add(ed25519.name)
    }
    assert.equal(names.size, 8)
  })

  it('works after a restart with the same seed, but not in a sandbox with another seed', async () => {
    const [same, stranger] = [await startCoinbase(), await startCoinbase({ seed: 'another seed' })]
    try {
      const headers = { authorization: `Bearer ${makeJwt(keys.ecdsa, uri, clock.nowMs)}` }
      const before = await (await openKey({ sandbox, clock }, 'default', 'keys')).read(path)
      assert.deepEqual(await (await fetch(same.sandbox.urls.coinbase + path, { headers })).json(), before)
      assert.equal((await fetch(stranger.sandbox.urls.coinbase + path, { headers })).status, 401)
    } finally {
      await Promise.all([same.sandbox.close(), stranger.sandbox.close()])
    }
  })
})

describe('the JWT of a request', () => {
  it('is accepted with both algorithms, with `uri` or `uris`, from the old issuer and the new', async () => {
    for (const key of [keys.ecdsa, keys.ed25519]) {
      assert.equal(await statusOf(makeJwt(key, uri, clock.nowMs)), 200)
      assert.equal(await statusOf(makeJwt(key, uri, clock.nowMs, { claims: { iss: 'coinbase-cloud' } })), 200)
      const listed = makeJwt(key, uri, clock.nowMs, { claims: { uri: undefined, uris: [uri], aud: ['cdp_service'] } })
      assert.equal(await statusOf(listed), 200)
    }
  })

  it('is accepted for the address that the simulator listens on, and a query does not count', async () => {
    const { host } = new URL(sandbox.urls.coinbase)
    assert.equal(await statusOf(makeJwt(keys.ecdsa, `GET ${host}/v2/user`, clock.nowMs)), 200)
    assert.equal(await statusOf(makeJwt(keys.ecdsa, uri, clock.nowMs), `${path}?limit=1`), 200)
  })

  it('is refused for another path, method or host', async () => {
    const token = makeJwt(keys.ecdsa, uri, clock.nowMs)
    assert.equal(await statusOf(token), 200)
    assert.equal(await faultOf(token, '/v2/accounts'), 'jwt: uri')
    assert.equal(await faultOf(makeJwt(keys.ecdsa, 'POST api.coinbase.com/v2/user', clock.nowMs)), 'jwt: uri')
    assert.equal(await faultOf(makeJwt(keys.ecdsa, 'GET api.example.com/v2/user', clock.nowMs)), 'jwt: uri')
    assert.equal(await faultOf(makeJwt(keys.ecdsa, uri, clock.nowMs, { claims: { uri: undefined } })), 'jwt: uri')
  })

  it('is refused when one bit of the signature or of the claims is changed, or another key signed', async () => {
    for (const key of [keys.ecdsa, keys.ed25519]) {
      const [header = '', claims = '', signature = ''] = makeJwt(key, uri, clock.nowMs).split('.')
      const bytes = Buffer.from(signature, 'base64url')
      bytes[9] = (bytes[9] ?? 0) ^ 1
      assert.equal(await faultOf(`${header}.${claims}.${bytes.toString('base64url')}`), 'jwt: signature')
      const later = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp: number }
      const changed = Buffer.from(JSON.stringify({ ...later, exp: later.exp - 1 })).toString('base64url')
      assert.equal(await faultOf(`${header}.${changed}.${signature}`), 'jwt: signature')
    }
    const other = await mint(sandbox, 'default', 'somebody else')
    const forged = makeJwt({ name: keys.ecdsa.name, secret: other.ecdsa.secret }, uri, clock.nowMs)
    assert.equal(await faultOf(forged), 'jwt: signature')
  })

  it('is refused with a `kid`, `sub`, `iss` or `alg` that does not fit', async () => {
    const make = (parts: Parameters<typeof makeJwt>[3]): string => makeJwt(keys.ecdsa, uri, clock.nowMs, parts)
    const stranger = 'organizations/0b0b0b0b-1111-4222-8333-444444444444/apiKeys/0c0c0c0c-1111-4222-8333-444444444444'
    assert.equal(await faultOf(make({ header: { kid: stranger } })), 'jwt: kid')
    assert.equal(await faultOf(make({ claims: { sub: 'me' } })), 'jwt: sub')
    assert.equal(await faultOf(make({ claims: { iss: 'assay' } })), 'jwt: iss')
    assert.equal(await faultOf(make({ header: { alg: 'none' } })), 'jwt: alg')
    assert.equal(await faultOf(make({ header: { alg: 'HS256' } })), 'jwt: alg')
    assert.equal(await faultOf(make({ claims: { exp: 'soon' } })), 'jwt: malformed')
  })

  it('lives 120 seconds at most, from its `nbf`', async () => {
    const token = makeJwt(keys.ecdsa, uri, clock.nowMs)
    clock.nowMs += 119_000
    assert.equal(await statusOf(token), 200)
    clock.nowMs += 1_000
    assert.equal(await faultOf(token), 'jwt: exp')
    const nbf = clock.nowMs / 1_000
    assert.equal(await faultOf(makeJwt(keys.ecdsa, uri, clock.nowMs, { claims: { exp: nbf + 121 } })), 'jwt: exp')
    assert.equal(await faultOf(makeJwt(keys.ecdsa, uri, clock.nowMs + 60_000)), 'jwt: nbf')
  })

  it('is refused when the clock of the provider is not the reader’s', async () => {
    await control(sandbox, 'POST', 'providers/coinbase/faults', { kind: 'clock_skew', times: 1 })
    assert.equal(await faultOf(makeJwt(keys.ecdsa, uri, clock.nowMs)), 'jwt: exp')
    assert.equal(await statusOf(makeJwt(keys.ecdsa, uri, clock.nowMs)), 200)
  })
})

describe('a call without a valid token', () => {
  it('is answered by v2 as documented', async () => {
    for (const authorization of ['', 'Bearer nonsense', 'Basic abc']) {
      const response = await fetch(sandbox.urls.coinbase + path, { headers: { authorization } })
      const errors = [{ id: 'invalid_token', message: 'The access token is invalid' }]
      assert.deepEqual([response.status, await response.json()], [401, { errors }])
    }
  })

  it('gets a 404 for an unknown path', async () => {
    const { get } = await openKey({ sandbox, clock }, 'empty')
    for (const to of ['/v2/orders', '/constructor', '/v2/accounts/constructor', '/v2/accounts/x/transactions']) {
      const response = await get(to)
      assert.deepEqual(
        [response.status, await response.json()],
        [404, { errors: [{ id: 'not_found', message: 'Not found' }] }],
      )
    }
  })
})

describe('the rights of a key', () => {
  // Field names: https://github.com/coinbase/coinbase-advanced-py/blob/master/coinbase/rest/types/data_api_types.py
  it('key_permissions has the documented fields', async () => {
    const { read } = await openKey({ sandbox, clock }, 'default', 'permissions')
    const permissions = await read<Record<string, unknown>>('/api/v3/brokerage/key_permissions')
    const { portfolio_uuid: portfolio, ...rest } = permissions
    assert.deepEqual(rest, { can_view: true, can_trade: false, can_transfer: false, portfolio_type: 'DEFAULT' })
    assert.match(String(portfolio), /^[0-9a-f-]{36}$/)
    const trading = await openKey({ sandbox, clock }, 'can_trade')
    const { can_trade, can_transfer } = await trading.read<Record<string, unknown>>('/api/v3/brokerage/key_permissions')
    assert.deepEqual([can_trade, can_transfer], [true, true])
  })

  it('a key without the right to view gets a 403 in the form of each version, and can still list its rights', async () => {
    const { get, accountId } = await openKey({ sandbox, clock }, 'default', 'blind')
    await control(sandbox, 'POST', `accounts/${accountId}/key`, { permissions: ['trade'] })
    const [v2, v3] = [await get('/v2/accounts'), await get('/api/v3/brokerage/accounts')]
    assert.deepEqual(
      [v2.status, await v2.json()],
      [403, { errors: [{ id: 'invalid_scope', message: 'Invalid scope' }] }],
    )
    // https://github.com/coinbase/coinbase-advanced-py/blob/master/coinbase/rest/rest_base.py looks for these details.
    const details = 'Missing required scopes'
    assert.deepEqual(
      [v3.status, await v3.json()],
      [403, { error: 'PERMISSION_DENIED', error_details: details, message: details }],
    )
    assert.equal((await get('/api/v3/brokerage/key_permissions')).status, 200)
  })

  it('a valid key of another portfolio sees nothing', async () => {
    const { read, accountId } = await openKey({ sandbox, clock }, 'default', 'elsewhere')
    await control(sandbox, 'POST', `accounts/${accountId}/key`, { permissions: ['view', 'other-portfolio'] })
    assert.deepEqual((await read<{ data: object[] }>('/v2/accounts')).data, [])
    assert.deepEqual((await read<{ accounts: object[] }>('/api/v3/brokerage/accounts')).accounts, [])
  })

  it('a revoked or expired key gets a 401', async () => {
    const { get, accountId } = await openKey({ sandbox, clock }, 'default', 'ending')
    await control(sandbox, 'POST', `accounts/${accountId}/key`, { revoked: true })
    assert.equal((await get(path)).status, 401)
    await control(sandbox, 'POST', `accounts/${accountId}/key`, { revoked: false })
    assert.equal((await get(path)).status, 200)
    const end = new Date(clock.nowMs).toISOString()
    await control(sandbox, 'POST', `accounts/${accountId}/key`, { valid_until: end })
    assert.equal((await get(path)).status, 401)
  })
})

describe('the call limit', () => {
  // https://docs.cdp.coinbase.com/coinbase-app/api-architecture/rate-limiting
  const errors = [{ id: 'rate_limit_exceeded', message: 'Too many requests' }]

  it('gives a 429 in the documented form, for each account separately', async () => {
    const own = await startCoinbase({ pace: 'real' })
    try {
      const limited = await openKey(own, 'rate_limited')
      for (let count = 0; count < 5; count += 1) assert.equal((await limited.get(path)).status, 200)
      const refused = await limited.get(path)
      assert.deepEqual([refused.status, await refused.json()], [429, { errors }])
      assert.equal((await (await openKey(own, 'rate_limited', 'another')).get(path)).status, 200)
      own.clock.nowMs += 3_100
      assert.deepEqual([(await limited.get(path)).status, (await limited.get(path)).status], [200, 429])
    } finally {
      await own.sandbox.close()
    }
  })

  it('is 10,000 calls an hour, or in a hundredth of an hour at the fast pace', async () => {
    for (const [pace, hourMs] of [
      ['real', 3_600_000],
      ['fast', 36_000],
    ] as const) {
      const now = { ms: clock.nowMs }
      const options = { seed: 'limit', pace, scenarios: coinbaseScenarios, nowMs: () => now.ms, newId: () => 'one' }
      const { provider, tokens, accounts } = createCoinbase(options)
      const account = accounts.mint('empty', 'limit')?.id ?? ''
      // This uses an access token instead of a key, because twenty thousand signatures would take half a minute.
      const token = tokens.seal('access', { account, family: 'one', serial: 0, issuedMs: now.ms, scope: '' })
      const headers = { authorization: `Bearer ${token}` }
      const call = async (): Promise<number> => {
        const plain = { method: 'GET', path, query: new URLSearchParams(), rawQuery: '', headers, body: '' }
        const request = { ...plain, address: '127.0.0.1', signal: never }
        const answer = await provider.answer(request, {
          nowMs: now.ms,
          cutPage: (view, offset, size) => view.cut(offset, size),
          tellCount: (count) => count,
        })
        return answer.status
      }
      const statuses = new Set(await Promise.all(Array.from({ length: 10_000 }, call)))
      assert.deepEqual([...statuses, await call()], [200, 429])
      now.ms += hourMs / 10_000
      assert.deepEqual([await call(), await call()], [200, 429])
    }
  })
})
