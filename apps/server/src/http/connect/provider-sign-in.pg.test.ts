/**
 * Signing in at a provider with OAuth2, against the sandbox's Coinbase: in a session, and by an application.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { until } from '../../../../../test/until.ts'
import { testKeyTexts } from '../../test-keys.ts'
import { startConnect, type AddAnswer, type Problem, type TestBrowser } from './test-browser.ts'

interface Page<Item> {
  data: Item[]
}

describe('signing in at a provider', async () => {
  const { ASSAY_SERVER_KEYS: serverKeys, ASSAY_SEALING_PRIVATE_KEYS } = testKeyTexts('old', 'new')
  const connect = await startConnect({ settings: { ASSAY_SERVER_KEYS: serverKeys, ASSAY_SEALING_PRIVATE_KEYS } })
  const source = { provider_id: 'coinbase', connection: { type: 'oauth2' } }

  const entered = async (email: string): Promise<TestBrowser> => {
    const browser = await connect.beginConnectSession()
    await browser.enter(email)
    return browser
  }

  /** Does what a person does on the provider's page, and returns where the browser is sent. */
  async function decide(redirectUrl: string, decision: 'allow' | 'deny', account: string): Promise<URLSearchParams> {
    const page = new URL(redirectUrl)
    const body = new URLSearchParams([...page.searchParams, ['account', account], ['decision', decision]])
    page.search = ''
    const response = await fetch(page, { method: 'POST', body, redirect: 'manual' })
    const location = new URL(response.headers.get('location') ?? '')
    assert.equal(location.origin + location.pathname, `${connect.url}/connect/callback`)
    return location.searchParams
  }

  const begin = async (browser: TestBrowser, more: object = {}): Promise<string> => {
    const { body } = await browser.call<AddAnswer>('POST', '/session/connections', { ...source, ...more })
    assert.deepEqual([body.data.added, body.data.connection_id, body.data.status], [false, null, 'pending'])
    return body.data.redirect_url ?? ''
  }

  const complete = async (browser: TestBrowser, answer: URLSearchParams): Promise<AddAnswer> =>
    (await browser.call<AddAnswer>('POST', '/session/callback', Object.fromEntries(answer))).body

  async function ask<T>(
    token: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: T }> {
    const response = await fetch(connect.url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as T }
  }

  const untilActive = (email: string): Promise<true> =>
    until('the history was read', async () => {
      const rows = await connect.db.rows<{ status: string }>(
        'select c.status from connections c join users u on u.user_key = c.user_key where u.email = $1',
        [email],
      )
      return rows.length > 0 && rows.every(({ status }) => status === 'active') ? true : undefined
    })

  /** Its next run is queued. One that is queued while the clock is moved would not be brought forward. */
  const untilAtRest = (email: string): Promise<true> =>
    until('the next run was queued', async () => {
      const queued = await connect.db.rows(
        `select from graphile_worker._private_jobs j
         join connections c on j.key = 'sync:' || c.id join users u on u.user_key = c.user_key
         where u.email = $1 and j.locked_at is null and j.run_at > now() + interval '1 minute'`,
        [email],
      )
      return queued.length > 0 ? true : undefined
    })

  it('in a session it connects the account, and its data is read', async () => {
    const browser = await entered('coinbase@example.com')
    const redirectUrl = await begin(browser)
    const asked = new URL(redirectUrl).searchParams
    const scopes = (asked.get('scope') ?? '').split(',')
    assert.ok(
      scopes.every((scope) => scope === 'offline_access' || scope.endsWith(':read')),
      scopes.join(' '),
    )
    assert.equal(asked.get('code_challenge_method'), 'S256')
    const { data, errors } = await complete(browser, await decide(redirectUrl, 'allow', `default:${randomUUID()}`))
    assert.deepEqual([data.added, data.provider_id, errors], [true, 'coinbase', []])
    const { access_token: token } = await browser.redeem(await browser.finish())
    await untilActive('coinbase@example.com')
    const { body } = await ask<Page<{ provider_id: string; type: string }>>(token, 'GET', '/accounts/v2/transactions')
    assert.equal(body.data.length, 30)
    const types = (types: string) => ask<Page<object>>(token, 'GET', `/accounts/v2/transactions?types=${types}`)
    for (const type of ['send', 'receive', 'input_and_output', 'input_only']) {
      assert.notEqual((await types(type)).body.data.length, 0, type)
    }
  })

  it('renews expired tokens, and keeps them sealed', async () => {
    const browser = await entered('renewal@example.com')
    await complete(browser, await decide(await begin(browser), 'allow', `default:${randomUUID()}`))
    await browser.redeem(await browser.finish())
    await untilActive('renewal@example.com')
    const sealed = async (): Promise<string> =>
      (
        await connect.db.row<{ sealed: string }>(
          `select sealed_credentials as sealed from connections c join users u on u.user_key = c.user_key
         where u.email = 'renewal@example.com'`,
        )
      ).sealed
    const before = await sealed()
    await untilAtRest('renewal@example.com')
    await connect.moveClock(7_200)
    await until('the tokens were renewed', async () => ((await sealed()) === before ? undefined : true))
    const [head = ''] = (await sealed()).split('.')
    assert.match(Buffer.from(head, 'base64url').toString(), /"enc":"A256GCM"/)
  })

  it('400: a session that has ended accepts no answer from a provider, and stores nothing', async () => {
    const browser = await entered('ended@example.com')
    const answer = await decide(await begin(browser), 'allow', `empty:${randomUUID()}`)
    await browser.call('POST', '/session/decline')
    const late = await browser.call<Problem>('POST', '/session/callback', Object.fromEntries(answer))
    assert.deepEqual([late.status, late.body.errors[0]?.cause], [400, 'invalid_state'])
    const stored = `select from connections c join users u on u.user_key = c.user_key where u.email = 'ended@example.com'`
    assert.deepEqual(await connect.db.rows(stored), [])
  })

  it('401: a session that ends while a sign-in is being begun', async () => {
    const browser = await entered('ending@example.com')
    const waiting = `select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%provider_states%'`
    const { beginning } = await connect.db.transaction(async (tx) => {
      await tx.execute('delete from connect_sessions where id = $1', [browser.session.session_id])
      const beginning = browser.call<Problem>('POST', '/session/connections', source)
      await until('the sign-in waits', async () => ((await connect.db.rows(waiting)).length > 0 ? true : undefined))
      // Wrapped: its answer comes after this transaction.
      return { beginning }
    })
    const { status, body } = await beginning
    assert.deepEqual([status, body.detail], [401, 'This session is unknown or has expired.'])
  })

  it('a sign-in with the right to trade is refused, and nothing of it is kept', async () => {
    const browser = await entered('trader@example.com')
    const { data, errors } = await complete(browser, await decide(await begin(browser), 'allow', 'can_trade'))
    assert.deepEqual([data.added, data.connection_id, errors[0]?.cause], [false, null, 'excess_permission'])
    assert.match(errors[0]?.message ?? '', /^This sign-in allows more than reading: “wallet:[a-z:]+”/)
    assert.match(errors[0]?.fix ?? '', /^Sign in to Coinbase again and uncheck “wallet:[^”]+”.*\.$/)
  })

  it('a sign-in that the user declines at the provider is reported as declined, and nothing is kept', async () => {
    const browser = await entered('declined@example.com')
    const answer = await decide(await begin(browser), 'deny', 'default')
    const { data, errors } = await complete(browser, answer)
    assert.deepEqual([data.added, errors[0]?.cause], [false, 'missing_permission'])
    assert.match(errors[0]?.message ?? '', /did not allow it at Coinbase/)
  })

  it('a repair with another account is refused as account_mismatch; with the same account it keeps the id', async () => {
    const account = `empty:${randomUUID()}`
    const first = await entered('repair@example.com')
    const { data } = await complete(first, await decide(await begin(first), 'allow', account))
    await first.redeem(await first.finish())
    const again = await entered('repair@example.com')
    const repair = { connection_id: data.connection_id }
    const other = await complete(again, await decide(await begin(again, repair), 'allow', 'empty:other'))
    assert.equal(other.errors[0]?.cause, 'account_mismatch')
    const same = await complete(again, await decide(await begin(again, repair), 'allow', account))
    assert.deepEqual([same.data.added, same.data.connection_id], [true, data.connection_id])
  })

  describe('by an application', async () => {
    const redirectUri = 'http://127.0.0.1:4100/callback'
    const tokenOf = async (email: string): Promise<string> => {
      const browser = await entered(email)
      return (await browser.redeem(await browser.finish())).access_token
    }
    const forward = async (answer: URLSearchParams): Promise<URL> => {
      const { body } = await connect.call<{ redirect_to: string }>('POST', '/provider-answers', {
        body: Object.fromEntries(answer),
      })
      return new URL(body.redirect_to)
    }
    const beginV2 = async (token: string, more: object = {}): Promise<string> => {
      const body = { ...source, connection: { ...source.connection, ...more } }
      const answer = await ask<AddAnswer>(token, 'POST', '/accounts/v2/providers', body)
      assert.deepEqual([answer.status, answer.body.data.added, answer.body.data.status], [200, false, 'pending'])
      return answer.body.data.redirect_url ?? ''
    }
    const callback = '/accounts/v2/oauth/callback/coinbase'

    it('200: its user comes back with a handle, which completes once and only for that user', async () => {
      const token = await tokenOf('app-user@example.com')
      const provider = await decide(await beginV2(token, { redirect_uri: redirectUri }), 'allow', 'empty:v2')
      const back = await forward(provider)
      assert.equal(back.origin + back.pathname, redirectUri)
      const [code, state] = [back.searchParams.get('code') ?? '', back.searchParams.get('state') ?? '']
      assert.notEqual(code, provider.get('code'))

      const refused = async (by: string, body: object, path = callback): Promise<void> => {
        const answer = await ask<Problem>(by, 'POST', path, body)
        assert.deepEqual([answer.status, answer.body.errors[0]?.cause], [400, 'invalid_state'])
      }
      await refused(await tokenOf('somebody-else@example.com'), { code, state })
      await refused(token, { code: provider.get('code'), state })
      await refused(token, { code, state }, '/accounts/v2/oauth/callback/kraken')
      const done = await ask<AddAnswer>(token, 'POST', callback, { code, state })
      assert.deepEqual([done.status, done.body.data.added], [200, true])
      await refused(token, { code, state })
    })

    it('the registered address of the application keeps every byte, whether the person agrees or declines', async () => {
      const token = await tokenOf('app-query@example.com')
      const registered = 'http://127.0.0.1:4100/callback?next=a%20b~c'
      const change = (how: string): Promise<number> =>
        connect.db.execute(`update clients set redirect_uris = ${how}(redirect_uris, $1) where id = 'cli_demo'`, [
          registered,
        ])
      await change('array_append')
      try {
        for (const decision of ['allow', 'deny'] as const) {
          const begun = await beginV2(token, { redirect_uri: registered })
          const answer = Object.fromEntries(await decide(begun, decision, 'empty:query'))
          const { body } = await connect.call<{ redirect_to: string }>('POST', '/provider-answers', { body: answer })
          assert.equal(body.redirect_to.slice(0, registered.length + 1), `${registered}&`, decision)
        }
      } finally {
        await change('array_remove')
      }
    })

    it('200: v1 begins and completes the same way', async () => {
      const token = await tokenOf('app-v1@example.com')
      const body = { crypto_source_id: 'coinbase', connection: { type: 'oauth2' } }
      const begun = await ask<{ redirect_url: string; added: boolean }>(token, 'POST', '/platform/v1/provider', body)
      const back = await forward(await decide(begun.body.redirect_url, 'allow', 'empty:v1'))
      const done = await ask<{ added: boolean; crypto_source_id: string }>(
        token,
        'GET',
        `/platform/v1/oauth/callback/coinbase${back.search}`,
      )
      assert.deepEqual([done.status, done.body.added, done.body.crypto_source_id], [200, true, 'coinbase'])
    })

    it('the application is named to the page once, and never for a sign-in of a session', async () => {
      const askerOf = async (url: string): Promise<unknown> => {
        const state = new URL(url).searchParams.get('state')
        const { body } = await connect.call<{ asker: unknown }>('POST', '/provider-askers', { body: { state } })
        return body.asker
      }
      const token = await tokenOf('app-named@example.com')
      const begun = await beginV2(token)
      const { client, tenant, provider_name } = (await askerOf(begun)) as {
        client: { client_id: string; name: string }
        tenant: { name: string }
        provider_name: string
      }
      assert.deepEqual([client.client_id, tenant.name, provider_name], ['cli_demo', 'Sandbox', 'Coinbase'])
      await forward(await decide(begun, 'allow', 'empty:named'))
      assert.equal(await askerOf(begun), null, 'it has its answer')
      assert.equal(await askerOf(await begin(await entered('unnamed@example.com'))), null)
      assert.equal(await askerOf('http://127.0.0.1/?state=unknown'), null)
      const ended = await beginV2(token)
      await connect.db.execute(`update grants set revoked_at = $1 where revoked_at is null`, [connect.db.now()])
      assert.equal(await askerOf(ended), null, 'its consent has ended')
    })

    it('a person who declines comes back with access_denied, and the sign-in is over', async () => {
      const token = await tokenOf('app-declined@example.com')
      const provider = await decide(await beginV2(token), 'deny', 'empty')
      const back = await forward(provider)
      assert.equal(back.searchParams.get('error'), 'access_denied')
      const again = await connect.call<{ redirect_to: null }>('POST', '/provider-answers', {
        body: { code: 'c', state: provider.get('state') },
      })
      assert.equal(again.body.redirect_to, null)
    })

    it('400: an address that the client did not register, and a provider without a sign-in', async () => {
      const token = await tokenOf('app-wrong@example.com')
      const elsewhere = { ...source, connection: { type: 'oauth2', redirect_uri: 'https://evil.example/callback' } }
      const wrong = await ask<Problem>(token, 'POST', '/accounts/v2/providers', elsewhere)
      assert.deepEqual([wrong.status, wrong.body.errors[0]?.parameter], [400, 'connection.redirect_uri'])
      const kraken = await ask<Problem>(token, 'POST', '/accounts/v2/providers', { ...source, provider_id: 'kraken' })
      assert.deepEqual([kraken.status, kraken.body.errors[0]?.cause], [400, 'unsupported_connection_type'])
    })
  })

  /** At another process of the same installation. */
  async function completeAt<T>(
    url: string,
    { secret }: TestBrowser,
    answer: URLSearchParams,
  ): Promise<{ status: number; body: T }> {
    const response = await fetch(`${url}/connect/v1/session/callback`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(Object.fromEntries(answer)),
    })
    return { status: response.status, body: (await response.json()) as T }
  }

  it('key rotation: a sign-in that began with the old key completes where the new key comes first', async (t) => {
    const { ASSAY_SERVER_KEYS } = testKeyTexts('new', 'old')
    const browser = await entered('rotation@example.com')
    const rotated = await connect.startBeside(t, { ASSAY_SERVER_KEYS })
    const answer = await decide(await begin(browser), 'allow', 'empty:rotation')
    const { status, body } = await completeAt<AddAnswer>(rotated, browser, answer)
    assert.deepEqual([status, body.data.added, body.errors], [200, true, []])
  })

  it('key rotation: a sign-in whose key is gone is refused, and asks the provider nothing', async (t) => {
    const { ASSAY_SERVER_KEYS } = testKeyTexts('new')
    // Its worker has no key for the code of the email, so it is started after that.
    const browser = await entered('rotated-away@example.com')
    const rotated = await connect.startBeside(t, { ASSAY_SERVER_KEYS })
    const answer = await decide(await begin(browser), 'allow', 'empty:rotated-away')
    const { status, body } = await completeAt<Problem>(rotated, browser, answer)
    assert.deepEqual([status, body.errors[0]?.cause], [400, 'invalid_state'])
  })

  it('the sandbox’s one-call authorization signs in as a person would', async () => {
    const browser = await connect.beginConnectSession()
    const response = await fetch(`${connect.url}/sandbox/authorizations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_id: 'cli_demo',
        code_challenge: browser.verifier,
        code_challenge_method: 'plain',
        state: browser.state,
        user: 'coinbase',
        providers: [
          { provider_id: 'coinbase', scenario: 'empty' },
          { provider_id: 'coinbase', scenario: 'can_trade' },
        ],
      }),
    })
    const { connections } = (await response.json()) as { connections: { added: boolean }[] }
    assert.deepEqual(
      connections.map(({ added }) => added),
      [true, false],
    )
  })
})
