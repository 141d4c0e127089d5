import { hourMs } from '@assay/core'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import {
  openSignIn,
  readEverything,
  redirectUri,
  startCoinbase,
  type SignInClient,
  type TestClock,
} from '../../testing/coinbase-client.ts'
import { control } from '../../testing/kraken-client.ts'

let sandbox: Sandbox
let clock: TestClock
let coinbase: SignInClient
before(async () => {
  ;({ sandbox, clock } = await startCoinbase())
  coinbase = openSignIn(sandbox)
})
after(() => sandbox.close())

const allow = { account: 'default', decision: 'allow' }
const invalidGrant = { error: 'invalid_grant' }

async function codeFields(): Promise<Record<string, string>> {
  const asked = await coinbase.ask()
  const answer = await coinbase.decide(asked, allow)
  return {
    grant_type: 'authorization_code',
    code: new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? '',
    redirect_uri: redirectUri,
    code_verifier: asked.verifier,
  }
}

async function postToken(fields: Record<string, string>): Promise<{ status: number; body: Record<string, unknown> }> {
  const body = new URLSearchParams({ client_id: 'assay-sandbox', client_secret: 'coinbase-client-secret', ...fields })
  const response = await fetch(`${sandbox.urls.coinbase}/oauth2/token`, { method: 'POST', body })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function errorIdOf(response: Response): Promise<[number, string | undefined]> {
  const { errors } = (await response.json()) as { errors: { id: string }[] }
  return [response.status, errors[0]?.id]
}

describe('signing in at Coinbase with oauth4webapi', () => {
  // https://docs.cdp.coinbase.com/coinbase-app/oauth2-integration/reference: these fields, a type "bearer", an hour.
  it('returns what is documented, and a token reads what was granted', async () => {
    const tokens = await coinbase.signIn('default:first')
    assert.deepEqual(Object.keys(tokens), ['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope'])
    assert.deepEqual([tokens.token_type, tokens.expires_in, tokens.scope], ['bearer', 3_600, readEverything])
    for (const path of ['/v2/user', '/v2/accounts', '/v2/accounts/XRP/transactions']) {
      assert.equal((await coinbase.get(tokens.access_token, path)).status, 200, path)
    }
    const auth = (await (await coinbase.get(tokens.access_token, '/v2/user/auth')).json()) as { data: object }
    assert.deepEqual(auth.data, { method: 'oauth', scopes: readEverything.split(' '), oauth_meta: {} })
  })

  it('opens the account of the key', async () => {
    const { access_token } = await coinbase.signIn('default:same')
    const { data } = (await (await coinbase.get(access_token, '/v2/user')).json()) as { data: { id: string } }
    const body = { provider_id: 'coinbase', scenario: 'default', account: 'same' }
    const { account_id: id } = (await control(sandbox, 'POST', 'accounts', body)) as { account_id: string }
    const state = (await control(sandbox, 'GET', `accounts/${id}/state`)) as { public_account_id: string }
    assert.equal(data.id, state.public_account_id)
  })

  it('scopes may be separated by commas; without offline_access there is no refresh token', async () => {
    const { scope, refresh_token } = await coinbase.signIn('default', 'wallet:accounts:read,wallet:user:read')
    assert.deepEqual([scope, refresh_token], ['wallet:accounts:read wallet:user:read', undefined])
  })

  it('the person unchecks a scope: 403 where it is needed, and /v2/user/auth says what is left', async () => {
    const asked = await coinbase.ask()
    const grants = ['wallet:accounts:read', 'offline_access', 'wallet:trades:create']
    const answer = await coinbase.decide(asked, { ...allow, choices: '1' }, grants)
    const { access_token, scope } = await coinbase.redeem(asked, answer)
    assert.equal(scope, 'wallet:accounts:read offline_access', 'nothing that was not asked for')
    assert.equal((await coinbase.get(access_token, '/v2/accounts')).status, 200)
    assert.deepEqual(await errorIdOf(await coinbase.get(access_token, '/v2/accounts/XRP/transactions')), [
      403,
      'invalid_scope',
    ])
    const { data } = (await (await coinbase.get(access_token, '/v2/user/auth')).json()) as {
      data: { scopes: string[] }
    }
    assert.deepEqual(data.scopes, ['wallet:accounts:read', 'offline_access'])
    const user = (await (await coinbase.get(access_token, '/v2/user')).json()) as { data: object }
    assert.ok(!('native_currency' in user.data), 'the public part only')
  })

  it('a person who declines comes back with access_denied and the state', async () => {
    const asked = await coinbase.ask()
    const answer = await coinbase.decide(asked, { decision: 'deny' })
    const location = new URL(answer.headers.get('location') ?? '')
    assert.equal(location.origin + location.pathname, redirectUri)
    assert.deepEqual(Object.fromEntries(location.searchParams), { error: 'access_denied', state: asked.state })
    await assert.rejects(coinbase.redeem(asked, answer), /access_denied|authorization response/)
  })

  it('a key’s permissions hold for tokens too', async () => {
    const tokens = await coinbase.signIn('can_trade')
    assert.equal(tokens.scope, `${readEverything} wallet:trades:create wallet:transactions:send`)
    await assert.rejects(coinbase.signIn('invalid_credentials'), invalidGrant)
    const response = await coinbase.get(tokens.access_token, '/api/v3/brokerage/key_permissions')
    assert.equal(response.status, 403)
  })
})

describe('requests that Coinbase refuses', () => {
  const ask = async (changed: Record<string, string>, without: readonly string[] = []): Promise<Response> => {
    const { fields } = await coinbase.ask()
    const query = new URLSearchParams({ ...fields, ...changed })
    for (const name of without) query.delete(name)
    return fetch(`${sandbox.urls.coinbase}/oauth2/auth?${query.toString()}`, { redirect: 'manual' })
  }
  const errorOf = (response: Response): string | null =>
    new URL(response.headers.get('location') ?? '').searchParams.get('error')

  it('an unknown client or a redirect URI that is not registered sees a page and goes nowhere', async () => {
    for (const changed of [
      { client_id: 'somebody' },
      { redirect_uri: 'https://127.0.0.1/callback' },
      { redirect_uri: 'http://evil.example/callback' },
      { redirect_uri: 'http://127.0.0.1.evil.example/' },
      { redirect_uri: 'http://127.0.0.1:4000/callback#part' },
      { redirect_uri: '' },
    ]) {
      const response = await ask(changed)
      assert.deepEqual([response.status, response.headers.get('location')], [400, null], JSON.stringify(changed))
      assert.match(await response.text(), /This sign-in cannot go on/)
    }
    const { fields } = await coinbase.ask()
    const twice = `${new URLSearchParams(fields).toString()}&state=again-and-again`
    assert.equal((await fetch(`${sandbox.urls.coinbase}/oauth2/auth?${twice}`)).status, 400)
  })

  it('other errors travel by redirect; a state has at least eight characters', async () => {
    assert.equal(errorOf(await ask({ response_type: 'token' })), 'unsupported_response_type')
    assert.equal(errorOf(await ask({ scope: 'wallet:everything' })), 'invalid_scope')
    assert.equal(errorOf(await ask({ state: 'short' })), 'invalid_state')
    assert.equal(errorOf(await ask({ code_challenge: 'short' })), 'invalid_request')
    assert.equal(errorOf(await ask({ code_challenge_method: 'S512' })), 'invalid_request')
  })

  it('PKCE and state may be left out, as at Coinbase; a method that is not named is plain', async () => {
    assert.equal((await ask({}, ['code_challenge', 'code_challenge_method', 'state'])).status, 200)
    const verifier = 'v'.repeat(43)
    const asked = await coinbase.ask()
    const fields: Record<string, string> = { ...asked.fields, code_challenge: verifier }
    delete fields['code_challenge_method']
    const answer = await coinbase.decide({ ...asked, fields }, allow)
    assert.equal((await coinbase.redeem({ ...asked, verifier }, answer)).token_type, 'bearer')
  })
})

describe('the token endpoint', () => {
  it('refuses a wrong or missing verifier, a wrong redirect URI and a wrong secret, and the code stays valid', async () => {
    const fields = await codeFields()
    const { code_verifier: verifier = '', ...bare } = fields
    for (const wrong of [
      { ...fields, code_verifier: 'w'.repeat(43) },
      bare,
      { ...fields, redirect_uri: `${redirectUri}/` },
    ]) {
      const { status, body } = await postToken(wrong)
      assert.deepEqual(
        [status, body['error'], Object.keys(body)],
        [400, 'invalid_grant', ['error', 'error_description']],
      )
    }
    const unknown = await postToken({ ...fields, client_secret: 'guess' })
    assert.deepEqual([unknown.status, unknown.body['error']], [401, 'invalid_client'])
    assert.equal((await postToken({ ...bare, code_verifier: verifier })).status, 200)
  })

  it('names what is missing or unknown (RFC 6749 §5.2)', async () => {
    const errorOf = async (fields: Record<string, string>): Promise<unknown> => (await postToken(fields)).body['error']
    assert.equal(await errorOf({}), 'invalid_request')
    assert.equal(await errorOf({ grant_type: 'refresh_token' }), 'invalid_request')
    assert.equal(await errorOf({ grant_type: 'password' }), 'unsupported_grant_type')
    assert.equal(await errorOf({ grant_type: 'refresh_token', refresh_token: 'x' }), 'invalid_grant')
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    assert.equal((await fetch(`${sandbox.urls.coinbase}/oauth2/token`, json)).status, 400)
  })

  it('a code works once; presented again, its tokens end (RFC 6749 §4.1.2)', async () => {
    const asked = await coinbase.ask()
    const answer = await coinbase.decide(asked, allow)
    const first = await coinbase.redeem(asked, answer)
    await assert.rejects(coinbase.redeem(asked, answer), invalidGrant)
    assert.deepEqual(await errorIdOf(await coinbase.get(first.access_token, '/v2/user')), [401, 'revoked_token'])
  })

  it('a refresh token works once; a spent one ends the whole family, and no other', async () => {
    const other = await coinbase.signIn()
    const first = await coinbase.signIn()
    const second = await coinbase.refresh(first)
    assert.notEqual(second.refresh_token, first.refresh_token)
    const third = await coinbase.refresh(second)
    const reused = await postToken({ grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' })
    assert.deepEqual([reused.status, reused.body['error']], [401, 'invalid_grant'])
    for (const { access_token } of [first, second, third]) {
      assert.deepEqual(await errorIdOf(await coinbase.get(access_token, '/v2/user')), [401, 'revoked_token'])
    }
    await assert.rejects(coinbase.refresh(third), invalidGrant)
    assert.equal((await coinbase.get(other.access_token, '/v2/user')).status, 200)
  })

  it('a token does not work as a code, a refresh token not as an access token, and an altered one not at all', async () => {
    const { access_token, refresh_token = '' } = await coinbase.signIn()
    assert.equal((await postToken({ ...(await codeFields()), code: refresh_token })).body['error'], 'invalid_grant')
    for (const token of [refresh_token, refresh_token.replace('cbr_', 'cba_'), `${access_token}A`]) {
      assert.deepEqual(await errorIdOf(await coinbase.get(token, '/v2/user')), [401, 'invalid_token'])
    }
  })

  it('revoke: 200 whatever was sent, and everything of the sign-in ends', async () => {
    const tokens = await coinbase.signIn()
    await coinbase.revoke('nonsense')
    await coinbase.revoke(tokens.access_token)
    assert.deepEqual(await errorIdOf(await coinbase.get(tokens.access_token, '/v2/user')), [401, 'revoked_token'])
    await assert.rejects(coinbase.refresh(tokens), invalidGrant)
  })
})

describe('time at Coinbase', () => {
  it('a code lives ten minutes, an access token an hour, a refresh token a year and a half', async () => {
    const fields = await codeFields()
    clock.nowMs += 600_000
    assert.equal((await postToken(fields)).body['error'], 'invalid_grant')
    const tokens = await coinbase.signIn()
    clock.nowMs += hourMs - 1
    assert.equal((await coinbase.get(tokens.access_token, '/v2/user')).status, 200)
    clock.nowMs += 1
    assert.deepEqual(await errorIdOf(await coinbase.get(tokens.access_token, '/v2/user')), [401, 'expired_token'])
    clock.nowMs += 1.5 * 365 * 24 * hourMs - hourMs - 1
    const again = await coinbase.refresh(tokens)
    clock.nowMs += 1.5 * 365 * 24 * hourMs
    const late = await postToken({ grant_type: 'refresh_token', refresh_token: again.refresh_token ?? '' })
    assert.deepEqual([late.status, late.body['error']], [401, 'invalid_grant'])
  })
})

describe('after a restart of the sandbox', () => {
  it('tokens of the same seed stay valid and single-use; another seed accepts none', async () => {
    const tokens = await coinbase.signIn('default:survivor')
    const now = (): number => clock.nowMs
    const [next, stranger] = [await startCoinbase({ now }), await startCoinbase({ now, seed: 'another seed' })]
    try {
      const later = openSignIn(next.sandbox)
      assert.equal((await later.get(tokens.access_token, '/v2/user')).status, 200)
      await later.refresh(tokens)
      await assert.rejects(later.refresh(tokens), invalidGrant)
      const elsewhere = openSignIn(stranger.sandbox)
      assert.deepEqual(await errorIdOf(await elsewhere.get(tokens.access_token, '/v2/user')), [401, 'invalid_token'])
    } finally {
      await Promise.all([next.sandbox.close(), stranger.sandbox.close()])
    }
  })
})

describe('what the control API does to a sign-in', () => {
  it('revoked: every token ends, and signing in again starts fresh; without view nothing can be read', async () => {
    const { access_token } = await coinbase.signIn('default:ended')
    const body = { provider_id: 'coinbase', scenario: 'default', account: 'ended' }
    const { account_id: id } = (await control(sandbox, 'POST', 'accounts', body)) as { account_id: string }
    await control(sandbox, 'POST', `accounts/${id}/key`, { revoked: true })
    assert.deepEqual(await errorIdOf(await coinbase.get(access_token, '/v2/user')), [401, 'revoked_token'])
    const again = await coinbase.signIn('default:ended')
    assert.equal((await coinbase.get(again.access_token, '/v2/accounts')).status, 200)
    await control(sandbox, 'POST', `accounts/${id}/key`, { permissions: [] })
    assert.deepEqual(await errorIdOf(await coinbase.get(again.access_token, '/v2/accounts')), [403, 'invalid_scope'])
  })
})
