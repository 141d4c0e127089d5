import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Client } from '../tenants/index.ts'
import { findErrorRedirect, parseAuthorizationRequest, toCodeRedirect } from './authorization-request.ts'
import { OAuthError } from './protocol.ts'
import { testClient } from './test-client.ts'

const good = {
  client_id: 'cli_app',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
  state: '0b5f9a4e-6a43-4f0a-9c51-0c6b6f6f2c11',
}

type Change = Record<string, string | undefined>

function parse(change: Change = {}, registered: Partial<Client> = {}, more: [string, string][] = []) {
  const entries = Object.entries({ ...good, ...change }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const found = { ...testClient, ...registered }
  return parseAuthorizationRequest([...entries, ...more], async (id) => (id === found.clientId ? found : undefined))
}

async function refusal(...parameters: Parameters<typeof parse>): Promise<OAuthError> {
  const outcome = await parse(...parameters).catch((error: unknown) => error)
  assert.ok(outcome instanceof OAuthError)
  return outcome
}

describe('an authorization request', () => {
  it('without scope and redirect_uri means all platform scopes and the one registered URI', async () => {
    const request = await parse()
    assert.deepEqual(request.scopes, ['providers:read', 'assets:read', 'offline_access'])
    assert.equal(request.redirectUri, 'https://app.example/cb')
  })

  it('accepts a narrower scope in any order, and ignores unknown parameters (RFC 6749 §3.1)', async () => {
    const request = await parse({ scope: 'offline_access assets:read', login_token: 'x', utm: '1' })
    assert.deepEqual(request.scopes, ['assets:read', 'offline_access'])
  })

  it('may name its redirect_uri and response_type', async () => {
    const request = await parse({ redirect_uri: 'https://app.example/cb', response_type: 'code' })
    assert.equal(request.redirectUri, 'https://app.example/cb')
  })
})

describe('an error page, never a redirect (RFC 6749 §4.1.2.1, RFC 9700 §4.11.2), answers', () => {
  const two = { redirectUris: ['https://app.example/cb', 'https://app.example/other'] }
  const cases: [string, ...Parameters<typeof parse>][] = [
    ['an unknown client', { client_id: 'cli_nobody' }],
    ['no client', { client_id: undefined }],
    ['a client sent twice', {}, {}, [['client_id', 'cli_app']]],
    ['a disabled client', {}, { disabledAt: '2026-03-02T10:11:12.345Z' }],
    ['a client without redirect URIs', {}, { redirectUris: [] }],
    ['no redirect_uri where two are registered', {}, two],
    [
      'a redirect_uri sent twice',
      { redirect_uri: 'https://app.example/cb' },
      {},
      [['redirect_uri', 'https://evil.example/']],
    ],
    ['a longer path', { redirect_uri: 'https://app.example/cb/evil' }],
    ['a shorter path', { redirect_uri: 'https://app.example/c' }],
    ['another case', { redirect_uri: 'https://app.example/CB' }],
    ['an added query', { redirect_uri: 'https://app.example/cb?x=1' }],
    ['an added fragment', { redirect_uri: 'https://app.example/cb#x' }],
    ['a user name in front', { redirect_uri: 'https://app.example@evil.example/cb' }],
    ['a port', { redirect_uri: 'https://app.example:443/cb' }],
    ['a longer host', { redirect_uri: 'https://app.example.evil.example/cb' }],
    ['an encoded path', { redirect_uri: 'https://app.example/%63b' }],
    ['a dot segment', { redirect_uri: 'https://app.example/x/../cb' }],
    ['a backslash', { redirect_uri: 'https://app.example\\cb' }],
    ['http for https', { redirect_uri: 'http://app.example/cb' }],
    ['white space around it', { redirect_uri: ' https://app.example/cb' }],
    ['a script', { redirect_uri: 'javascript:alert(1)' }],
    [
      'another port on loopback',
      { redirect_uri: 'http://127.0.0.1:4101/cb' },
      { redirectUris: ['http://127.0.0.1:4100/cb'] },
    ],
    [
      'localhost for 127.0.0.1',
      { redirect_uri: 'http://localhost:4100/cb' },
      { redirectUris: ['http://127.0.0.1:4100/cb'] },
    ],
  ]
  for (const [title, ...parameters] of cases) {
    it(title, async () => {
      const error = await refusal(...parameters)
      assert.equal(error.code, 'invalid_request')
      assert.equal(error.returnTo, undefined)
      assert.equal(findErrorRedirect('https://auth.example', error), undefined)
    })
  }
})

describe('an error goes back to the client with its state', () => {
  const cases: [string, OAuthError['code'], ...Parameters<typeof parse>][] = [
    ['response_type=token', 'unsupported_response_type', { response_type: 'token' }],
    ['no code_challenge (RFC 7636 §4.4.1)', 'invalid_request', { code_challenge: undefined }],
    ['an S256 challenge that is too long', 'invalid_request', { code_challenge: 'a'.repeat(44) }],
    [
      'a plain challenge that is too short',
      'invalid_request',
      { code_challenge_method: 'plain', code_challenge: 'a'.repeat(42) },
    ],
    [
      'a plain challenge that is too long',
      'invalid_request',
      { code_challenge_method: 'plain', code_challenge: 'a'.repeat(129) },
    ],
    ['no method: plain is not the default here', 'invalid_request', { code_challenge_method: undefined }],
    ['an unknown method', 'invalid_request', { code_challenge_method: 'S512' }],
    [
      'plain, for a client registered s256_only',
      'invalid_request',
      { code_challenge_method: 'plain' },
      { s256Only: true },
    ],
    ['an unknown scope (RFC 6749 §3.3)', 'invalid_scope', { scope: 'assets:read root' }],
    ['a scope the client is not registered for', 'invalid_scope', { scope: 'transactions:read' }],
    ['an enterprise scope', 'invalid_scope', { scope: 'enterprise:read' }],
    ['only spaces for a scope', 'invalid_scope', { scope: '  ' }],
    ['a client with enterprise scopes alone', 'unauthorized_client', {}, { scopes: ['enterprise:read'] }],
    ['a parameter sent twice (RFC 6749 §3.1)', 'invalid_request', {}, {}, [['code_challenge', 'x']]],
    ['an unknown parameter sent twice', 'invalid_request', { utm: '1' }, {}, [['utm', '2']]],
  ]
  for (const [title, code, ...parameters] of cases) {
    it(title, async () => {
      const error = await refusal(...parameters)
      assert.equal(error.code, code)
      assert.deepEqual(error.returnTo, { redirectUri: 'https://app.example/cb', state: good.state })
    })
  }

  it('as it was sent even when it is not a UUID, and without it when it was sent twice or not at all', async () => {
    assert.equal((await refusal({ state: 'a b&c=d' })).returnTo?.state, 'a b&c=d')
    assert.equal((await refusal({}, {}, [['state', 'x']])).returnTo?.state, undefined)
    assert.equal((await refusal({ state: undefined })).returnTo?.state, undefined)
  })
})

describe('answers in the query of the redirect URI', () => {
  it('carry code, state and the issuer (RFC 9207 §2)', () => {
    const uri = toCodeRedirect(
      'https://auth.example',
      { redirectUri: 'https://app.example/cb', state: good.state },
      'c-1',
    )
    assert.equal(uri, `https://app.example/cb?code=c-1&state=${good.state}&iss=https%3A%2F%2Fauth.example`)
  })

  it("are added to the client's own query (RFC 6749 §3.1.2)", () => {
    const uri = toCodeRedirect(
      'https://auth.example',
      { redirectUri: 'https://app.example/cb?tab=%31', state: 's' },
      'c',
    )
    assert.equal(uri, 'https://app.example/cb?tab=%31&code=c&state=s&iss=https%3A%2F%2Fauth.example')
  })

  it('encode a state that tries to add parameters', async () => {
    const uri = findErrorRedirect('https://auth.example', await refusal({ state: 'x&code=stolen#y' }))
    const query = new URL(uri ?? '').searchParams
    assert.deepEqual([...query.keys()], ['error', 'error_description', 'state', 'iss'])
    assert.equal(query.get('state'), 'x&code=stolen#y')
  })
})
