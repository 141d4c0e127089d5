import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { OAuthError } from './errors.ts'
import { createPkce, createState, readCallback, toAuthorizationUrl } from './pkce.ts'

describe('the authorization request', () => {
  it('RFC 7636 §4.1, §4.2: the verifier has 43 unreserved characters, the challenge is its SHA-256', async () => {
    const { codeVerifier, codeChallenge } = await createPkce()
    assert.match(codeVerifier, /^[A-Za-z0-9_-]{43}$/)
    assert.equal(codeChallenge, createHash('sha256').update(codeVerifier).digest('base64url'))
    assert.notEqual((await createPkce()).codeVerifier, codeVerifier)
  })

  it('has the four parameters of the reference, and others only when given', async () => {
    const { codeChallenge } = await createPkce()
    const state = createState()
    const url = new URL(
      toAuthorizationUrl({ widgetUrl: 'https://w.example/connect', clientId: 'cli_1', codeChallenge, state }),
    )
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      client_id: 'cli_1',
      code_challenge: codeChallenge,
      code_challenge_method: 'S256',
      state,
    })
    assert.match(state, /^[0-9a-f]{8}-[0-9a-f]{4}-4/)
    const request = { widgetUrl: 'https://w.example', clientId: 'c', codeChallenge, state }
    const scoped = toAuthorizationUrl({ ...request, scope: ['assets:read', 'offline_access'], lang: 'de' })
    assert.equal(new URL(scoped).searchParams.get('scope'), 'assets:read offline_access')
  })
})

describe('the callback', () => {
  const expected = { state: 's', issuer: 'https://auth.example' }
  const from = (query: Record<string, string>): string =>
    `https://app.example/cb?${new URLSearchParams(query).toString()}`
  const refusal = (query: Record<string, string>): unknown => {
    try {
      return readCallback(from(query), expected)
    } catch (error) {
      return error instanceof OAuthError ? error.code : error
    }
  }

  it('gives the code of this session and server', () => {
    assert.equal(readCallback(from({ code: 'c', state: 's', iss: expected.issuer }), expected), 'c')
  })

  it('RFC 9207 §2.4, RFC 6749 §10.12: a response of another server or session is refused before anything else is read', () => {
    assert.equal(refusal({ code: 'c', state: 'x', iss: expected.issuer }), 'invalid_state')
    assert.equal(refusal({ code: 'c', state: 's', iss: 'https://evil.example' }), 'invalid_issuer')
    assert.equal(refusal({ code: 'c', state: 's' }), 'invalid_issuer')
    assert.equal(refusal({ error: 'access_denied', state: 'x', iss: expected.issuer }), 'invalid_state')
  })

  it('RFC 9700 §4.7: without a flow that this session began there is no state to match, not even an empty one', () => {
    const none = { ...expected, state: '' }
    for (const query of [{ state: '' }, {}]) {
      const answer = from({ code: 'c', iss: expected.issuer, ...query })
      assert.throws(() => readCallback(answer, none), { name: 'OAuthError', code: 'invalid_state' })
    }
  })

  it('RFC 9700 §4.7: a program in JavaScript may pass no state at all, which matches no link either', () => {
    const none = JSON.parse(JSON.stringify({ issuer: expected.issuer })) as typeof expected
    const answer = from({ code: 'c', iss: expected.issuer })
    assert.throws(() => readCallback(answer, none), { name: 'OAuthError', code: 'invalid_state' })
  })

  it('says that the user declined', () => {
    assert.equal(refusal({ error: 'access_denied', state: 's', iss: expected.issuer }), 'access_denied')
  })
})
