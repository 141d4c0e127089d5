import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusal } from '@assay/core'
import { checkRegistration } from './registration.ts'

const plain = { name: 'App', redirectUris: ['https://app.example/cb'], scopes: ['assets:read'] } as const

function refusedParameter(registration: Parameters<typeof checkRegistration>[0]): string | undefined {
  try {
    checkRegistration(registration)
    return undefined
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error.items[0]?.parameter
  }
}

describe('a redirect URI (RFC 6749 §3.1.2, RFC 8252 §7)', () => {
  const accepted = [
    'https://app.example/cb',
    'https://app.example',
    'https://app.example:8443/cb?tenant=1&x=%20',
    'http://127.0.0.1:4100/callback',
    'http://[::1]:4100/callback',
    'http://localhost/callback',
    'com.example.app:/oauth2redirect',
    'com.example.app://callback',
  ]
  for (const uri of accepted) {
    it(`may be ${uri}`, () => assert.equal(refusedParameter({ ...plain, redirectUris: [uri] }), undefined))
  }

  const refused = [
    'https://app.example/cb#fragment',
    'https://app.example/cb#',
    'https://user@app.example/cb',
    'https://app.example/cb?code=1',
    'https://app.example/cb?state=1',
    'https://app.example/cb?iss=1',
    'http://app.example/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://localhost.evil.example/cb',
    'http://2130706433/cb',
    'http://0.0.0.0/cb',
    'https://APP.example/cb',
    'https://app.example:443/cb',
    'https://app.example/x/../cb',
    'https:\\\\app.example\\cb',
    ' https://app.example/cb',
    'https://app.example/c\tb',
    'https://app.example/ü',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'myapp://callback',
    '/cb',
    '',
    `https://app.example/${'a'.repeat(2_000)}`,
  ]
  for (const uri of refused) {
    it(`may not be ${JSON.stringify(uri.slice(0, 60))}`, () => {
      assert.equal(refusedParameter({ ...plain, redirectUris: [uri] }), 'redirect_uris')
    })
  }
})

describe('a registration', () => {
  it('keeps scopes in the order of the wire and drops duplicates', () => {
    const scopes = ['offline_access', 'assets:read', 'offline_access'] as const
    assert.deepEqual(checkRegistration({ ...plain, scopes }).scopes, ['assets:read', 'offline_access'])
  })

  it('of a client without a secret has no enterprise scopes (RFC 6749 §4.4)', () => {
    assert.equal(refusedParameter({ name: 'App', scopes: ['enterprise:read'], publicClient: true }), 'scopes')
  })

  it('needs a redirect URI for platform scopes, and none for enterprise scopes', () => {
    assert.equal(refusedParameter({ name: 'App', scopes: ['assets:read'] }), 'redirect_uris')
    assert.equal(refusedParameter({ name: 'App', scopes: ['enterprise:read'] }), undefined)
  })

  it('names at least one scope, at most 20 URIs, and something readable', () => {
    assert.equal(refusedParameter({ ...plain, scopes: [] }), 'scopes')
    const many = Array.from({ length: 21 }, (_, at) => `https://app.example/${at}`)
    assert.equal(refusedParameter({ ...plain, redirectUris: many }), 'redirect_uris')
    for (const name of [
      '',
      ' App',
      'A\nB',
      'A\0',
      'A\u202EppB',
      'A\u200BB',
      'A\u2066B',
      'A\u2028B',
      'A\uD800',
      'x'.repeat(101),
    ]) {
      assert.equal(refusedParameter({ ...plain, name }), 'name', JSON.stringify(name))
    }
    for (const name of ['Bücher & Söhne', '日本の家計簿', 'خانه', '🏦 Bank']) {
      assert.equal(refusedParameter({ ...plain, name }), undefined, name)
    }
  })

  it('accepts origins for embedding, not full addresses', () => {
    assert.equal(
      refusedParameter({ ...plain, embedOrigins: ['https://app.example', 'http://127.0.0.1:4100'] }),
      undefined,
    )
    const refused = ['https://app.example/', 'https://app.example/x', 'http://app.example', '*', 'null']
    for (const origin of [...refused, 'https://*.example', 'https://*', 'https://*.example:8443']) {
      assert.equal(refusedParameter({ ...plain, embedOrigins: [origin] }), 'embed_origins', origin)
    }
  })

  it('accepts only https for logo and homepage', () => {
    assert.equal(refusedParameter({ ...plain, logoUri: 'https://app.example/logo.svg' }), undefined)
    assert.equal(refusedParameter({ ...plain, logoUri: 'data:image/svg+xml,x' }), 'logo_uri')
    assert.equal(refusedParameter({ ...plain, homepageUri: 'http://app.example/' }), 'homepage_uri')
  })
})
