/**
 * Attacks on the connect flow (RFC 9700 and RFC 6819), each refused. Those on codes and tokens are tested with the
 * token endpoint; login_token replay, mail bombing and open redirects beside their rules.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { createTenants } from '../../tenants/index.ts'
import { startConnect, toQuery, type Problem, type TestBrowser } from './test-browser.ts'

describe('attacks on the connect flow', async () => {
  const lines: string[] = []
  const connect = await startConnect({ logTo: (line) => void lines.push(line), settings: { ASSAY_LOG_LEVEL: 'debug' } })
  const entered = async (email: string): Promise<TestBrowser> => {
    const browser = await connect.beginConnectSession()
    await browser.enter(email)
    return browser
  }

  describe('session fixation', () => {
    it('a secret that the server did not issue is refused', async () => {
      const chosen = randomBytes(32).toString('base64url')
      const query = toQuery('v'.repeat(43), randomUUID(), { session_secret: chosen })
      const begun = await connect.call<{ session_secret: string }>('POST', '/session', {
        secret: chosen,
        body: { query },
      })
      assert.equal(begun.status, 200)
      assert.notEqual(begun.body.session_secret, chosen)
      assert.equal((await connect.call('GET', '/session', { secret: chosen })).status, 401)
    })

    it('a session never changes its user', async () => {
      const browser = await connect.beginConnectSession()
      await browser.signIn('first-user@example.com')
      assert.equal((await browser.call('POST', '/session/email', { email: 'second@example.com' })).status, 400)
      assert.equal((await browser.call('POST', '/session/code', { code: '123456' })).status, 400)
      assert.equal((await browser.read()).user?.email, 'first-user@example.com')
    })

    it('a secret in the URL or in a body is ignored', async () => {
      const { secret } = await connect.beginConnectSession()
      const inUrl = await fetch(`${connect.url}/connect/v1/session?access_token=${secret}`)
      assert.equal(inUrl.status, 401)
      const inBody = await connect.call('POST', '/session/consent', { body: { session_secret: secret } })
      assert.equal(inBody.status, 401)
    })
  })

  describe('state fixation at a provider', () => {
    const answerOf = async (browser: TestBrowser, state: string): Promise<[number, string | undefined]> => {
      const { status, body } = await browser.call<Problem>('POST', '/session/callback', { code: 'c', state })
      return [status, body.errors[0]?.cause]
    }
    const issue = async (browser: TestBrowser): Promise<string> => {
      const source = { provider_id: 'coinbase', connection: { type: 'oauth2' } }
      const { body } = await browser.call<{ data: { redirect_url: string } }>('POST', '/session/connections', source)
      return new URL(body.data.redirect_url).searchParams.get('state') ?? ''
    }

    it('a state of another session is refused with invalid_state, and the attempt does not use it up', async () => {
      const victim = await entered('victim@example.com')
      const attacker = await entered('attacker@example.com')
      const state = await issue(victim)
      assert.deepEqual(await answerOf(attacker, state), [400, 'invalid_state'])
      // The rightful session gets as far as the provider, which does not know the code.
      assert.deepEqual(await answerOf(victim, state), [200, 'invalid_credentials'])
    })

    it('a state works once, and for ten minutes', async () => {
      const browser = await entered('state@example.com')
      const state = await issue(browser)
      assert.deepEqual(await answerOf(browser, state), [200, 'invalid_credentials'])
      assert.deepEqual(await answerOf(browser, state), [400, 'invalid_state'])
      const late = await issue(browser)
      await connect.moveClock(601)
      assert.deepEqual(await answerOf(browser, late), [400, 'invalid_state'])
    })

    it('the provider’s answer is not forwarded to a caller outside its session', async () => {
      const browser = await entered('forward@example.com')
      const state = await issue(browser)
      const forwarded = await connect.call<{ redirect_to: string | null }>('POST', '/provider-answers', {
        body: { code: 'c', state },
      })
      assert.deepEqual([forwarded.status, forwarded.body.redirect_to], [200, null])
      assert.deepEqual(await answerOf(browser, state), [200, 'invalid_credentials'])
    })
  })

  describe('CSRF', () => {
    it('there are no cookies, so a form on another site cannot act for a user', async () => {
      const browser = await entered('csrf@example.com')
      const form = await fetch(`${connect.url}/connect/v1/session/finish`, {
        method: 'POST',
        headers: { origin: 'https://evil.example' },
        body: new URLSearchParams({ session_secret: browser.secret }),
      })
      assert.equal(form.status, 401)
      const begun = await connect.call('POST', '/session', { body: { query: toQuery('v'.repeat(43), randomUUID()) } })
      assert.equal(begun.headers.get('set-cookie'), null)
    })

    it('a body that a form can send is refused, even with a secret', async () => {
      const browser = await entered('csrf-body@example.com')
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
        const response = await fetch(`${connect.url}/connect/v1/session/decline`, {
          method: 'POST',
          headers: { authorization: `Bearer ${browser.secret}`, 'content-type': type },
          body: '{}',
        })
        assert.equal(response.status, 415, type)
      }
    })

    it('pages of other origins cannot read an answer; the widget’s can', async () => {
      const preflight = (origin: string): Promise<Response> =>
        fetch(`${connect.url}/connect/v1/session`, {
          method: 'OPTIONS',
          headers: {
            origin,
            'access-control-request-method': 'GET',
            'access-control-request-headers': 'authorization',
          },
        })
      const foreign = await preflight('https://evil.example')
      assert.equal(foreign.headers.get('access-control-allow-origin'), null)
      const own = await preflight(connect.url)
      assert.equal(own.headers.get('access-control-allow-origin'), connect.url)
      assert.equal(own.headers.get('access-control-allow-credentials'), null)
    })
  })

  it('clickjacking: no answer of the API may be shown in a frame', async () => {
    const { headers } = await connect.call('GET', '/session')
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
  })

  describe('open redirect', () => {
    const tricks = [
      'https://evil.example/callback',
      'http://127.0.0.1:4100/callback/../evil',
      'http://127.0.0.1:4100/callback?next=https://evil.example',
      'http://127.0.0.1:4100@evil.example/callback',
      'http://localhost:4100/callback',
      'http://127.0.0.1:4101/callback',
      'HTTP://127.0.0.1:4100/callback',
      'http://127.0.0.1:4100/callback#x',
      '//evil.example',
      'javascript:alert(1)',
    ]
    for (const uri of tricks) {
      it(`${uri} is not redirected to, not even when the request has another mistake`, async () => {
        for (const more of [{}, { state: 'not a uuid' }, { response_type: 'token' }]) {
          const query = toQuery('v'.repeat(43), randomUUID(), { redirect_uri: uri, ...more })
          const answer = await connect.call<{ redirect_to?: string }>('POST', '/session', { body: { query } })
          assert.equal(answer.status, 400)
          assert.equal(answer.body.redirect_to, undefined)
        }
      })
    }
  })

  it('a redirect URI that the operator has removed gets no code of a session that began before', async () => {
    const tenants = createTenants({ db: connect.db })
    const [kept, removed] = ['https://app.example/kept', 'https://app.example/removed']
    const { tenantId } = await tenants.getClient('cli_demo')
    const registration = { name: 'Moved', redirectUris: [kept, removed], scopes: ['assets:read'] as const }
    const { client } = await tenants.createClient(tenantId, registration)
    const register = (redirectUris: string[]) => tenants.updateClient(client.clientId, { redirectUris })
    const browser = await connect.beginConnectSession({ client_id: client.clientId, redirect_uri: removed })
    await browser.enter('moved@example.com')
    const refusal = { status: 400, detail: 'redirect_uri is no longer registered for this client' }
    const finish = async () => {
      const { status, body } = await browser.call<{ detail?: string }>('POST', '/session/finish', {})
      return { status, detail: body.detail }
    }
    await register([kept])
    assert.deepEqual(await finish(), refusal)
    // Nothing was lost: the operator can correct a mistake.
    await register([kept, removed])
    assert.equal((await finish()).status, 200)
    await register([kept])
    assert.deepEqual(await finish(), refusal, 'nor another code in place of the first')
  })

  it('a client that the operator has disabled gets no consent, no key and no code of a session that began before', async () => {
    const tenants = createTenants({ db: connect.db })
    const { tenantId } = await tenants.getClient('cli_demo')
    const registration = { name: 'Fraud', redirectUris: ['https://fraud.example/'], scopes: ['assets:read'] as const }
    const { client } = await tenants.createClient(tenantId, registration)
    const begin = () => connect.beginConnectSession({ client_id: client.clientId })
    const [early, late] = [await begin(), await begin()]
    await early.signIn('early@example.com')
    await late.enter('late@example.com')
    await tenants.disableClient(client.clientId)
    const key = { provider_id: 'kraken', connection: { type: 'api_key', api_key: 'a', secret_key: 'b' } }
    assert.equal((await early.call('POST', '/session/consent', {})).status, 401)
    assert.equal((await late.call('POST', '/session/connections', key)).status, 401)
    assert.equal((await late.call('POST', '/session/finish', {})).status, 401)
    assert.equal((await late.call('POST', '/session/decline', {})).status, 200)
  })

  describe('reading across sessions and users', () => {
    it('none of the three kinds of secrets works in place of another', async () => {
      const browser = await entered('kinds@example.com')
      const manage = await connect.call<{ session_secret: string }>('POST', '/me/session', {
        body: { client_id: 'cli_demo' },
      })
      const managing = manage.body.session_secret
      const { access_token: token } = await browser.redeem(await browser.finish())
      const second = await entered('kinds@example.com')
      assert.equal((await connect.call('GET', '/session', { secret: token })).status, 401)
      assert.equal((await connect.call('GET', '/session', { secret: managing })).status, 401)
      assert.equal((await connect.call('GET', '/me', { secret: token })).status, 401)
      assert.equal((await connect.call('GET', '/me', { secret: second.secret })).status, 401)
      for (const secret of [second.secret, managing]) {
        const response = await fetch(`${connect.url}/accounts/v2/providers`, {
          headers: { authorization: `Bearer ${secret}` },
        })
        assert.equal(response.status, 401)
      }
    })

    it('a connection of another session is a 404, for another user and for the same user', async () => {
      const owner = await entered('owner-of-it@example.com')
      const { data } = await owner.add(await connect.mintKey('empty'))
      const path = `/session/connections/${data.connection_id}`
      for (const email of ['someone@example.com', 'owner-of-it@example.com']) {
        const other = await entered(email)
        assert.equal((await other.call('DELETE', path)).status, 404)
        assert.equal((await other.read()).connections.length, 0)
      }
      assert.equal((await owner.read()).connections.length, 1)
    })

    it('an unfinished session is offered only to its own user and client', async () => {
      const left = await entered('left@example.com')
      await left.add(await connect.mintKey('empty'))
      const stranger = await connect.beginConnectSession()
      assert.equal((await stranger.signIn('stranger@example.com')).unfinished, null)
      const taken = await stranger.call('POST', '/session/resume', { session_id: left.session.session_id })
      assert.equal(taken.status, 404)
      assert.equal((await left.read()).connections.length, 1)
    })

    it('a session cannot resume itself, nor one that is finished or declined', async () => {
      const browser = await entered('self@example.com')
      const finished = await entered('self@example.com')
      await finished.finish()
      const declined = await entered('self@example.com')
      await declined.call('POST', '/session/decline', {})
      for (const { session } of [browser, finished, declined]) {
        const answer = await browser.call('POST', '/session/resume', { session_id: session.session_id })
        assert.equal(answer.status, 404)
      }
    })
  })

  describe('bad input', () => {
    const bodies: [string, unknown][] = [
      ['nothing', undefined],
      ['null', null],
      ['a list', []],
      ['a number', 7],
      ['another kind', { query: 7 }],
      ['an unknown field', { query: '', debug: true }],
      ['too long', { query: 'x'.repeat(8_193) }],
      ['a NUL', { query: 'client_id=cli_demo%00' }],
      ['half a surrogate', { query: '\ud800' }],
    ]
    for (const [name, body] of bodies) {
      it(`POST /session with ${name} is a 400 that says what is wrong`, async () => {
        const answer = await connect.call<Problem>('POST', '/session', { body: body === undefined ? '' : body })
        assert.equal(answer.status, 400)
        assert.equal(answer.headers.get('content-type'), 'application/problem+json')
        assert.ok(answer.body.detail.length > 5)
      })
    }

    it('a query parameter is refused, and a path with a NUL is a 404', async () => {
      const { secret } = await entered('input@example.com')
      const asked = await fetch(`${connect.url}/connect/v1/session?debug=1`, {
        headers: { authorization: `Bearer ${secret}` },
      })
      assert.equal(asked.status, 400)
      const path = '/session/connections/con_%00'
      assert.equal((await connect.call('DELETE', path, { secret })).status, 404)
    })
  })

  describe('what the flow leaves behind', () => {
    it('log injection: user input cannot start a new log line, and the log contains no secret', async () => {
      lines.length = 0
      const browser = await connect.beginConnectSession({ utm: 'x\n{"level":"error","message":"forged"}' })
      await browser.call('POST', '/session/email', { email: 'a\n{"level":"error"}@example.com' })
      await browser.enter('log@example.com')
      const key = await connect.mintKey('empty')
      const forged = '{"level":"error","message":"forged"}'
      const { status } = await browser.call('POST', '/session/connections', {
        provider_id: 'kraken',
        connection: { type: 'api_key', ...key },
        display_label: `x\u001b[2J\n${forged}`,
      })
      assert.equal(status, 400)
      await browser.add(key, { display_label: forged })
      const redirect = await browser.finish()
      await browser.redeem(redirect)
      const log = lines.join('')
      for (const line of log.trimEnd().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line)
      assert.equal(log.includes('forged'), false)
      const secrets = [
        browser.secret,
        key.api_key,
        key.secret_key,
        redirect.searchParams.get('code') ?? '',
        browser.verifier,
      ]
      for (const secret of secrets) assert.equal(log.includes(secret), false)
    })

    it('no secret, code or key is stored unencrypted in a table or in the queue', async () => {
      const browser = await connect.beginConnectSession()
      await browser.call('POST', '/session/email', { email: 'dump@example.com' })
      const code = await browser.readMail()
      const manage = await connect.call<{ session_secret: string }>('POST', '/me/session', {
        body: { client_id: 'cli_demo' },
      })
      const tables = await connect.db.rows<{ name: string }>(
        `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
         where table_schema in ('public', 'graphile_worker') and table_type = 'BASE TABLE' and table_name <> 'sandbox_mailbox'`,
      )
      const dump = async (): Promise<string> => {
        const texts: string[] = []
        for (const { name } of tables) {
          const rows = await connect.db.rows<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t`)
          texts.push(...rows.map(({ row }) => row))
        }
        return texts.join('\n')
      }
      const whileWaiting = await dump()
      assert.ok(whileWaiting.includes('dump@example.com'), 'the dump has what it should have')
      assert.doesNotMatch(whileWaiting, new RegExp(`"${code}"`))
      await browser.call('POST', '/session/code', { code })
      await browser.agree()
      const key = await connect.mintKey('empty')
      await browser.add(key)
      const redirect = await browser.finish()
      const afterwards = await dump()
      const secrets = [
        browser.secret,
        manage.body.session_secret,
        key.secret_key,
        redirect.searchParams.get('code') ?? '',
      ]
      for (const secret of secrets) assert.equal(afterwards.includes(secret), false)
    })
  })
})
