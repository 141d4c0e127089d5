import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startSandbox, type Sandbox } from '../index.ts'
import { openHarbor, redirectUri, type HarborClient } from '../testing/harbor-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'

interface Me {
  id: string
  scopes: string[]
}

let sandbox: Sandbox
let harbor: HarborClient
before(async () => {
  sandbox = await startTestSandbox()
  harbor = openHarbor(sandbox)
})
after(() => sandbox.close())

const allow = { account: 'default', decision: 'allow' }
const invalidGrant = { error: 'invalid_grant' }

async function postToken(fields: Record<string, string>, of = harbor): Promise<{ status: number; error: unknown }> {
  const secrets = { client_id: 'assay-sandbox', client_secret: 'harbor-client-secret' }
  const body = new URLSearchParams({ ...secrets, ...fields })
  const response = await fetch(`${of.url}/oauth/token`, { method: 'POST', body })
  assert.equal(response.headers.get('cache-control'), 'no-store')
  return { status: response.status, error: ((await response.json()) as { error?: unknown }).error }
}

/** The fields with which a client redeems the code it was sent. */
async function codeFields(of = harbor): Promise<Record<string, string>> {
  const asked = await of.ask()
  const location = new URL((await of.decide(asked, allow)).headers.get('location') ?? '')
  return {
    grant_type: 'authorization_code',
    code: location.searchParams.get('code') ?? '',
    redirect_uri: redirectUri,
    code_verifier: asked.verifier,
  }
}

describe('signing in at Harbor, by oauth4webapi', () => {
  it('a code and its verifier give tokens that work (RFC 6749 §4.1, RFC 7636)', async () => {
    const { access_token, refresh_token, token_type, expires_in, scope } = await harbor.signIn()
    assert.deepEqual([token_type, expires_in, scope], ['bearer', 3600, 'read'])
    assert.equal(typeof refresh_token, 'string')
    const me = await harbor.read<Me>(access_token, '/v1/me')
    assert.match(me.id, /^hbr_[0-9a-f]{20}$/)
    assert.deepEqual(me.scopes, ['read'])
  })

  it('the same choice is the same account, and text after the colon makes another', async () => {
    const idOf = async (account: string): Promise<string> =>
      (await harbor.read<Me>((await harbor.signIn(account)).access_token, '/v1/me')).id
    assert.equal(await idOf('default'), await idOf('default:1'))
    assert.equal(new Set([await idOf('default'), await idOf('default:nora'), await idOf('empty')]).size, 3)
  })

  it('a scope that was asked for and allowed is given', async () => {
    assert.equal((await harbor.signIn('default', 'read trade')).scope, 'read trade')
  })

  it('denied, the person comes back with access_denied and the state (RFC 6749 §4.1.2.1)', async () => {
    const asked = await harbor.ask()
    const answer = await harbor.decide(asked, { account: 'default', decision: 'deny' })
    assert.equal(answer.status, 303)
    const location = new URL(answer.headers.get('location') ?? '')
    assert.equal(location.origin + location.pathname, redirectUri)
    assert.deepEqual(Object.fromEntries(location.searchParams), { error: 'access_denied', state: asked.state })
    await assert.rejects(harbor.redeem(asked, answer), /access_denied|authorization response/)
  })

  it('a query of the redirect URI is kept', async () => {
    const asked = await harbor.ask()
    const fields = { ...asked.fields, redirect_uri: `${redirectUri}?tab=2` }
    const answer = await harbor.decide({ ...asked, fields }, allow)
    assert.equal(new URL(answer.headers.get('location') ?? '').searchParams.get('tab'), '2')
  })
})

describe('what a client must not ask at Harbor', () => {
  const ask = async (changed: Record<string, string>): Promise<Response> => {
    const { fields } = await harbor.ask()
    const query = new URLSearchParams({ ...fields, ...changed })
    return fetch(`${harbor.url}/oauth/authorize?${query.toString()}`, { redirect: 'manual' })
  }

  it('unknown clients, foreign or missing redirect URIs and missing challenges see a page and go nowhere', async () => {
    for (const changed of [
      { client_id: 'somebody' },
      { redirect_uri: 'https://127.0.0.1/callback' },
      { redirect_uri: 'http://evil.example/callback' },
      { redirect_uri: 'http://127.0.0.1.evil.example/' },
      { redirect_uri: 'http://127.0.0.1:4000/callback#part' },
      { redirect_uri: '' },
      { code_challenge: '' },
      { code_challenge: 'short' },
      { code_challenge_method: 'plain' },
    ]) {
      const answer = await ask(changed)
      assert.equal(answer.status, 400, JSON.stringify(changed))
      assert.equal(answer.headers.get('location'), null)
      assert.match(await answer.text(), /This sign-in cannot go on/)
    }
  })

  it('a parameter that is sent twice is refused (RFC 6749 §3.1)', async () => {
    const { fields } = await harbor.ask()
    const query = `${new URLSearchParams(fields).toString()}&state=again`
    assert.equal((await fetch(`${harbor.url}/oauth/authorize?${query}`)).status, 400)
  })

  it('other errors travel by redirect (RFC 6749 §4.1.2.1)', async () => {
    const errorOf = async (changed: Record<string, string>): Promise<string | null> =>
      new URL((await ask(changed)).headers.get('location') ?? '').searchParams.get('error')
    assert.equal(await errorOf({ response_type: 'token' }), 'unsupported_response_type')
    assert.equal(await errorOf({ scope: 'write' }), 'invalid_scope')
  })

  it('an account that is not there, and no decision, are answered with a page', async () => {
    const asked = await harbor.ask()
    assert.equal((await harbor.decide(asked, { account: 'nobody', decision: 'allow' })).status, 400)
    assert.equal((await harbor.decide(asked, { account: 'default' })).status, 400)
  })
})

