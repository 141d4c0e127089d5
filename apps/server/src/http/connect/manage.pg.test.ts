/** A user's own page over HTTP: how to sign in, and to view, revoke, remove and delete. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getMe, type ResponseOf } from '@assay/contract'
import { startConnect, until, type Answer, type TestBrowser } from './test-browser.ts'

type Me = ResponseOf<typeof getMe>

describe('the manage page', async () => {
  const connect = await startConnect()

  interface Page {
    secret: string
    call<T>(method: string, path: string, body?: unknown): Promise<Answer<T>>
    me(): Promise<Me>
  }
  const open = async (): Promise<Page> => {
    const begun = await connect.call<{ session_secret: string }>('POST', '/me/session', {
      body: { client_id: 'cli_demo' },
    })
    const secret = begun.body.session_secret
    const page: Page = {
      secret,
      call: (method, path, body) => connect.call(method, path, body === undefined ? { secret } : { secret, body }),
      me: async () => (await page.call<Me>('GET', '/me')).body,
    }
    return page
  }
  const signIn = async (email: string): Promise<Page> => {
    const page = await open()
    await page.call('POST', '/me/email', { email })
    type Help = { mail: { code: string } | null }
    const code = await until(async () => (await page.call<Help>('GET', '/me/sandbox')).body.mail?.code)
    assert.deepEqual((await page.call('POST', '/me/code', { code })).body, { signed_in: true })
    return page
  }
  const connected = async (email: string): Promise<{ browser: TestBrowser; token: string; connectionId: string }> => {
    const browser = await connect.beginConnectSession()
    await browser.enter(email)
    const { data } = await browser.add(await connect.mintKey('empty'))
    const { access_token: token } = await browser.redeem(await browser.finish())
    return { browser, token, connectionId: data.connection_id ?? '' }
  }
  const read = (token: string): Promise<Response> =>
    fetch(`${connect.url}/accounts/v2/providers`, { headers: { authorization: `Bearer ${token}` } })

  const authorizeTenant = async (scope: string): Promise<string> => {
    const answer = await fetch(`${connect.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        ...{ grant_type: 'client_credentials', client_id: 'cli_enterprise', scope },
        client_secret: 'sandbox-enterprise-secret',
      }),
    })
    return ((await answer.json()) as { access_token: string }).access_token
  }

  it('shows every right that an application can use, also those of a consent before the newest', async () => {
    const email = 'narrowed@example.com'
    const { token } = await connected(email)
    const browser = await connect.beginConnectSession({ scope: 'assets:read' })
    await browser.enter(email)
    const narrow = await browser.redeem(await browser.finish())
    assert.equal((await read(token)).status, 200)
    assert.equal((await read(narrow.access_token)).status, 403)
    const page = await signIn(email)
    const [grant] = (await page.me()).grants
    const rights = ['assets:read', 'claims:read', 'offline_access', 'providers:read', 'providers:write']
    assert.deepEqual(grant?.scopes.toSorted(), [...rights, 'transactions:read'])
  })

  it('the mail says that its code is for viewing and ending what is shared, not for connecting', async () => {
    const { browser } = await connected('purpose@example.com')
    await signIn('purpose@example.com')
    const answer = await fetch(`${connect.url}/sandbox/mailbox`)
    const { data } = (await answer.json()) as { data: { to: string; text: string }[] }
    const texts = data.filter(({ to }) => to === 'purpose@example.com').map(({ text }) => text)
    const { client, tenant } = browser.session
    const managing = `lets you see and end what you\nshare with ${tenant.name} through ${client.name}`
    assert.equal(texts.filter((text) => text.includes(managing)).length, 1)
    assert.equal(texts.filter((text) => text.includes('lets you connect accounts')).length, 1)
  })

  it('a mailbox at an internationalised domain is one user, for the person and for the tenant’s search', async () => {
    const [letters, ascii] = ['reader@bücher.example', 'reader@xn--bcher-kva.example']
    await connected(letters)
    assert.equal((await (await signIn(ascii)).me()).grants.length, 1)
    const token = await authorizeTenant('enterprise:read')
    const found = await fetch(`${connect.url}/enterprise/v2/users/search`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ emails: [letters] }),
    })
    const { data } = (await found.json()) as { data: { email: string }[] }
    assert.deepEqual(
      data.map(({ email }) => email),
      [ascii],
    )
  })

  it('shows what the tenant itself read and through which client, and does not count it as use', async () => {
    const { connectionId } = await connected('watched@example.com')
    const token = await authorizeTenant('enterprise:read')
    const { user_id: userId } = await connect.db.row<{ user_id: string }>(
      'select user_id from connections where id = $1',
      [connectionId],
    )
    // A row of this user for the page that one statement reads.
    await until(async () => {
      const { rows } = await connect.db.row<{ rows: number }>(
        "select count(*)::int as rows from connections where id = $1 and status = 'active'",
        [connectionId],
      )
      return rows === 1 ? true : undefined
    })
    const ofUser = [`users/${userId}`, `users/${userId}/assets`, `users/${userId}/transactions?limit=1`]
    const sums = ['users', 'accounts-by-provider', 'balances', 'top-assets'].map((name) => `stats/${name}`)
    for (const path of ['accounts', ...ofUser, ...sums]) {
      const read = await fetch(`${connect.url}/enterprise/v2/${path}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      assert.equal(read.status, 200)
    }
    const page = await signIn('watched@example.com')
    const me = await until(async () => {
      const found = await page.me()
      // The access log is written in batches, and a batch may end between two of the reads.
      const accesses = found.tenant_reads.flatMap((read) => read.accesses)
      return accesses.length < 6 ? undefined : found
    })
    assert.deepEqual(getMe.response.safeParse(me).error?.issues, undefined)
    assert.deepEqual(
      me.tenant_reads.map(({ client }) => client.client_id),
      ['cli_enterprise'],
    )
    const seen = me.tenant_reads.flatMap(({ accesses }) => accesses.map(({ endpoint }) => endpoint)).toSorted()
    // The account has no transactions: that the tenant asked for them is shown all the same.
    const lists = ['getUser', 'listAccounts', 'listUserAssets', 'listUserTransactions']
    // Sums over few users tell what each of them has. This user holds nothing that adds to the other two.
    const summed = ['getAccountStats', 'getUserStats']
    assert.deepEqual(seen, [...lists, ...summed].toSorted())
    const { read_at: readAt } = await connect.db.row<{ read_at: string | null }>(
      'select read_at from user_ledgers join users using (user_key) where users.id = $1',
      [userId],
    )
    assert.equal(readAt, null)
  })

  it('shows what one client read once, however much another client reads every hour since', async () => {
    const { connectionId } = await connected('hidden@example.com')
    const { user_key: userKey } = await connect.db.row<{ user_key: string }>(
      'select user_key from connections where id = $1',
      [connectionId],
    )
    const add = (clientId: string, hours: number, calls: number): Promise<number> =>
      connect.db.execute(
        `insert into grant_accesses (user_key, grant_id, hour, endpoint, count, last_at)
         select $1, $2, hour, 'call' || call, 1, hour
         from generate_series(1, $4::int) call, generate_series(1, $3::int) ago,
           lateral (select date_trunc('hour', now()) - ago * interval '1 hour') as at (hour)`,
        [userKey, clientId, hours, calls],
      )
    await connect.db.execute(
      `insert into grant_accesses (user_key, grant_id, hour, endpoint, count, last_at)
       select $1, 'cli_enterprise', hour, 'listUserAssets', 1, hour
       from (select date_trunc('hour', now()) - interval '20 days') as at (hour)`,
      [userKey],
    )
    await add('cli_demo', 400, 20)
    const me = await (await signIn('hidden@example.com')).me()
    const shown = new Map(me.tenant_reads.map(({ client, accesses }) => [client.client_id, accesses]))
    assert.deepEqual(
      shown.get('cli_enterprise')?.map(({ endpoint, count }) => [endpoint, count]),
      [['listUserAssets', 1]],
    )
    const noise = shown.get('cli_demo') ?? []
    assert.equal(noise.length, 4_999)
    assert.deepEqual(
      noise.map(({ hour }) => hour),
      noise
        .map(({ hour }) => hour)
        .toSorted()
        .toReversed(),
      'the newest first',
    )
  })

  it('shows what an application asked about the user and the answers, all of which is deleted with the user', async () => {
    const { token } = await connected('asked@example.com')
    const answer = await fetch(`${connect.url}/accounts/v2/claims`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ claim: 'value_at_least', amount_in_usd: '250.50', audience: 'a lender' },
        grades: ['proved', 'explained', 'unprovable', 'open'],
      }),
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    const page = await signIn('asked@example.com')
    const me = await page.me()
    assert.deepEqual(getMe.response.safeParse(me).error?.issues, undefined)
    const said = me.grants.flatMap(({ claims }) => claims)
    assert.deepEqual(
      said.map(({ claim, asset_id, amount, holds, audience }) => [claim, asset_id, amount, holds, audience]),
      [['value_at_least', null, '250.5', false, 'a lender']],
    )
    const { user_id: userId } = await connect.db.row<{ user_id: string }>(
      `select id as user_id from users where email = 'asked@example.com'`,
    )
    assert.equal((await page.call('DELETE', '/me')).status, 200)
    assert.deepEqual(await connect.db.rows(`select from claims where audience = 'a lender'`), [])
    const deletion = `select actor, subject from audit_entries where action = 'user.deleted' and user_id = $1`
    assert.deepEqual(await connect.db.rows(deletion, [userId]), [{ actor: 'user', subject: userId }])
  })

  it('keeps showing what was read and asked after a consent has ended, with when it ended and who ended it', async () => {
    const email = 'ended@example.com'
    let { token } = await connected(email)
    const page = await signIn(email)
    const endByUser = async (): Promise<unknown> =>
      page.call('DELETE', `/me/grants/${(await page.me()).grants[0]?.grant_id ?? ''}`)
    await endByUser()
    assert.deepEqual((await page.me()).ended_grants, [], 'nothing was read, so there is nothing to show')

    token = (await connected(email)).token
    assert.equal((await read(token)).status, 200)
    const claimed = await fetch(`${connect.url}/accounts/v2/claims`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ claim: 'value_at_least', amount_in_usd: '7', audience: 'a landlord' }),
    })
    assert.equal(claimed.status, 200)
    const [before] = await until(async () => {
      const { grants } = await page.me()
      return (grants[0]?.accesses.length ?? 0) < 2 ? undefined : grants
    })
    const ofUser = 'user_key = (select user_key from users where email = $1)'
    const ends: [by: string | null, end: () => Promise<unknown>][] = [
      ['user', endByUser],
      [
        'tenant',
        async () => {
          const { id } = await connect.db.row<{ id: string }>('select id from users where email = $1', [email])
          const authorization = `Bearer ${await authorizeTenant('enterprise:manage')}`
          return fetch(`${connect.url}/enterprise/v2/users/${id}`, { method: 'DELETE', headers: { authorization } })
        },
      ],
      [null, () => connect.db.execute(`update grants set expires_at = $2 where ${ofUser}`, [email, connect.db.now()])],
    ]
    for (const [by, end] of ends) {
      const earliest = (await page.me()).grants[0]?.granted_at ?? '~'
      await end()
      // The service's clock may be a moment behind the one that the expiry above was set by.
      const me = await until(async () => {
        const found = await page.me()
        return found.grants.length === 0 ? found : undefined
      })
      assert.deepEqual(getMe.response.safeParse(me).error?.issues, undefined)
      const [ended, ...others] = me.ended_grants
      assert.deepEqual(others, [])
      assert.equal(ended?.ended_by, by)
      assert.ok(ended.ended_at >= earliest && ended.ended_at <= connect.db.now(), ended.ended_at)
      for (const member of ['client', 'accesses', 'claims'] as const) {
        assert.deepEqual(ended[member], before?.[member], member)
      }
      // A new consent is in force under the same grant.
      await connected(email)
      const again = await page.me()
      assert.deepEqual([again.grants.length, again.ended_grants.length], [1, 0])
    }
  })

  it('tells a tenant of a deletion only what it could see: nothing of accounts where claims alone were allowed', async () => {
    const { tenant_id: tenantId } = await connect.db.row<{ tenant_id: string }>(
      `select tenant_id from clients where id = 'cli_demo'`,
    )
    await connect.db.execute(
      `insert into webhooks (tenant_id, url, sealed_secret, created_at) values ($1, 'http://127.0.0.1:9/', '', $2)
       on conflict do nothing`,
      [tenantId, connect.db.now()],
    )
    const told = async (email: string, scopes?: readonly string[]): Promise<string[]> => {
      const { connectionId } = await connected(email)
      if (scopes !== undefined) {
        await connect.db.execute(
          'update grants g set scopes = $2 from users u where u.id = g.user_id and u.email = $1',
          [email, scopes],
        )
      }
      await (await signIn(email)).call('DELETE', '/me')
      const rows = await connect.db.rows<{ change: string }>(
        `select body::jsonb -> 'data' ->> 'change' as change from webhook_messages
         where connection_id = $1 and body::jsonb -> 'data' ->> 'change' <> 'read' order by seq`,
        [connectionId],
      )
      return rows.map(({ change }) => change)
    }
    assert.deepEqual(await told('seen@example.com'), ['removed'])
    assert.deepEqual(await told('claims-only@example.com', ['claims:read']), [])
  })

  it('records one deletion, however often it is asked for at once', async () => {
    const email = 'pressed-twice@example.com'
    await connected(email)
    const pages = [await signIn(email), await signIn(email)]
    const { id } = await connect.db.row<{ id: string }>('select id from users where email = $1', [email])
    const presses = [...pages, ...pages].map((page) => page.call('DELETE', '/me'))
    const statuses = (await Promise.all(presses)).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, 401, 401, 401])
    const deletions = `select from audit_entries where action = 'user.deleted' and user_id = $1`
    assert.equal((await connect.db.rows(deletions, [id])).length, 1)
  })

  it('shows what happened to consents and connections, and who did it', async () => {
    const { connectionId } = await connected('audited@example.com')
    const page = await signIn('audited@example.com')
    await page.call('DELETE', `/me/connections/${connectionId}`)
    const { grants } = await page.me()
    await page.call('DELETE', `/me/grants/${grants[0]?.grant_id ?? ''}`)
    const { events } = await page.me()
    assert.deepEqual(
      events.map(({ actor, action, client_name, provider_name }) => [actor, action, client_name, provider_name]),
      [
        ['user', 'grant.revoked', 'Northwind', null],
        ['user', 'connection.removed', null, 'Kraken'],
        ['user', 'grant.given', 'Northwind', null],
        ['user', 'connection.added', null, 'Kraken'],
        ['user', 'consent.given', 'Northwind', null],
      ],
    )
  })

  it('shows what an application did once, however often it repeats something else afterwards', async () => {
    const { connectionId } = await connected('drowned@example.com')
    await connect.db.execute(
      `insert into audit_entries (tenant_id, at, actor, action, subject, fields, user_id, client_id, provider_id)
       select tenant_id, $2, 'application', happened.action, id, '{}', user_id, 'cli_demo', happened.provider_id
       from connections,
         lateral (
           select 0 as round, 'connection.removed' as action, 'solana' as provider_id
           union all
           select round, action, 'bitcoin'
           from generate_series(1, 200) round, (values ('connection.added'), ('connection.removed')) as done (action)
         ) happened
       where id = $1
       order by happened.round, happened.action`,
      [connectionId, connect.db.now()],
    )
    const { events } = await (await signIn('drowned@example.com')).me()
    assert.deepEqual(
      events.map(({ actor, action, provider_name, count }) => [actor, action, provider_name, count]),
      [
        ['application', 'connection.removed', 'Bitcoin', 200],
        ['application', 'connection.added', 'Bitcoin', 200],
        ['application', 'connection.removed', 'Solana', 1],
        ['user', 'grant.given', null, 1],
        ['user', 'connection.added', 'Kraken', 1],
        ['user', 'consent.given', null, 1],
      ],
    )
  })

  it('shows connections, grants, and who read what and when', async () => {
    const { token, connectionId } = await connected('shown@example.com')
    await read(token)
    await read(token)
    const page = await signIn('shown@example.com')
    // Counts are written every few seconds, perhaps between the two reads, and an hour may end between them.
    const countReads = ({ grants }: Me): number =>
      (grants[0]?.accesses ?? []).reduce((sum, { count }) => sum + count, 0)
    const me = await until(async () => {
      const found = await page.me()
      return countReads(found) < 2 ? undefined : found
    })
    assert.deepEqual(getMe.response.safeParse(me).error?.issues, undefined)
    assert.equal(me.user.email, 'shown@example.com')
    assert.deepEqual(
      me.connections.map(({ connection_id }) => connection_id),
      [connectionId],
    )
    assert.equal(me.grants[0]?.client.client_id, 'cli_demo')
    assert.equal(countReads(me), 2)
    for (const { endpoint, hour, last_at } of me.grants[0]?.accesses ?? []) {
      assert.equal(endpoint, 'listProviders')
      assert.match(hour, /:00:00\.000Z$/)
      // The user sees this time, and no read may appear to precede the consent.
      assert.ok(last_at >= (me.grants[0]?.granted_at ?? '~') && last_at <= connect.db.now(), last_at)
    }
    // These reads also decide how often the connections are synced.
    const noted = await until(() =>
      connect.db.maybeRow<{ read_at: string }>(
        `select read_at from user_ledgers join users using (user_key)
         where email = 'shown@example.com' and read_at is not null`,
      ),
    )
    assert.equal(noted.read_at.slice(0, 10), me.grants[0]?.accesses[0]?.hour.slice(0, 10))
  })

  it('requires a sign-in for every call', async () => {
    const page = await open()
    for (const [method, path] of [
      ['GET', '/me'],
      ['DELETE', '/me'],
      ['DELETE', '/me/grants/grt_x'],
      ['DELETE', '/me/connections/con_x'],
    ] as const) {
      assert.equal((await page.call(method, path)).status, 401)
    }
    assert.equal((await connect.call('POST', '/me/session', { body: { client_id: 'cli_nobody' } })).status, 400)
  })

  it('a code of a connect session does not work here', async () => {
    const browser = await connect.beginConnectSession()
    await browser.call('POST', '/session/email', { email: 'elsewhere@example.com' })
    const code = await browser.readMail()
    assert.equal((await (await open()).call('POST', '/me/code', { code })).status, 400)
  })

  it('a revoked consent ends its tokens at the very next request', async () => {
    const { token } = await connected('revoke@example.com')
    const page = await signIn('revoke@example.com')
    const grantId = (await page.me()).grants[0]?.grant_id ?? ''
    assert.deepEqual((await page.call('DELETE', `/me/grants/${grantId}`)).body, { removed: true })
    assert.equal((await read(token)).status, 401)
    assert.equal((await page.call('DELETE', `/me/grants/${grantId}`)).status, 404)
    assert.equal((await page.me()).grants.length, 0)
  })

  describe('ending a consent also ends what is on its way to the same rights', () => {
    const email = (name: string): string => `${name}-again@example.com`
    const revoke = async (name: string): Promise<number> => {
      const page = await signIn(email(name))
      const grantId = (await page.me()).grants[0]?.grant_id ?? ''
      return (await page.call('DELETE', `/me/grants/${grantId}`)).status
    }
    const endAsTenant = async (userId: string): Promise<number> => {
      const headers = { authorization: `Bearer ${await authorizeTenant('enterprise:manage')}` }
      return (await fetch(`${connect.url}/enterprise/v2/users/${userId}`, { method: 'DELETE', headers })).status
    }
    const isInForce = async (name: string): Promise<boolean> =>
      (await (await signIn(email(name))).me()).grants.length > 0
    const finish = async (browser: TestBrowser): Promise<number> =>
      (await browser.call('POST', '/session/finish', {})).status

    it('a session that was agreed to before cannot be finished after the user ended the consent', async () => {
      await connected(email('user'))
      const before = await connect.beginConnectSession()
      await before.enter(email('user'))
      await before.add(await connect.mintKey('empty'))
      assert.equal(await revoke('user'), 200)
      assert.equal(await finish(before), 401)
      assert.equal((await before.call('GET', '/session')).status, 401)
      assert.equal(await isInForce('user'), false)
    })

    it('nor after the tenant ended it, and neither can a repair that carries the consent over', async () => {
      const { connectionId, browser } = await connected(email('tenant'))
      const { user_id: userId } = await connect.db.row<{ user_id: string }>(
        'select user_id from connect_sessions where id = $1',
        [browser.session.session_id],
      )
      const before = await connect.beginConnectSession()
      await before.enter(email('tenant'))
      const repair = await connect.beginConnectSession({ connection_id: connectionId })
      assert.equal((await repair.signIn(email('tenant'))).step, 'connect')
      assert.equal(await endAsTenant(userId), 200)
      assert.deepEqual([await finish(before), await finish(repair)], [401, 401])
      assert.equal(await isInForce('tenant'), false)
    })

    it('a session that is being finished at that moment leaves no code behind', async () => {
      await connected(email('racing'))
      const before = await connect.beginConnectSession()
      await before.enter(email('racing'))
      const page = await signIn(email('racing'))
      const grantId = (await page.me()).grants[0]?.grant_id ?? ''
      const waiting = async (): Promise<number> =>
        (
          await connect.db.rows(
            `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          )
        ).length
      const racing = await connect.db.transaction(async (tx) => {
        // The session is locked by then, and its code is not written yet.
        await tx.execute('lock table authorization_codes in share mode')
        const finishing = before.finish()
        await until(async () => ((await waiting()) === 1 ? true : undefined))
        const revoking = page.call('DELETE', `/me/grants/${grantId}`)
        await until(async () => ((await waiting()) === 2 ? true : undefined))
        return { finishing, revoking }
      })
      assert.equal((await racing.revoking).status, 200)
      const code = (await racing.finishing).searchParams.get('code') ?? ''
      const fields = { grant_type: 'authorization_code', code, code_verifier: before.verifier, client_id: 'cli_demo' }
      const answer = await fetch(`${connect.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({ ...fields, redirect_uri: 'http://127.0.0.1:4100/callback' }),
      })
      assert.deepEqual([answer.status, ((await answer.json()) as { error: string }).error], [400, 'invalid_grant'])
    })

    it('a person who agrees after that has a consent again, also in a session from before', async () => {
      await connected(email('returning'))
      const before = await connect.beginConnectSession()
      await before.signIn(email('returning'))
      assert.equal(await revoke('returning'), 200)
      assert.equal((await before.agree()).status, 200)
      const { access_token: token } = await before.redeem(await before.finish())
      assert.equal((await read(token)).status, 200)
    })
  })

  it('a removed connection is gone for the application too', async () => {
    const { token, connectionId } = await connected('remove-mine@example.com')
    const page = await signIn('remove-mine@example.com')
    assert.equal((await page.call('DELETE', `/me/connections/${connectionId}`)).status, 200)
    assert.deepEqual(((await (await read(token)).json()) as { data: unknown[] }).data, [])
    assert.equal((await page.call('DELETE', `/me/connections/${connectionId}`)).status, 404)
  })

  it('cross-user: another user’s grant or connection is a 404, like a missing one', async () => {
    const { token, connectionId } = await connected('their@example.com')
    const theirs = await signIn('their@example.com')
    const grantId = (await theirs.me()).grants[0]?.grant_id ?? ''
    const mine = await signIn('mine@example.com')
    for (const path of [
      `/me/grants/${grantId}`,
      `/me/connections/${connectionId}`,
      '/me/grants/x',
      '/me/connections/x',
    ]) {
      assert.equal((await mine.call('DELETE', path)).status, 404)
    }
    assert.equal((await read(token)).status, 200)
  })

  it('deleting the account leaves nothing of the user and no working token', async () => {
    const { token } = await connected('delete@example.com')
    const open = await connect.beginConnectSession()
    await open.enter('delete@example.com')
    await open.add(await connect.mintKey('empty'))
    const { user_key: userKey } = await connect.db.row<{ user_key: string }>(
      `select user_key from users where email = 'delete@example.com'`,
    )
    const page = await signIn('delete@example.com')
    assert.deepEqual((await page.call('DELETE', '/me')).body, { removed: true })
    assert.equal((await read(token)).status, 401)
    assert.equal((await page.call('GET', '/me')).status, 401)
    assert.equal((await open.call('GET', '/session')).status, 401)
    const tables = await connect.db.rows<{ name: string }>(
      `select c.table_name as name from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
       where c.table_schema = 'public' and c.column_name = 'user_key' and t.table_type = 'BASE TABLE'`,
    )
    assert.ok(tables.length > 30)
    // A token without its family is refused; its row lives fifteen minutes. The tenant's feed has to say that the user
    // left. Everything else is gone with the request, except notices and large histories, which jobs remove within
    // minutes.
    const kept = ['access_tokens', 'tenant_changes', 'feed_users']
    const listLeft = async (): Promise<string[]> => {
      const left: string[] = []
      for (const { name } of tables.filter((table) => !kept.includes(table.name))) {
        const rows = await connect.db.rows(`select 1 from ${name} where user_key = $1 limit 1`, [userKey])
        if (rows.length > 0) left.push(name)
      }
      return left
    }
    assert.equal(await connect.db.maybeRow('select 1 from users where user_key = $1', [userKey]), undefined)
    await connect.moveClock(61)
    await until(async () => ((await listLeft()).length === 0 ? true : undefined)).catch(async () =>
      assert.deepEqual(await listLeft(), []),
    )
  })

  it('signing out ends this session, and no other one of the same user', async () => {
    const [here, elsewhere] = [await signIn('leaving@example.com'), await signIn('leaving@example.com')]
    assert.deepEqual((await here.call('DELETE', '/me/session')).body, { signed_out: true })
    assert.equal((await here.call('GET', '/me')).status, 401)
    assert.equal((await here.call('DELETE', '/me/session')).status, 401)
    assert.equal((await elsewhere.call('GET', '/me')).status, 200)
  })

  it('ends after fifteen minutes without requests, and after an hour in any case', async () => {
    const idle = await signIn('idle@example.com')
    await connect.moveClock(800)
    assert.equal((await idle.call('GET', '/me')).status, 200)
    await connect.moveClock(900)
    assert.equal((await idle.call('GET', '/me')).status, 401)

    const busy = await signIn('busy@example.com')
    for (let turn = 0; turn < 4; turn += 1) {
      await connect.moveClock(800)
      assert.equal((await busy.call('GET', '/me')).status, 200)
    }
    await connect.moveClock(400)
    assert.equal((await busy.call('GET', '/me')).status, 401)
  })
})
