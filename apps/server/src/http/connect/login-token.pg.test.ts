/** Signing in by login_token (docs/guides/integrate.md, "Users whom you know"), by the rules of RFC 8725. */
import { toConsentRecord } from '@assay/core/consent'
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose'
import { until } from '../../../../../test/until.ts'
import { createTenants } from '../../tenants/index.ts'
import { startConnect, toQuery, type WireSession, type Problem } from './test-browser.ts'

describe('signing in by login_token', async () => {
  const connect = await startConnect()
  const tenants = createTenants({ db: connect.db })
  const es256 = await generateKeyPair('ES256', { extractable: true })
  const ed25519 = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const stranger = await generateKeyPair('ES256', { extractable: true })
  const esKid = await tenants.addLoginKey('cli_demo', await exportJWK(es256.publicKey))
  const edKid = await tenants.addLoginKey('cli_demo', await exportJWK(ed25519.publicKey))

  interface Wishes {
    claims?: Record<string, unknown>
    key?: CryptoKey
    alg?: string
    kid?: string
    lifeSeconds?: number
    /** How long after now it was issued; negative means before. */
    laterSeconds?: number
  }
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const write = async (wishes: Wishes = {}): Promise<string> => {
    const iat = Math.floor(Date.now() / 1_000) + (wishes.laterSeconds ?? 0)
    const claims = { iss: 'cli_demo', sub: 'ann-17', aud: connect.url, jti: randomUUID(), code_challenge: challenge }
    return new SignJWT({ ...claims, iat, exp: iat + (wishes.lifeSeconds ?? 60), ...wishes.claims })
      .setProtectedHeader({ alg: wishes.alg ?? 'ES256', kid: wishes.kid ?? esKid })
      .sign(wishes.key ?? es256.privateKey)
  }
  const begin = async (token: string) => {
    const query = toQuery(verifier, randomUUID(), { login_token: token })
    type Begun = { session: WireSession | null; session_secret: string | null; redirect_to: string | null }
    const { body } = await connect.call<Begun>('POST', '/session', { body: { query } })
    const redirect = body.redirect_to === null ? undefined : new URL(body.redirect_to)
    return { ...body, told: redirect?.searchParams.get('error_description') ?? null }
  }

  const agree = async (secret: string) => {
    const { body } = await connect.call<{ session: WireSession }>('GET', '/session', { secret })
    const agreeing = { session_id: body.session.session_id }
    return connect.call<{ detail?: string }>('POST', '/session/consent', { secret, body: agreeing })
  }

  it('names the user by the tenant’s own id, with ES256 and with EdDSA', async () => {
    const first = await begin(await write())
    assert.deepEqual([first.session?.step, first.session?.user], ['consent', { email: null }])
    const second = await begin(await write({ alg: 'EdDSA', key: ed25519.privateKey, kid: edKid }))
    assert.equal(second.session?.step, 'consent')
    const users = await connect.db.rows(`select id from users where external_user_id = 'ann-17'`)
    assert.equal(users.length, 1)
  })

  it('the consent does not name the own page, which such a user cannot open, in what is shown and what is stored', async () => {
    const { session, session_secret } = await begin(await write({ claims: { sub: 'without-own-page' } }))
    assert.ok(session !== null)
    const { client, tenant, scopes, grant_expires_at: expiresAt, shares_email: sharesEmail } = session
    const shown = toConsentRecord(
      { app: client.name, tenant: tenant.name, scopes, expiresAt, sharesEmail, existing: [] },
      'en',
    )
    const body = { session_id: session.session_id, language: 'en' }
    await connect.call('POST', '/session/consent', { secret: session_secret ?? '', body })
    const { consent } = await connect.db.row<{ consent: { text: string } }>(
      'select consent from connect_sessions where id = $1',
      [session.session_id],
    )
    assert.equal(consent.text, shown)
    assert.match(shown, new RegExp(`End it whenever you like at ${client.name}\\.`))
    assert.doesNotMatch(shown, /own page/)
  })

  it('an application that has a user consent again and again is stopped before it fills the audit log', async () => {
    const consent = async (): Promise<number> => {
      const { session_secret: secret } = await begin(await write({ claims: { sub: 'restless' } }))
      return (await agree(secret ?? '')).status
    }
    assert.equal(await consent(), 200)
    await connect.db.execute(
      `insert into audit_entries (tenant_id, at, actor, action, subject, fields, user_id)
       select tenant_id, at, actor, action, subject, fields, user_id
       from audit_entries cross join generate_series(1, 1999)
       where user_id = (select id from users where external_user_id = 'restless')`,
    )
    assert.equal(await consent(), 429)
  })

  it('login_token replay: the second use is refused', async () => {
    const token = await write()
    assert.equal((await begin(token)).session?.step, 'consent')
    const again = await begin(token)
    assert.deepEqual([again.session_secret, again.told], [null, 'login_token was used before'])
  })

  it('login_token replay: of two simultaneous uses, one wins', async () => {
    const token = await write()
    const begun = await Promise.all([begin(token), begin(token), begin(token)])
    assert.equal(begun.filter(({ session }) => session !== null).length, 1)
  })

  const refused: [string, Wishes, RegExp][] = [
    [
      'another request’s code_challenge',
      { claims: { code_challenge: 'x'.repeat(43) } },
      /must have the code_challenge/,
    ],
    ['another audience', { claims: { aud: 'https://other.example' } }, /wrong or missing aud/],
    ['further audiences', { claims: { aud: [connect.url, 'https://other.example'] } }, /wrong or missing aud/],
    ['another client as issuer', { claims: { iss: 'cli_enterprise' } }, /wrong or missing iss/],
    ['a life of more than a minute', { lifeSeconds: 61 }, /at most 60 seconds/],
    ['an end before its beginning', { lifeSeconds: -1 }, /must have an exp after its iat/],
    ['an end at its beginning', { lifeSeconds: 0 }, /must have an exp after its iat/],
    ['an end in the past', { laterSeconds: -120 }, /has expired/],
    ['a beginning in the future', { laterSeconds: 30 }, /from the future/],
    ['no jti', { claims: { jti: undefined } }, /wrong or missing jti/],
    ['an empty sub', { claims: { sub: '' } }, /must have a sub/],
    ['a sub with a control character', { claims: { sub: 'ann\0' } }, /must have a sub/],
    ['a sub that is not text', { claims: { sub: 7 } }, /login_token/],
    ['a key that is not registered', { key: stranger.privateKey }, /wrong signature/],
    ['a kid that is not registered', { kid: 'other' }, /not registered/],
  ]
  for (const [name, wishes, told] of refused) {
    it(`refuses ${name}`, async () => {
      const { session_secret, told: answer } = await begin(await write(wishes))
      assert.equal(session_secret, null)
      assert.match(answer ?? '', told)
    })
  }

  it('refuses alg none and HMAC with the public key (RFC 8725 §2.1)', async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const iat = Math.floor(Date.now() / 1_000)
    const claims = {
      iss: 'cli_demo',
      sub: 'eve',
      aud: connect.url,
      jti: 'x',
      code_challenge: challenge,
      iat,
      exp: iat + 60,
    }
    const none = `${part({ alg: 'none' })}.${part(claims)}.`
    const publicJwk = JSON.stringify(await exportJWK(es256.publicKey))
    const hmac = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: esKid })
      .sign(new TextEncoder().encode(publicJwk))
    for (const token of [none, hmac]) assert.equal((await begin(token)).session, null)
    assert.equal(await connect.db.maybeRow(`select 1 from users where external_user_id = 'eve'`), undefined)
  })

  it('a user by login_token and a user by email are different users, even with the same name', async () => {
    const browser = await connect.beginConnectSession()
    await browser.signIn('both@example.com')
    await begin(await write({ claims: { sub: 'both@example.com' } }))
    const users = await connect.db.rows(
      `select id from users where email = 'both@example.com' or external_user_id = 'both@example.com'`,
    )
    assert.equal(users.length, 2)
  })

  it('forwarded link: its sender cannot take over what another person connected with it', async () => {
    const victim = await begin(await write({ claims: { sub: 'mallory' } }))
    const secret = victim.session_secret ?? ''
    await agree(secret)
    const body = { provider_id: 'kraken', connection: { type: 'api_key', ...(await connect.mintKey('empty')) } }
    const added = await connect.call<{ data: { added: boolean } }>('POST', '/session/connections', { secret, body })
    assert.equal(added.body.data.added, true)
    const mallory = await begin(await write({ claims: { sub: 'mallory' } }))
    assert.equal(mallory.session?.unfinished, null)
    const taken = await connect.call('POST', '/session/resume', {
      secret: mallory.session_secret ?? '',
      body: { session_id: victim.session?.session_id },
    })
    assert.equal(taken.status, 404)
  })

  it('a removed login key no longer signs in any user', async () => {
    const key = await generateKeyPair('ES256', { extractable: true })
    const kid = await tenants.addLoginKey('cli_demo', await exportJWK(key.publicKey))
    const wishes = { key: key.privateKey, kid }
    assert.equal((await begin(await write(wishes))).session?.step, 'consent')
    await tenants.removeLoginKey('cli_demo', kid)
    const after = await begin(await write(wishes))
    assert.deepEqual([after.session_secret, /not registered/.test(after.told ?? '')], [null, true])
  })

  describe('a login key that is taken away also ends the open sessions of its tokens', () => {
    const newKey = async () => {
      const key = await generateKeyPair('ES256', { extractable: true })
      const jwk = await exportJWK(key.publicKey)
      return { key: key.privateKey, jwk, kid: await tenants.addLoginKey('cli_demo', jwk) }
    }
    const beginWith = async ({ key, kid }: { key: CryptoKey; kid: string }, agreed = true): Promise<string> => {
      const { session_secret: secret } = await begin(await write({ key, kid, claims: { sub: randomUUID() } }))
      assert.ok(secret !== null)
      if (agreed) await agree(secret)
      return secret
    }
    const statusOf = async (secret: string): Promise<number> =>
      (await connect.call('GET', '/session', { secret })).status

    it('when it is removed: whatever step they are in, and those of no other key', async () => {
      const [stolen, other] = [await newKey(), await newKey()]
      const agreed = await beginWith(stolen)
      const signedIn = await beginWith(stolen, false)
      const finished = await beginWith(stolen)
      assert.equal((await connect.call('POST', '/session/finish', { secret: finished, body: {} })).status, 200)
      const ofOther = await beginWith(other)
      await tenants.removeLoginKey('cli_demo', stolen.kid)
      assert.deepEqual([await statusOf(agreed), await statusOf(signedIn)], [401, 401])
      assert.equal((await connect.call('POST', '/session/finish', { secret: agreed, body: {} })).status, 401)
      assert.deepEqual([await statusOf(finished), await statusOf(ofOther)], [200, 200])
    })

    it('when the person still has to confirm it by email', async (t) => {
      await tenants.updateClient('cli_demo', { confirmEveryConsent: true })
      t.after(() => tenants.updateClient('cli_demo', { confirmEveryConsent: false }))
      const stolen = await newKey()
      const claimed = await beginWith(stolen, false)
      await tenants.removeLoginKey('cli_demo', stolen.kid)
      assert.equal(await statusOf(claimed), 401)
    })

    it('when another key takes its name, but not when the same one is registered again', async () => {
      const first = await newKey()
      const secret = await beginWith(first)
      await tenants.addLoginKey('cli_demo', first.jwk)
      assert.equal(await statusOf(secret), 200)
      const second = await generateKeyPair('ES256', { extractable: true })
      await tenants.addLoginKey('cli_demo', { ...(await exportJWK(second.publicKey)), kid: first.kid })
      assert.equal(await statusOf(secret), 401)
    })

    it('when its client is disabled', async () => {
      const scopes = ['assets:read'] as const
      const { tenantId } = await tenants.getClient('cli_demo')
      const registration = { name: 'Stopped', redirectUris: ['https://stopped.example/cb'], scopes }
      const { client } = await tenants.createClient(tenantId, registration)
      const { clientId } = client
      await tenants.addLoginKey(clientId, await exportJWK(es256.publicKey))
      const token = await write({ claims: { iss: clientId } })
      const query = toQuery(verifier, randomUUID(), { client_id: clientId, login_token: token })
      const { body } = await connect.call<{ session_secret: string }>('POST', '/session', { body: { query } })
      assert.equal(await statusOf(body.session_secret), 200)
      await tenants.disableClient(clientId)
      assert.equal(await statusOf(body.session_secret), 401)
    })
  })

  describe('for a client that requires a confirmed first consent', () => {
    const mail = async (secret: string, email: string) => {
      type Help = { mail: { code: string } | null }
      const newest = async () => (await connect.call<Help>('GET', '/session/sandbox', { secret })).body.mail?.code
      // The session may have received a mail before.
      const former = await newest()
      await connect.call('POST', '/session/email', { secret, body: { email } })
      const code = await until('the mail', async () => {
        const found = await newest()
        return found === former ? undefined : found
      })
      return connect.call<{ session: WireSession } & Problem>('POST', '/session/code', { secret, body: { code } })
    }
    const beginAs = async (sub: string): Promise<{ secret: string; session: WireSession }> => {
      const { session, session_secret: secret } = await begin(await write({ claims: { sub } }))
      assert.ok(session !== null && secret !== null)
      return { session, secret }
    }
    /** Consents, adds an account and lets the application redeem the code. */
    const consent = async (secret: string): Promise<void> => {
      await agree(secret)
      const body = { provider_id: 'kraken', connection: { type: 'api_key', ...(await connect.mintKey('empty')) } }
      await connect.call('POST', '/session/connections', { secret, body })
      const { body: finished } = await connect.call<{ redirect_to: string }>('POST', '/session/finish', {
        secret,
        body: {},
      })
      const code = new URL(finished.redirect_to).searchParams.get('code') ?? ''
      const response = await fetch(`${connect.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          ...{ grant_type: 'authorization_code', client_id: 'cli_demo', code, code_verifier: verifier },
          redirect_uri: 'http://127.0.0.1:4100/callback',
        }),
      })
      assert.equal(response.status, 200)
    }

    /** As the tenant does. */
    const endConsents = async (userId: string): Promise<Response> => {
      const tenant = await fetch(`${connect.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          ...{ grant_type: 'client_credentials', client_id: 'cli_enterprise', scope: 'enterprise:manage' },
          client_secret: 'sandbox-enterprise-secret',
        }),
      })
      const { access_token: token } = (await tenant.json()) as { access_token: string }
      const headers = { authorization: `Bearer ${token}` }
      return fetch(`${connect.url}/enterprise/v2/users/${userId}`, { method: 'DELETE', headers })
    }

    it('a thief with only a login key sees nothing of a user and cannot consent in their name', async (t) => {
      const early = await beginAs('nora')
      await consent(early.secret)
      await tenants.updateClient('cli_demo', { confirmFirstConsent: true })
      t.after(() => tenants.updateClient('cli_demo', { confirmFirstConsent: false }))
      // A user with a live grant does not consent for the first time.
      assert.equal((await beginAs('nora')).session.step, 'consent')
      await connect.db.execute(`update grants set revoked_at = granted_at`)

      const thief = await beginAs('nora')
      const { step, user, existing } = thief.session
      assert.deepEqual([step, user, existing], ['sign_in', null, []])
      const forced = await agree(thief.secret)
      assert.deepEqual([forced.status, forced.body.detail], [400, 'Sign in first.'])
      // The user has connected accounts but has never proved an address, so the thief's must not become the first.
      const refused = await mail(thief.secret, 'thief@example.com')
      assert.equal(refused.status, 400)
      assert.equal((await beginAs('nora')).session.step, 'sign_in')
      // The right digits are not called wrong, and no address is said to belong to the account.
      const [item] = refused.body.errors
      assert.equal(item?.cause, 'account_mismatch')
      assert.match(item?.message ?? '', /was not confirmed with this email address/)
    })

    it('a thief who is signed in when the tenant ends the consent cannot give it again without the person', async (t) => {
      await consent((await beginAs('quinn')).secret)
      await tenants.updateClient('cli_demo', { confirmFirstConsent: true })
      t.after(() => tenants.updateClient('cli_demo', { confirmFirstConsent: false }))
      const thief = await beginAs('quinn')
      assert.equal(thief.session.step, 'consent')
      const { id } = await connect.db.row<{ id: string }>(`select id from users where external_user_id = 'quinn'`)
      assert.equal((await endConsents(id)).status, 200)
      for (const path of ['/session/consent', '/session/finish']) {
        assert.equal((await connect.call('POST', path, { secret: thief.secret, body: {} })).status, 401, path)
      }
      assert.equal((await beginAs('quinn')).session.step, 'sign_in')
    })

    it('a session that begins while the consent is being ended waits for that, and asks for the person', async (t) => {
      await consent((await beginAs('ruth')).secret)
      await tenants.updateClient('cli_demo', { confirmFirstConsent: true })
      t.after(() => tenants.updateClient('cli_demo', { confirmFirstConsent: false }))
      const { id } = await connect.db.row<{ id: string }>(`select id from users where external_user_id = 'ruth'`)
      const waits = async (like: string): Promise<true | undefined> => {
        const query = `select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like $1`
        return (await connect.db.rows(query, [like])).length > 0 ? true : undefined
      }
      // Holds the end of the consent up: what it ends besides sessions is ended later.
      const { ending, begins } = await connect.db.transaction(async (tx) => {
        await tx.rows('select from grants where user_id = $1 for share', [id])
        const end = endConsents(id)
        await until('the end waits', () => waits('%from grants%for update%'))
        const begun = { session: beginAs('ruth'), hasBegun: false }
        void begun.session.then(() => (begun.hasBegun = true))
        await until('the session waits, or has begun', () => begun.hasBegun || waits('%advisory%'))
        return { ending: end, begins: begun }
      })
      assert.equal((await ending).status, 200)
      assert.equal((await begins.session).session.step, 'sign_in')
    })

    it('the person proves an address once; later first consents ask for the same address', async (t) => {
      await tenants.updateClient('cli_demo', { confirmFirstConsent: true })
      t.after(() => tenants.updateClient('cli_demo', { confirmFirstConsent: false }))
      const first = await beginAs('olga')
      const confirmed = await mail(first.secret, 'olga@example.com')
      assert.deepEqual([confirmed.status, confirmed.body.session.step], [200, 'consent'])
      await consent(first.secret)
      assert.equal((await beginAs('olga')).session.step, 'consent')
      await connect.db.execute(`update grants set revoked_at = granted_at`)
      const thief = await beginAs('olga')
      assert.equal((await mail(thief.secret, 'thief@example.com')).status, 400)
      const again = await mail(thief.secret, 'olga@example.com')
      assert.deepEqual([again.status, again.body.session.existing.length], [200, 1])
      // This is still the tenant's own user, not one identified by email.
      const users = await connect.db.rows(`select email, external_user_id from users where confirmed_email is not null`)
      assert.deepEqual(users, [{ email: null, external_user_id: 'olga' }])
    })

    it('when every consent is confirmed, a thief with a login key sees nothing and cannot consent, even with a live grant', async (t) => {
      await tenants.updateClient('cli_demo', { confirmEveryConsent: true })
      t.after(() => tenants.updateClient('cli_demo', { confirmEveryConsent: false }))
      const first = await beginAs('petra')
      assert.equal(first.session.step, 'sign_in')
      assert.equal((await mail(first.secret, 'petra@example.com')).status, 200)
      await consent(first.secret)
      const live = `select from grants join users using (user_key) where external_user_id = 'petra' and revoked_at is null`
      assert.equal((await connect.db.rows(live)).length, 1)

      const thief = await beginAs('petra')
      const { step, user, existing } = thief.session
      assert.deepEqual([step, user, existing], ['sign_in', null, []])
      assert.deepEqual((await agree(thief.secret)).body.detail, 'Sign in first.')
      assert.equal((await connect.call('POST', '/session/finish', { secret: thief.secret, body: {} })).status, 400)
      assert.equal((await mail(thief.secret, 'thief@example.com')).status, 400)
      const again = await mail(thief.secret, 'petra@example.com')
      assert.deepEqual([again.status, again.body.session.existing.length], [200, 1])
    })
  })

  it('private keys and keys of another type cannot be registered', async () => {
    const rsa = await generateKeyPair('RS256', { extractable: true })
    for (const jwk of [await exportJWK(es256.privateKey), await exportJWK(rsa.publicKey), {}, null, 'x']) {
      await assert.rejects(tenants.addLoginKey('cli_demo', jwk), /jwk /)
    }
  })
})
