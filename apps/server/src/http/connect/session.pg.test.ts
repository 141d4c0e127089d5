/** The connect flow over HTTP, with real keys of the simulated exchange. */
import { notFound } from '@assay/core'
import { toConsentRecord } from '@assay/core/consent'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { getSession } from '@assay/contract'
import { startConnect, toQuery, until, type Problem, type TestBrowser, type WireSession } from './test-browser.ts'

describe('the connect session', async () => {
  const connect = await startConnect()
  const countConnections = async (userKey: string): Promise<number> => {
    const row = await connect.db.row<{ count: number }>(
      `select count(*)::int as count from connections where user_key = $1 and status <> 'removed'`,
      [userKey],
    )
    return row.count
  }
  const userOf = async ({ session }: TestBrowser): Promise<string> => {
    const row = await connect.db.row<{ user_key: string }>('select user_key from connect_sessions where id = $1', [
      session.session_id,
    ])
    return row.user_key
  }
  const listProviders = async (token: string): Promise<{ connection_id: string; status: string }[]> => {
    const response = await fetch(`${connect.url}/accounts/v2/providers`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return ((await response.json()) as { data: { connection_id: string; status: string }[] }).data
  }

  describe('from the first page to the code', () => {
    it('stores the exact text of the consent page with the grant, in the language that was shown', async () => {
      for (const [language, lines] of [
        ['en', ['remove connected accounts', 'while you are away', 'learns your email address']],
        ['de', ['verbundene Konten entfernen', 'während Sie nicht da sind', 'erfährt Ihre E-Mail-Adresse']],
      ] as const) {
        const browser = await connect.beginConnectSession({ lang: 'ja' })
        const { client, tenant, scopes, grant_expires_at: expiresAt, shares_email: sharesEmail } = browser.session
        const facts = { app: client.name, tenant: tenant.name, expiresAt, sharesEmail, existing: [] }
        await browser.signIn(`words-${language}@example.com`)
        assert.equal((await browser.agree({ language })).status, 200)
        await browser.redeem(await browser.finish())
        const { consent } = await connect.db.row<{ consent: { text: string; language: string } }>(
          'select consent from grants join users using (user_key) where email = $1',
          [`words-${language}@example.com`],
        )
        assert.equal(consent.language, language)
        assert.equal(consent.text, toConsentRecord({ ...facts, scopes }, language))
        for (const line of lines) assert.ok(consent.text.includes(line), line)
      }
      const browser = await connect.beginConnectSession()
      await browser.signIn('unknown-language@example.com')
      assert.equal((await browser.agree({ language: 'xx' })).status, 400)
    })

    it('names only accounts in the record that the page listed, also when another application adds one meanwhile', async () => {
      const email = 'added-meanwhile@example.com'
      const connectOne = async (display_label: string): Promise<void> => {
        const browser = await connect.beginConnectSession()
        await browser.enter(email)
        await browser.add(await connect.mintKey('empty', display_label), { display_label })
        await browser.redeem(await browser.finish())
      }
      await connectOne('first')
      const browser = await connect.beginConnectSession()
      const { existing } = await browser.signIn(email)
      await connectOne('meanwhile')
      await browser.agree({ existing: existing.map(({ connection_id }) => connection_id) })
      const { consent } = await connect.db.row<{ consent: { text: string } }>(
        'select consent from connect_sessions where id = $1',
        [browser.session.session_id],
      )
      assert.ok(consent.text.includes('first'))
      assert.ok(!consent.text.includes('meanwhile'))
    })

    it('records no consent for a session whose page was not the one that the user agreed to', async () => {
      const shown = await connect.beginConnectSession()
      const browser = await connect.beginConnectSession()
      await browser.signIn('other-page@example.com')
      const refused = await browser.call<Problem>('POST', '/session/consent', { session_id: shown.session.session_id })
      assert.deepEqual(
        [refused.status, refused.body.errors.map(({ cause, parameter }) => [cause, parameter])],
        [400, [['invalid_parameter', 'session_id']]],
      )
      assert.equal((await browser.read()).step, 'consent')
      assert.equal((await browser.agree()).body.session.step, 'connect')
    })

    it('goes through sign_in, consent, connect and ended, and every answer matches the contract', async () => {
      const browser = await connect.beginConnectSession()
      const seen = [browser.session.step]
      seen.push((await browser.signIn('steps@example.com')).step)
      const consented = await browser.agree()
      seen.push(consented.body.session.step)
      const added = await browser.add(await connect.mintKey('empty'))
      assert.equal(added.data.added, true)
      const session = await browser.read()
      assert.deepEqual(getSession.response.safeParse({ session }).error?.issues, undefined)
      assert.deepEqual(session.user, { email: 'steps@example.com' })
      assert.equal(session.connections[0]?.connection_id, added.data.connection_id)

      const redirect = await browser.finish()
      assert.equal(redirect.origin + redirect.pathname, 'http://127.0.0.1:4100/callback')
      assert.equal(redirect.searchParams.get('state'), browser.state)
      assert.equal(redirect.searchParams.get('iss'), connect.url)
      const ended = await browser.read()
      seen.push(ended.step)
      assert.equal(ended.ended, 'finished')
      assert.deepEqual(seen, ['sign_in', 'consent', 'connect', 'ended'])
    })

    it('can be finished again while the code is not redeemed: the answer may have been lost', async () => {
      const browser = await connect.beginConnectSession()
      await browser.enter('lost-answer@example.com')
      await browser.add(await connect.mintKey('empty'))
      const lost = await browser.finish()
      const redirect = await browser.finish()
      assert.notEqual(redirect.searchParams.get('code'), lost.searchParams.get('code'))
      assert.equal(redirect.searchParams.get('state'), browser.state)
      await assert.rejects(browser.redeem(lost))
      const { access_token: token } = await browser.redeem(redirect)
      assert.equal((await listProviders(token)).length, 1)
      assert.equal((await browser.call('POST', '/session/finish', {})).status, 400)
    })

    it('is over when the code was not redeemed in its time, or the user has withdrawn the consent', async () => {
      const late = await connect.beginConnectSession()
      await late.enter('too-late@example.com')
      await late.finish()
      await connect.db.execute("update authorization_codes set expires_at = expires_at - interval '1 hour'")
      assert.equal((await late.call('POST', '/session/finish', {})).status, 400)
      const ended = await connect.beginConnectSession()
      await ended.enter('withdrawn@example.com')
      await ended.finish()
      await connect.db.execute('delete from authorization_codes')
      assert.equal((await ended.call('POST', '/session/finish', {})).status, 400)
    })

    it('a new connection is visible only in the session until the code is redeemed', async () => {
      const first = await connect.beginConnectSession()
      await first.enter('careful@example.com')
      const { access_token: token } = await first.redeem(await first.finish())
      const second = await connect.beginConnectSession()
      await second.enter('careful@example.com')
      await second.add(await connect.mintKey('empty'))
      assert.deepEqual(await listProviders(token), [])
      assert.equal((await second.read()).connections.length, 1)
      await second.redeem(await second.finish())
      assert.equal((await listProviders(token)).length, 1)
    })

    it('progress shows what was found, and the largest assets by value', async () => {
      const browser = await connect.beginConnectSession()
      await browser.enter('progress@example.com')
      await browser.add(await connect.mintKey('default'))
      const { progress } = await until(async () => (await browser.read()).connections.find((one) => one.progress.done))
      assert.ok(progress.transactions > 100 && progress.records >= progress.transactions)
      assert.ok((progress.assets ?? 0) > 3)
      assert.match(progress.value_in_usd ?? '', /^\d+(\.\d+)?$/)
      assert.ok(progress.top.length > 0 && progress.top.length <= 6)
      assert.deepEqual(
        progress.top.map(({ share }) => share),
        progress.top.map(({ share }) => share).toSorted((a, b) => b - a),
      )
      assert.ok(progress.top.reduce((total, { share }) => total + share, 0) <= 1.001)
      const { proof } = await until(async () => {
        const found = (await browser.read()).connections[0]?.progress
        return found?.proof === null ? undefined : found
      })
      assert.deepEqual(proof, { grade: 'proved', proved_since: progress.history_from, difference: null })
    })

    it('streams one line immediately and one for each change, and ends with the session', async () => {
      const browser = await connect.beginConnectSession()
      await browser.enter('stream@example.com')
      const response = await fetch(`${connect.url}/connect/v1/session/events`, {
        headers: { authorization: `Bearer ${browser.secret}` },
      })
      assert.equal(response.headers.get('content-type'), 'application/x-ndjson')
      assert.equal(response.headers.get('cache-control'), 'no-store')
      const lines: { type: string; session: WireSession }[] = []
      const read = (async () => {
        let rest = ''
        for await (const chunk of response.body ?? []) {
          rest += Buffer.from(chunk as Uint8Array).toString()
          const whole = rest.split('\n')
          rest = whole.pop() ?? ''
          lines.push(...whole.map((line) => JSON.parse(line) as { type: string; session: WireSession }))
        }
      })()
      await until(async () => lines[0])
      await browser.add(await connect.mintKey('empty'))
      await until(async () => lines.find(({ session }) => session.connections.length === 1))
      await browser.call('POST', '/session/decline', {})
      await read
      assert.equal(lines.at(-1)?.session.step, 'ended')
    })
  })

  describe('the steps', () => {
    it('are refused out of order, and say what is missing', async () => {
      const browser = await connect.beginConnectSession()
      const key = { type: 'api_key', api_key: 'k', secret_key: 's' }
      const adding = { provider_id: 'kraken', connection: key }
      const details = async (path: string, body: unknown): Promise<[number, string]> => {
        const answer = await browser.call<Problem>('POST', path, body)
        return [answer.status, answer.body.detail]
      }
      assert.deepEqual(await details('/session/consent', { session_id: browser.session.session_id }), [
        400,
        'Sign in first.',
      ])
      assert.deepEqual(await details('/session/connections', adding), [400, 'Sign in first.'])
      assert.deepEqual(await details('/session/finish', {}), [400, 'Sign in first.'])
      await browser.signIn('order@example.com')
      assert.deepEqual(await details('/session/connections', adding), [400, 'Consent first.'])
      assert.deepEqual(await details('/session/finish', {}), [400, 'Consent first.'])
      assert.deepEqual(await details('/session/email', { email: 'other@example.com' }), [
        400,
        'This was done before in this session.',
      ])
      await browser.agree()
      assert.equal((await browser.agree()).status, 200)
      const redirect = await browser.finish()
      assert.deepEqual(await details('/session/decline', {}), [400, 'This session has ended.'])
      await browser.redeem(redirect)
      assert.deepEqual(await details('/session/finish', {}), [400, 'This session has ended.'])
      assert.deepEqual(await details('/session/decline', {}), [400, 'This session has ended.'])
      assert.deepEqual(await details('/session/connections', adding), [400, 'This session has ended.'])
    })

    it('end after thirty minutes, whatever the step', async () => {
      const browser = await connect.beginConnectSession()
      await connect.moveClock(1_700)
      assert.equal((await browser.call('GET', '/session')).status, 200)
      await connect.moveClock(100)
      assert.equal((await browser.call('GET', '/session')).status, 401)
    })

    it('a refusal by the provider is 200 with added false, and nothing is stored', async () => {
      const browser = await connect.beginConnectSession()
      await browser.enter('refused@example.com')
      const { data, errors } = await browser.add(await connect.mintKey('can_trade'))
      assert.deepEqual([data.added, data.connection_id, errors[0]?.cause], [false, null, 'excess_permission'])
      assert.equal(await countConnections(await userOf(browser)), 0)
    })

    it('a connection of the session can be removed, with its key', async () => {
      const browser = await connect.beginConnectSession()
      await browser.enter('remove@example.com')
      const { data } = await browser.add(await connect.mintKey('empty'))
      const path = `/session/connections/${data.connection_id}`
      const answer = await browser.call<{ session: WireSession }>('DELETE', path)
      assert.deepEqual([answer.status, answer.body.session.connections], [200, []])
      assert.equal((await browser.call('DELETE', path)).status, 404)
      assert.equal(await countConnections(await userOf(browser)), 0)
    })
  })

  describe('a session that is never redeemed is destroyed', () => {
    const prepared = async (email: string): Promise<TestBrowser> => {
      const browser = await connect.beginConnectSession()
      await browser.enter(email)
      await browser.add(await connect.mintKey('default'))
      await until(async () => (await browser.read()).connections.find((one) => one.progress.done))
      return browser
    }
    const tables = ['connections', 'raw_records', 'transactions', 'postings', 'holdings', 'covered_windows']
    const countAll = async (userKey: string): Promise<number[]> => {
      const counts: number[] = []
      for (const table of [...tables, 'removed_transactions']) {
        const query = `select count(*)::int as count from ${table} where user_key = $1`
        counts.push((await connect.db.row<{ count: number }>(query, [userKey])).count)
      }
      return counts
    }
    const nothing = [...tables, 'removed_transactions'].map(() => 0)

    it('immediately when it is declined, with access_denied for the application', async () => {
      const browser = await prepared('declined@example.com')
      const userKey = await userOf(browser)
      const answer = await browser.call<{ redirect_to: string }>('POST', '/session/decline', {})
      const redirect = new URL(answer.body.redirect_to)
      assert.equal(redirect.searchParams.get('error'), 'access_denied')
      assert.equal(redirect.searchParams.get('state'), browser.state)
      assert.equal(redirect.searchParams.get('iss'), connect.url)
      assert.deepEqual(await countAll(userKey), nothing)
      const again = await browser.call<{ redirect_to: string }>('POST', '/session/decline', {})
      assert.equal(again.body.redirect_to, answer.body.redirect_to)
    })

    it('when it is declined while a page is being read: the page is not kept', async () => {
      const fault = { kind: 'latency_ms', latency_ms: 400 }
      await fetch(`${connect.url}/sandbox/providers/kraken/faults`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(fault),
      })
      const browser = await connect.beginConnectSession()
      await browser.enter('late-page@example.com')
      const userKey = await userOf(browser)
      const { data } = await browser.add(await connect.mintKey('default'))
      const key = `sync:${data.connection_id}`
      const findJob = (): Promise<{ locked: boolean } | undefined> =>
        connect.db.maybeRow('select locked_at is not null as locked from graphile_worker.jobs where key = $1', [key])
      await until(async () => ((await findJob())?.locked === true ? true : undefined))
      await browser.call('POST', '/session/decline', {})
      await until(async () => ((await findJob()) === undefined ? true : undefined))
      await fetch(`${connect.url}/sandbox/providers/kraken/faults`, { method: 'DELETE' })
      assert.deepEqual(await countAll(userKey), nothing)
    })

    it('within a minute when it expires', async () => {
      const browser = await prepared('expired@example.com')
      const userKey = await userOf(browser)
      await connect.moveClock(1_801)
      await until(async () => ((await countConnections(userKey)) === 0 ? true : undefined))
      assert.deepEqual(await countAll(userKey), nothing)
    })

    it('not in the minute after it was finished, although it would have expired', async () => {
      const browser = await prepared('last-second@example.com')
      const userKey = await userOf(browser)
      await connect.moveClock(1_780)
      await browser.finish()
      await connect.moveClock(40)
      assert.equal((await browser.call('GET', '/session')).status, 200)
      await browser.redeem(await browser.finish())
      assert.equal(await countConnections(userKey), 1)
    })

    it('when it is finished but its code is never redeemed', async () => {
      const browser = await prepared('unredeemed@example.com')
      const userKey = await userOf(browser)
      await browser.finish()
      await connect.moveClock(30)
      assert.equal(await countConnections(userKey), 1, 'its code may still be redeemed')
      await connect.moveClock(120)
      await until(async () => ((await countConnections(userKey)) === 0 ? true : undefined))
      assert.deepEqual(await countAll(userKey), nothing)
    })
  })

  describe('after a closed tab', () => {
    it('the same user signs in again, is offered the unfinished session, and takes over its connections', async () => {
      const closed = await connect.beginConnectSession()
      await closed.enter('tab@example.com')
      const { data } = await closed.add(await connect.mintKey('empty'))
      const browser = await connect.beginConnectSession()
      const { unfinished } = await browser.signIn('tab@example.com')
      assert.equal(unfinished?.session_id, closed.session.session_id)
      assert.equal(unfinished.connection_count, 1)
      const answer = await browser.call<{ session: WireSession }>('POST', '/session/resume', {
        session_id: unfinished.session_id,
      })
      assert.equal(answer.body.session.connections[0]?.connection_id, data.connection_id)
      assert.equal(answer.body.session.unfinished, null)
      assert.equal((await closed.call('GET', '/session')).status, 401, 'the old one is over')
    })

    it('the same account connected again replaces the one left behind', async () => {
      const key = await connect.mintKey('empty')
      const closed = await connect.beginConnectSession()
      await closed.enter('again@example.com')
      await closed.add(key)
      const browser = await connect.beginConnectSession()
      await browser.enter('again@example.com')
      const { data, errors } = await browser.add(key)
      assert.deepEqual([data.added, errors], [true, []])
      assert.deepEqual((await closed.read()).connections, [])
    })
  })

  describe('repair by a user who has consented', () => {
    const termsOf = (userId: string): Promise<{ expires_at: string; granted_at: string; text: string }> =>
      connect.db.row("select expires_at, granted_at, consent->>'text' as text from grants where user_id = $1", [userId])
    async function connectOnce(email: string): Promise<{ connectionId: string; userId: string }> {
      const first = await connect.beginConnectSession()
      await first.enter(email)
      const { data } = await first.add(await connect.mintKey('empty'))
      const { user_id: userId } = await first.redeem(await first.finish())
      return { connectionId: data.connection_id ?? '', userId }
    }

    it('does not ask for consent again, and neither extends nor changes the existing one', async () => {
      const { connectionId, userId } = await connectOnce('carried@example.com')
      const before = await termsOf(userId)
      await connect.moveClock(86_400)
      const again = await connect.beginConnectSession({ connection_id: connectionId })
      const session = await again.signIn('carried@example.com')
      assert.deepEqual([session.step, session.grant_expires_at], ['connect', before.expires_at])
      await again.redeem(await again.finish())
      assert.deepEqual(await termsOf(userId), before)
    })

    it('is stopped before it fills the audit log, at the end of a session and where a code is redeemed', async () => {
      const email = 'repairs-all-day@example.com'
      const { connectionId, userId } = await connectOnce(email)
      const begin = async (): Promise<TestBrowser> => {
        const browser = await connect.beginConnectSession({ connection_id: connectionId })
        assert.equal((await browser.signIn(email)).step, 'connect')
        return browser
      }
      const [early, late] = [await begin(), await begin()]
      const code = (await early.finish()).searchParams.get('code') ?? ''
      await connect.db.execute(
        `insert into audit_entries (tenant_id, at, actor, action, subject, fields, user_id)
         select tenant_id, at, actor, action, subject, fields, user_id
         from audit_entries cross join generate_series(1, 1999)
         where user_id = $1 and action = 'grant.given'`,
        [userId],
      )
      const said = 'There were too many consents and changes today. Try again later.'
      const finished = await late.call<Problem>('POST', '/session/finish', {})
      assert.deepEqual([finished.status, finished.body.detail], [429, said])
      const redeemed = await fetch(`${connect.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          ...{ grant_type: 'authorization_code', code, code_verifier: early.verifier, client_id: 'cli_demo' },
          redirect_uri: 'http://127.0.0.1:4100/callback',
        }),
      })
      const answer = (await redeemed.json()) as { error_description: string }
      assert.deepEqual([redeemed.status, answer.error_description], [429, said])
      const families = await connect.db.rows('select from token_families where user_id = $1', [userId])
      assert.equal(families.length, 1)
    })

    it('asks for consent when other scopes are requested, and when the connection is not the user’s', async () => {
      const { connectionId } = await connectOnce('asked@example.com')
      const wider = await connect.beginConnectSession({ connection_id: connectionId, scope: 'assets:read' })
      assert.equal((await wider.signIn('asked@example.com')).step, 'consent')
      const other = await connect.beginConnectSession({ connection_id: 'con_00000000000000000000000000' })
      assert.equal((await other.signIn('asked@example.com')).step, 'consent')
    })
  })

  describe('repair', () => {
    const broken = async (email: string, account: string): Promise<{ browser: TestBrowser; connectionId: string }> => {
      const first = await connect.beginConnectSession()
      await first.enter(email)
      const { data } = await first.add(await connect.mintKey('empty', account))
      await first.redeem(await first.finish())
      const connectionId = data.connection_id ?? ''
      await until(async () => {
        const row = await connect.db.row<{ status: string }>('select status from connections where id = $1', [
          connectionId,
        ])
        return row.status === 'active' ? true : undefined
      })
      await connect.db.execute(
        `update connections set status = 'needs_reauth', status_cause = 'invalid_credentials' where id = $1`,
        [connectionId],
      )
      const browser = await connect.beginConnectSession({ connection_id: connectionId })
      const session = await browser.enter(email)
      assert.equal(session.connection_id, connectionId)
      assert.equal(session.existing[0]?.status, 'needs_reauth')
      return { browser, connectionId }
    }

    it('with a key of the same account keeps the id and continues reading', async () => {
      const { browser, connectionId } = await broken('repair@example.com', 'account to repair')
      const key = await connect.mintKey('empty', 'account to repair')
      const { data, errors } = await browser.add(key, { connection_id: connectionId })
      assert.deepEqual([data.added, data.connection_id, errors], [true, connectionId, []])
      await until(async () => {
        const row = await connect.db.row<{ status: string }>('select status from connections where id = $1', [
          connectionId,
        ])
        return row.status === 'active' ? true : undefined
      })
      assert.equal(await countConnections(await userOf(browser)), 1)
    })

    it('of a connection that belongs to another user is refused when the person has signed in, and the session says so', async () => {
      const { connectionId } = await broken('owner@example.com', 'account of its owner')
      const stranger = await connect.beginConnectSession({ connection_id: connectionId })
      assert.equal((await stranger.read()).repair_refused, false)
      const session = await stranger.enter('stranger@example.com')
      assert.deepEqual([session.connection_id, session.repair_refused], [null, true])
    })

    it('with another account is refused as account_mismatch, and nothing changes', async () => {
      const { browser, connectionId } = await broken('mismatch@example.com', 'account with a twin')
      const select = 'select status, sealed_credentials, key_lane from connections where id = $1'
      const before = await connect.db.row(select, [connectionId])
      const { data, errors } = await browser.add(await connect.mintKey('empty'), { connection_id: connectionId })
      assert.deepEqual([data.added, data.connection_id, errors[0]?.cause], [false, null, 'account_mismatch'])
      assert.deepEqual(await connect.db.row(select, [connectionId]), before)
      assert.equal(await countConnections(await userOf(browser)), 1)
    })

    it('of another user’s connection is a 404, like that of a missing one', async () => {
      const { connectionId } = await broken('owner@example.com', 'account of the owner')
      const browser = await connect.beginConnectSession({ connection_id: connectionId })
      assert.equal((await browser.enter('thief@example.com')).connection_id, null)
      const body = { provider_id: 'kraken', connection: { type: 'api_key', ...(await connect.mintKey('empty')) } }
      for (const id of [connectionId, 'con_01jq8n7x2zf4tb9v6h3m5kcdwe']) {
        const answer = await browser.call<Problem>('POST', '/session/connections', { ...body, connection_id: id })
        assert.deepEqual([answer.status, answer.body.detail], [404, notFound('connection').message])
      }
    })
  })

  describe('POST /session', () => {
    const query = (more: Record<string, string>): string => toQuery('v'.repeat(43), randomUUID(), more)
    const post = (text: string) =>
      connect.call<{ redirect_to: string | null; session_secret: string | null }>('POST', '/session', {
        body: { query: text },
      })

    it('reports an invalid client_id or redirect_uri without a redirect', async () => {
      for (const bad of [
        { client_id: 'cli_nobody' },
        { client_id: '' },
        { redirect_uri: 'https://evil.example/' },
        { redirect_uri: 'http://127.0.0.1:4100/callback/' },
      ]) {
        const answer = await post(query(bad))
        assert.equal(answer.status, 400, JSON.stringify(bad))
      }
      assert.equal((await post(`${query({})}&redirect_uri=a&redirect_uri=b`)).status, 400)
    })

    const mistakes: [string, string, RegExp][] = [
      ['a parameter twice', 'state=1', /sent more than once: state/],
      ['a display that does not exist', 'display=window', /display must be page, popup or iframe/],
      ['a foreign web_message_origin', 'web_message_origin=https%3A%2F%2Fevil.example', /registered embed origin/],
      ['a frame without an origin', 'display=iframe', /web_message_origin is needed/],
      ['an invalid language', 'lang=%3Cscript%3E', /lang must be a language tag/],
      ['a theme too long', `theme=${'x'.repeat(41)}`, /theme must be/],
      ['a provider that does not exist', 'provider_id=mtgox', /provider_id must be an id/],
      ['an invalid connection id', 'connection_id=1', /connection_id must be/],
      ['an unknown response_type', 'response_type=token', /response_type must be code/],
      ['an invalid login_token', 'login_token=eyJ', /login_token cannot be used: this client has no login key/],
    ]
    for (const [name, part, description] of mistakes) {
      it(`sends ${name} back to the application`, async () => {
        const { status, body } = await post(`${query({})}&${part}`)
        assert.equal(status, 200)
        assert.equal(body.session_secret, null)
        const redirect = new URL(body.redirect_to ?? '')
        assert.equal(redirect.origin + redirect.pathname, 'http://127.0.0.1:4100/callback')
        assert.match(redirect.searchParams.get('error_description') ?? '', description)
        assert.equal(redirect.searchParams.get('iss'), connect.url)
      })
    }

    it('takes the options a widget needs, and ignores parameters it does not know', async () => {
      const browser = await connect.beginConnectSession({
        display: 'iframe',
        web_message_origin: 'http://127.0.0.1:4100',
        lang: 'pt-BR',
        theme: 'dark',
        provider_id: 'kraken',
        utm_source: 'mail',
      })
      const { display, web_message_origin, lang, theme, provider_id } = browser.session
      assert.deepEqual(
        [display, web_message_origin, lang, theme, provider_id],
        ['iframe', 'http://127.0.0.1:4100', 'pt-BR', 'dark', 'kraken'],
      )
    })
  })
})