describe("Harbor's token endpoint", () => {
  it('refuses a wrong verifier, redirect URI and secret, and the code stays good', async () => {
    const fields = await codeFields()
    const wrong = { ...fields, code_verifier: 'w'.repeat(43) }
    assert.deepEqual(await postToken(wrong), { status: 400, ...invalidGrant })
    assert.deepEqual(await postToken({ ...fields, redirect_uri: `${redirectUri}/` }), { status: 400, ...invalidGrant })
    const unknown = await postToken({ ...fields, client_secret: 'guess' })
    assert.deepEqual(unknown, { status: 401, error: 'invalid_client' })
    assert.deepEqual(await postToken(fields), { status: 200, error: undefined })
  })

  it('says what is missing or not known (RFC 6749 §5.2)', async () => {
    assert.equal((await postToken({})).error, 'invalid_request')
    assert.equal((await postToken({ grant_type: 'refresh_token' })).error, 'invalid_request')
    assert.equal((await postToken({ grant_type: 'password' })).error, 'unsupported_grant_type')
    assert.equal((await postToken({ grant_type: 'refresh_token', refresh_token: 'hr_x.y' })).error, 'invalid_grant')
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    assert.equal((await fetch(`${harbor.url}/oauth/token`, json)).status, 400)
  })

  it('a token is not a code, a refresh token not an access token, and a changed one is nothing', async () => {
    const { access_token, refresh_token = '' } = await harbor.signIn()
    assert.equal((await postToken({ ...(await codeFields()), code: refresh_token })).error, 'invalid_grant')
    assert.equal((await harbor.get(refresh_token, '/v1/me')).status, 401)
    assert.equal((await harbor.get(refresh_token.replace('hr_', 'ha_'), '/v1/me')).status, 401)
    for (const more of ['A', '.A', '.']) {
      assert.equal((await harbor.get(access_token + more, '/v1/me')).status, 401)
    }
  })

  it('a code that is presented again is refused, and its tokens end (RFC 6749 §4.1.2)', async () => {
    const asked = await harbor.ask()
    const answer = await harbor.decide(asked, allow)
    const first = await harbor.redeem(asked, answer)
    assert.equal((await harbor.get(first.access_token, '/v1/me')).status, 200)
    await assert.rejects(harbor.redeem(asked, answer), invalidGrant)
    assert.equal((await harbor.get(first.access_token, '/v1/me')).status, 401)
    await assert.rejects(harbor.refresh(first), invalidGrant)
  })

  it('a refresh token works once; a spent one ends the whole family, and no other (RFC 9700 §4.14.2)', async () => {
    const other = await harbor.signIn()
    const first = await harbor.signIn()
    const second = await harbor.refresh(first)
    assert.notEqual(second.refresh_token, first.refresh_token)
    assert.equal((await harbor.get(first.access_token, '/v1/me')).status, 200, 'until it expires')
    const third = await harbor.refresh(second)
    await assert.rejects(harbor.refresh(first), invalidGrant)
    for (const { access_token } of [first, second, third]) {
      assert.equal((await harbor.get(access_token, '/v1/me')).status, 401)
    }
    await assert.rejects(harbor.refresh(third), invalidGrant)
    assert.equal((await harbor.get(other.access_token, '/v1/me')).status, 200)
  })
})

describe('time at Harbor', () => {
  it('a code lives a minute and an access token an hour of the sandbox clock, whatever the pace', async () => {
    let nowMs = Date.UTC(2026, 10, 15)
    const own = await startSandbox({ seed: 's', pace: 'fast', log: () => undefined, now: () => nowMs })
    try {
      const client = openHarbor(own)
      const fields = await codeFields(client)
      nowMs += 60_000
      assert.equal((await postToken(fields, client)).error, 'invalid_grant')
      const tokens = await client.signIn()
      await control(own, 'POST', 'clock', { offset_ms: 3_599_999 })
      assert.equal((await client.get(tokens.access_token, '/v1/me')).status, 200)
      await control(own, 'POST', 'clock', { offset_ms: 3_600_000 })
      assert.equal((await client.get(tokens.access_token, '/v1/me')).status, 401)
      const { access_token } = await client.refresh(tokens)
      assert.equal((await client.get(access_token, '/v1/me')).status, 200)
    } finally {
      await own.close()
    }
  })
})

describe('after a restart of the sandbox', () => {
  it('codes and tokens of the same seed are good and single use goes on; another seed knows none', async () => {
    const tokens = await harbor.signIn('default:survivor')
    const asked = await harbor.ask()
    const answer = await harbor.decide(asked, allow)
    const [next, stranger] = [await startTestSandbox(), await startTestSandbox({ seed: 'another seed' })]
    try {
      const after = openHarbor(next)
      const before = await harbor.read<Me>(tokens.access_token, '/v1/me')
      assert.deepEqual(await after.read<Me>(tokens.access_token, '/v1/me'), before)
      assert.equal((await after.redeem(asked, answer)).scope, 'read')
      const refreshed = await after.refresh(tokens)
      await assert.rejects(after.refresh(tokens), invalidGrant)
      assert.equal((await after.get(refreshed.access_token, '/v1/me')).status, 401)
      assert.equal((await openHarbor(stranger).get(tokens.access_token, '/v1/me')).status, 401)
      await assert.rejects(openHarbor(stranger).refresh(tokens), invalidGrant)
    } finally {
      await Promise.all([next.close(), stranger.close()])
    }
  })
})
