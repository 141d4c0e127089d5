/** One caller must not take all connections to the database: those who wait for a lock hold one each. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { demo } from '../../../../test/application.ts'
import { until } from '../../../../test/until.ts'
import { createTenants } from '../tenants/index.ts'
import { openResource } from './test-resource.ts'

/**
 * Of these, one holds the lock, one reads the page of another user, and one is spare for the service's own upkeep, which
 * may come to the locked table at any moment and then waits like the requests.
 */
const poolSize = 10
/** A caller has less than half of the connections. */
const atOnce = 4
/** The callers of a tenant together. */
const tenantAtOnce = 7

describe('a caller whose requests wait', async () => {
  const api = await openResource({
    settings: {
      DATABASE_POOL_SIZE: String(poolSize),
      DATABASE_ACQUIRE_TIMEOUT: '3000',
      ASSAY_TRUSTED_PROXIES: '127.0.0.1',
      ASSAY_LIMIT_SIGN_IN_CODES: '5',
    },
  })
  const { db } = api.service
  const eve = await api.signIn('eve', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })

  /** Runs `work` while `requests` of one caller wait for a row that is locked here. */
  async function whileWaiting(
    lock: string,
    query: string,
    requests: () => Promise<{ status: number }>[],
    work: () => Promise<void>,
    waitingAtOnce = atOnce,
  ): Promise<number[]> {
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%${query}%'`
    let sent: Promise<{ status: number }>[] = []
    await db.transaction(async (tx) => {
      await tx.rows(lock)
      sent = requests()
      await until('the requests wait', async () =>
        (await db.rows(waiting)).length >= waitingAtOnce ? true : undefined,
      )
      await work()
    })
    return (await Promise.all(sent)).map(({ status }) => status)
  }

  /** What another user sees meanwhile. */
  const readPage = async (): Promise<void> => {
    const page = await api.call('GET', '/accounts/v2/transactions', ann.access_token)
    assert.equal(page.status, 200, page.text)
  }

  it('for each other leaves connections to all other users', async () => {
    const claim = (): Promise<{ status: number }> =>
      api.call('POST', '/accounts/v2/claims', eve.access_token, { claim: 'value_at_least', amount_in_usd: '1' })
    assert.equal((await claim()).status, 200)
    const statuses = await whileWaiting(
      'select from claim_subjects for update',
      'insert into claim_subjects',
      () => Array.from({ length: 3 * poolSize }, claim),
      readPage,
    )
    assert.deepEqual(new Set(statuses), new Set([200]), 'every claim is made in its turn')
  })

  it('without an account leaves connections to the others, whichever session it uses', async () => {
    const sessions = await Promise.all(Array.from({ length: 3 * poolSize }, beginSession))
    await whileWaiting(
      'select from connect_sessions for update',
      'connect_sessions where id',
      () => sessions.map((secret) => api.call('POST', '/connect/v1/session/decline', secret)),
      readPage,
    )
  })

  it('with many streams of sessions leaves connections to the others', async (t) => {
    const leaving = new AbortController()
    t.after(() => leaving.abort())
    const secrets = await Promise.all(Array.from({ length: 3 * poolSize }, beginSession))
    for (const secret of secrets) {
      const stream = await fetch(`${api.service.url}/connect/v1/session/events`, {
        headers: { authorization: `Bearer ${secret}` },
        signal: leaving.signal,
      })
      assert.equal(stream.status, 200)
    }
    await whileWaiting(
      'lock table connect_sessions in access exclusive mode',
      'connect_sessions',
      () => [],
      async () => {
        // Longer than a stream rests between two looks: without turns, all of them wait for the table by then.
        const endsAt = performance.now() + 5_000
        while (performance.now() < endsAt) await readPage()
      },
    )
  })

  it('with one session that each request marks as used leaves connections to the others', async () => {
    const secret = await beginManaging()
    const look = (): Promise<{ status: number }> => api.call('GET', '/connect/v1/me', secret)
    const statuses = await whileWaiting(
      'select from manage_sessions for update',
      'update manage_sessions',
      () => Array.from({ length: 3 * poolSize }, look),
      readPage,
    )
    assert.deepEqual(new Set(statuses), new Set([401]), 'no user has signed in')
  })

  const ownPages = [
    { name: 'a session', path: '/connect/v1/session', begin: beginSession },
    { name: 'the user’s own page', path: '/connect/v1/me', begin: beginManaging },
  ] as const
  for (const { name, path, begin } of ownPages) {
    it(`with ${name}, which takes several statements, leaves connections to the others`, async () => {
      const secret = await begin()
      await api.call('POST', `${path}/email`, secret, { email: 'eve@example.com' })
      const code = await until('the mail', async () => {
        const { body } = await api.call<{ mail: { code: string } | null }>('GET', `${path}/sandbox`, secret)
        return body.mail?.code
      })
      const signedIn = await api.call('POST', `${path}/code`, secret, { code })
      assert.equal(signedIn.status, 200, signedIn.text)
      const statuses = await whileWaiting(
        'lock table users, tenants, connections, grants in access exclusive mode',
        '',
        () => Array.from({ length: poolSize }, () => api.call('GET', path, secret)),
        async () => {
          const refresh = await api.call('GET', '/accounts/v2/refreshes/rfr_unknown', ann.access_token)
          assert.equal(refresh.status, 404, refresh.text)
        },
      )
      assert.deepEqual(new Set(statuses), new Set([200]), 'every request is answered in its turn')
    })
  }

  it('with one refresh token leaves connections to the others', async () => {
    const refresh = (): Promise<{ status: number }> =>
      fetch(`${api.service.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          ...{ grant_type: 'refresh_token', refresh_token: eve.refresh_token },
          ...{ client_id: demo.clientId, client_secret: demo.secret },
        }),
      })
    const statuses = await whileWaiting(
      'select from token_families for update',
      'update token_families',
      () => Array.from({ length: 3 * poolSize }, refresh),
      readPage,
    )
    assert.deepEqual(new Set(statuses), new Set([200]), 'every request is answered in its turn')
  })

  it('with many keys to check leaves connections to the others', async () => {
    const secretKey = randomBytes(64).toString('base64')
    const add = (): Promise<{ status: number }> =>
      api.call('POST', '/accounts/v2/providers', eve.access_token, {
        provider_id: 'kraken',
        connection: { type: 'api_key', api_key: randomBytes(42).toString('base64'), secret_key: secretKey },
      })
    await whileWaiting(
      `select from user_ledgers where user_key = (select user_key from users where id = '${eve.user_id}') for update`,
      'insert into user_ledgers',
      () => Array.from({ length: 3 * poolSize }, add),
      readPage,
    )
  })

  it('for sign-in codes leaves connections to the others, however many addresses it has', async () => {
    /** Answers with the status of a POST that comes from this address of the machine. */
    const postFrom = (localAddress: string, path: string, secret: string, body: object): Promise<{ status: number }> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
        const options = { method: 'POST', localAddress, agent: false, headers }
        const sent = request(`${api.service.url}${path}`, options, (response) => {
          response.resume()
          resolve({ status: response.statusCode ?? 0 })
        })
        sent.once('error', reject).end(JSON.stringify(body))
      })
    const secrets = await Promise.all(Array.from({ length: 3 * poolSize }, beginManaging))
    await whileWaiting(
      'lock table sign_in_codes in access exclusive mode',
      'sign_in_codes',
      () =>
        secrets.map((secret, index) =>
          postFrom(`127.0.0.${2 + index}`, '/connect/v1/me/email', secret, { email: `eve${index}@example.com` }),
        ),
      readPage,
      1,
    )
  })

  it('for sign-in codes leaves places in the line to other networks, however many addresses its own has', async () => {
    const ask = async (ip: string, secret: string, email: string) => {
      const { status, headers } = await fetch(`${api.service.url}/connect/v1/me/email`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'x-forwarded-for': ip },
        body: JSON.stringify({ email }),
      })
      return { status, retryAfterSeconds: Number(headers.get('retry-after')) }
    }
    const over = { ip: '198.51.100.7', email: 'over@example.com' }
    for (let code = 0; code < 5; code += 1) {
      assert.equal((await ask(over.ip, await beginManaging(), over.email)).status, 200)
    }
    const victim = await beginManaging()
    // More than wait for one tenant, from the /64s of one /48: each has four requests at once.
    const secrets = await Promise.all(Array.from({ length: 160 }, beginManaging))
    let refused = 0
    const askFromHome = async (index: number, secret: string) => {
      const answer = await ask(`2001:db8:1:${index.toString(16)}::1`, secret, `${randomUUID()}@attacker.example`)
      if (answer.status === 429) refused += 1
      return answer
    }
    let answer: ReturnType<typeof ask> | undefined
    await whileWaiting(
      'lock table sign_in_codes in access exclusive mode',
      'sign_in_codes',
      () => secrets.flatMap((secret, index) => Array.from({ length: 4 }, () => askFromHome(index, secret))),
      async () => {
        await until('a line is full', () => (refused > 0 ? true : undefined))
        // Beyond a limit, a request is refused because of that limit, and does not stand in line for it.
        const { status, retryAfterSeconds } = await ask(over.ip, victim, over.email)
        assert.equal(status, 429)
        assert.ok(retryAfterSeconds > 3_000, `after ${retryAfterSeconds} s`)
        answer = ask('203.0.113.7', victim, 'victim@example.com')
      },
      1,
    )
    assert.equal((await answer)?.status, 200)
  })

  it('with as many tokens as it likes leaves connections to the others', async () => {
    const issue = async (): Promise<string> => {
      const body = new URLSearchParams({
        ...{
          grant_type: 'client_credentials',
          client_id: 'cli_enterprise',
          client_secret: 'sandbox-enterprise-secret',
        },
      })
      const response = await fetch(`${api.service.url}/oauth/token`, { method: 'POST', body })
      return ((await response.json()) as { access_token: string }).access_token
    }
    const tokens = await Promise.all(Array.from({ length: 3 * poolSize }, issue))
    const statuses = await whileWaiting(
      'lock table transactions in access exclusive mode',
      'transactions',
      () => tokens.map((token) => api.call('GET', '/enterprise/v2/transactions?types=send', token)),
      async () => {
        const refresh = await api.call('GET', '/accounts/v2/refreshes/rfr_unknown', ann.access_token)
        assert.equal(refresh.status, 404, refresh.text)
      },
    )
    assert.deepEqual(new Set(statuses), new Set([200]), 'every page is read in its turn')
  })

  it('leaves connections to other tenants, however many users of its own tenant wait too', async () => {
    const { token } = await openOtherTenant()
    const names = Array.from({ length: 2 * poolSize }, (_, index) => `one of many ${index}`)
    const users = await Promise.all(names.map((name) => api.signIn(name)))
    const claim = ({ access_token }: { access_token: string }): Promise<{ status: number }> =>
      api.call('POST', '/accounts/v2/claims', access_token, { claim: 'value_at_least', amount_in_usd: '1' })
    for (const user of users) assert.equal((await claim(user)).status, 200)
    const statuses = await whileWaiting(
      'select from claim_subjects for update',
      'insert into claim_subjects',
      () => users.map(claim),
      async () => {
        for (const path of ['/accounts/v2/transactions', '/accounts/v2/providers', '/accounts/v2/assets']) {
          const page = await api.call('GET', path, token)
          assert.equal(page.status, 200, page.text)
        }
      },
      tenantAtOnce,
    )
    assert.deepEqual(new Set(statuses), new Set([200]), 'every claim is made in its turn')
  })

  it('for the later pages of exports leaves connections, too', async () => {
    const { token } = await openOtherTenant()
    // More than a page of an export.
    const providers = [{ provider_id: 'kraken' }]
    const names = Array.from({ length: poolSize / 2 }, (_, index) => `exporting ${index}`)
    const users = await Promise.all(names.map((name) => api.signIn(name, { providers })))
    // As many as there are connections: without turns, they would take all of them.
    const exports = [...users, ...users]
    const statuses = await whileWaiting(
      'lock table grants in access exclusive mode',
      'from grants',
      () =>
        exports.map(({ access_token }) => api.call('GET', '/accounts/v2/transactions/export?format=csv', access_token)),
      async () => {
        const page = await api.call('GET', '/accounts/v2/transactions', token)
        assert.equal(page.status, 200, page.text)
      },
      tenantAtOnce,
    )
    assert.deepEqual(
      statuses,
      Array.from(exports, () => 200),
    )
  })

  async function beginSession(): Promise<string> {
    const query = new URLSearchParams({
      ...{ client_id: demo.clientId, code_challenge_method: 'S256', state: randomUUID() },
      code_challenge: createHash('sha256').update(randomBytes(8)).digest('base64url'),
    }).toString()
    const { body } = await api.call<{ session_secret: string }>('POST', '/connect/v1/session', undefined, { query })
    return body.session_secret
  }

  /** The secret of a user's own page, before the sign-in. */
  async function beginManaging(): Promise<string> {
    const { body } = await api.call<{ session_secret: string }>('POST', '/connect/v1/me/session', undefined, {
      client_id: demo.clientId,
    })
    return body.session_secret
  }

  /** Another tenant with one user. */
  async function openOtherTenant(): Promise<{ token: string }> {
    const tenants = createTenants({ db })
    const other = await tenants.createTenant('Other')
    const redirectUri = 'https://other.example/callback'
    const { client, secret } = await tenants.createClient(other.tenantId, {
      ...{ name: 'Other', redirectUris: [redirectUri], embedOrigins: [] },
      scopes: ['assets:read', 'providers:read', 'transactions:read'],
    })
    const verifier = randomBytes(32).toString('base64url')
    const { body } = await api.call<{ code: string }>('POST', '/sandbox/authorizations', undefined, {
      ...{ client_id: client.clientId, redirect_uri: redirectUri, state: randomUUID(), user: 'ann', providers: [] },
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    const response = await fetch(`${api.service.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        ...{ grant_type: 'authorization_code', code: body.code, code_verifier: verifier, redirect_uri: redirectUri },
        ...{ client_id: client.clientId, client_secret: secret ?? '' },
      }),
    })
    return { token: ((await response.json()) as { access_token: string }).access_token }
  }
})
