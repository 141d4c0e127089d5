import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { platformScopes } from '../../tenants/index.ts'
import { familiesMax } from '../code-store.ts'
import { createOauth } from '../index.ts'
import { demo, enterprise, issuer, openOauth, redirectUri, testKeys } from '../test-oauth.ts'

describe('the token endpoint', async () => {
  const { db, tenants, oauth, redeemed, authorize, exchange, signIn, addClient, moveClock } = await openOauth()

  const byCode = { grant_type: 'authorization_code', redirect_uri: redirectUri }
  const bearer = (token: string) => oauth.authenticate(`Bearer ${token}`)

  describe('a code redeemed with its verifier (short-term, RFC 7636 §4.5)', () => {
    it('gives fifteen minutes of access and no refresh token', async () => {
      const { code, verifier, owner } = await authorize()
      const answer = await exchange({ ...byCode, code, code_verifier: verifier, client_id: 'cli_demo' })
      assert.deepEqual(Object.keys(answer).toSorted(), [
        'access_token',
        'expires_in',
        'grant_id',
        'scope',
        'token_type',
        'user_id',
      ])
      assert.equal(answer.expires_in, 900)
      assert.equal(answer.user_id, owner.userId)
      const caller = await bearer(answer.access_token)
      const { tenantKey, tenantId, userKey, userId } = caller
      assert.deepEqual({ tenantKey, tenantId, userKey, userId }, owner)
      assert.deepEqual([caller.clientId, caller.grantId], ['cli_demo', answer.grant_id])
      assert.deepEqual([...caller.scopes], [...platformScopes])
    })

    it('works with the method plain', async () => {
      const { code, verifier } = await authorize({ method: 'plain' })
      const answer = await exchange({ ...byCode, code, code_verifier: verifier, client_id: 'cli_demo' })
      assert.equal(answer.token_type, 'Bearer')
    })
  })

  describe('a code redeemed with the secret (long-term)', () => {
    it('also gives a refresh token for a year', async () => {
      const { code } = await authorize()
      const answer = await exchange({ ...byCode, code, ...demo })
      assert.equal(answer.refresh_token_expires_in, 31_536_000)
      assert.match(answer.refresh_token ?? '', /^[\w-]{75}$/)
    })

    it('gives none without offline_access', async () => {
      const { code } = await authorize({ scope: 'assets:read' })
      const answer = await exchange({ ...byCode, code, ...demo })
      assert.equal(answer.scope, 'assets:read')
      assert.ok(!('refresh_token' in answer))
    })

    it('ends the tokens that were not used for the longest time when one user and client have too many', async () => {
      const user = 'connects at every visit'
      const [used, unused] = [await signIn({ user }), await signIn({ user })]
      const renew = (refresh_token: string) => exchange({ grant_type: 'refresh_token', refresh_token, ...demo })
      await moveClock(1)
      await renew(used.refresh_token)
      const elsewhere = await signIn({ user: 'another user' })
      for (let visit = 0; visit < familiesMax - 1; visit += 1) {
        await moveClock(1)
        await signIn({ user })
      }
      const ended = await db.rows(`select user_id as "userId" from token_families where revoked_for = 'superseded'`)
      assert.deepEqual(ended, [{ userId: unused.user_id }])
      await assert.rejects(renew(unused.refresh_token), { code: 'invalid_grant' })
      await renew(elsewhere.refresh_token)
    })

    it('settles the session it came from, in the same transaction', async () => {
      const { code, owner } = await authorize({ connectSessionId: 'session-7' })
      const answer = await exchange({ ...byCode, code, ...demo })
      assert.deepEqual(redeemed.at(-1), {
        ...owner,
        clientId: 'cli_demo',
        grantId: answer.grant_id,
        connectSessionId: 'session-7',
      })
    })
  })

  describe('settling a session', () => {
    const failing = createOauth({
      db,
      tenants,
      keys: testKeys,
      issuer,
      widgetUrl: `${issuer}/connect`,
      randomBytes,
      onCodeRedeemed: () => Promise.reject(new Error('the disk is full')),
    })

    it('and redeeming the code are one step: when settling fails, the code is not spent and nothing is granted', async () => {
      const { code, owner } = await authorize({ user: 'unlucky', connectSessionId: 'session-8' })
      const fields = { ...byCode, code, ...demo }
      const request = { parameters: new Map(Object.entries(fields)), authorization: undefined }
      await assert.rejects(failing.token(request), /the disk is full/)
      assert.deepEqual(await oauth.listGrants(owner), [])
      const { user_id } = await exchange(fields)
      assert.equal(user_id, owner.userId)
    })
  })

  describe('a redemption is refused', async () => {
    const other = await addClient({ redirectUris: [redirectUri] })
    const strict = await addClient({ redirectUris: [redirectUri], requireCodeVerifier: true })
    const strictSecret = { client_id: strict.client.clientId, client_secret: strict.secret }

    it('without verifier and secret: invalid_request (PKCE downgrade, RFC 9700 §4.8.2)', async () => {
      const { code } = await authorize()
      await assert.rejects(exchange({ ...byCode, code, client_id: 'cli_demo' }), { code: 'invalid_request' })
    })

    it('with a verifier that does not match, in both flows: invalid_grant (RFC 7636 §4.6)', async () => {
      const { code } = await authorize()
      const { verifier } = await authorize()
      await assert.rejects(exchange({ ...byCode, code, code_verifier: verifier, client_id: 'cli_demo' }), {
        code: 'invalid_grant',
      })
      await assert.rejects(exchange({ ...byCode, code, code_verifier: verifier, ...demo }), { code: 'invalid_grant' })
    })

    it('with the S256 challenge as a plain verifier, whatever method is sent along: invalid_grant', async () => {
      const { code, challenge } = await authorize()
      const fields = { ...byCode, code, code_verifier: challenge, client_id: 'cli_demo' }
      await assert.rejects(exchange(fields), { code: 'invalid_grant' })
      await assert.rejects(exchange({ ...fields, code_challenge_method: 'plain' }), { code: 'invalid_grant' })
    })

    it('with the secret alone, for a client that must send the verifier: invalid_request', async () => {
      const { code, verifier } = await authorize({ clientId: strict.client.clientId })
      await assert.rejects(exchange({ ...byCode, code, ...strictSecret }), { code: 'invalid_request' })
      await exchange({ ...byCode, code, code_verifier: verifier, ...strictSecret })
    })

    it('when a stolen code is put into a session with another verifier (code injection, RFC 9700 §4.5)', async () => {
      const stolen = await authorize({ clientId: strict.client.clientId, user: 'victim' })
      const own = await authorize({ clientId: strict.client.clientId, user: 'attacker' })
      const fields = { ...byCode, code: stolen.code, code_verifier: own.verifier, ...strictSecret }
      await assert.rejects(exchange(fields), { code: 'invalid_grant' })
    })

    it('with a wrong secret, although the verifier is right: invalid_client', async () => {
      const { code, verifier } = await authorize()
      const fields = { ...byCode, code, code_verifier: verifier, client_id: 'cli_demo', client_secret: 'guess' }
      await assert.rejects(exchange(fields), { code: 'invalid_client' })
    })

    it("with another client's code, which stays valid for its own client (RFC 6749 §4.1.3)", async () => {
      const { code, verifier } = await authorize()
      const foreign = { client_id: other.client.clientId, client_secret: other.secret }
      await assert.rejects(exchange({ ...byCode, code, code_verifier: verifier, ...foreign }), {
        code: 'invalid_grant',
      })
      await exchange({ ...byCode, code, ...demo })
    })

    it('with another redirect_uri, or none (RFC 6749 §4.1.3)', async () => {
      const { code } = await authorize()
      for (const redirect_uri of [
        `${redirectUri}/`,
        `${redirectUri}?x=1`,
        redirectUri.toUpperCase(),
        'https://evil.example/',
      ]) {
        await assert.rejects(exchange({ ...byCode, code, redirect_uri, ...demo }), { code: 'invalid_grant' })
      }
      await assert.rejects(exchange({ grant_type: 'authorization_code', code, ...demo }), { code: 'invalid_request' })
    })

    it('after 60 seconds: invalid_grant (RFC 6749 §4.1.2)', async () => {
      const { code } = await authorize()
      await moveClock(60)
      await assert.rejects(exchange({ ...byCode, code, ...demo }), { code: 'invalid_grant' })
    })

    it('without spending the code, so that a thief without the verifier cannot invalidate it', async () => {
      const { code, verifier, challenge } = await authorize()
      await assert.rejects(exchange({ ...byCode, code, code_verifier: challenge, client_id: 'cli_demo' }))
      await exchange({ ...byCode, code, code_verifier: verifier, client_id: 'cli_demo' })
    })
  })

  describe('a code presented a second time (RFC 6749 §4.1.2, RFC 9700 §4.14)', () => {
    it('is refused and ends its own tokens and no others', async () => {
      const bystander = await signIn()
      const { code } = await authorize()
      const first = await exchange({ ...byCode, code, ...demo })
      await assert.rejects(exchange({ ...byCode, code, ...demo }), { code: 'invalid_grant' })
      await assert.rejects(bearer(first.access_token), { code: 'invalid_token' })
      const fields = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '', ...demo }
      await assert.rejects(exchange(fields), { code: 'invalid_grant' })
      await bearer(bystander.access_token)
    })

    it('does so as long as the family lives, even a hundred days later', async () => {
      const { code } = await authorize()
      const first = await exchange({ ...byCode, code, ...demo })
      await moveClock(100 * 86_400)
      await db.transaction(oauth.sweep)
      await assert.rejects(exchange({ ...byCode, code, ...demo }), { code: 'invalid_grant' })
      const fields = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '', ...demo }
      await assert.rejects(exchange(fields), { code: 'invalid_grant' })
    })

    it('does so for a caller without the secret only with the verifier', async () => {
      const { code, verifier } = await authorize()
      const first = await exchange({ ...byCode, code, ...demo })
      const replay = (verifierSent: string) =>
        exchange({ ...byCode, code, code_verifier: verifierSent, client_id: 'cli_demo' })
      await assert.rejects(replay('v'.repeat(43)), { code: 'invalid_grant' })
      await bearer(first.access_token)
      await assert.rejects(replay(verifier), { code: 'invalid_grant' })
      await assert.rejects(bearer(first.access_token), { code: 'invalid_token' })
    })

    it('does nothing when its client is made to send it with the verifier of another request', async () => {
      const { code, verifier } = await authorize()
      const first = await exchange({ ...byCode, code, code_verifier: verifier, ...demo })
      const injected = exchange({ ...byCode, code, code_verifier: 'v'.repeat(43), ...demo })
      await assert.rejects(injected, { code: 'invalid_grant' })
      await bearer(first.access_token)
    })

    it('does nothing when another client presents it', async () => {
      const { client, secret } = await addClient({ redirectUris: [redirectUri] })
      const { code } = await authorize()
      const first = await exchange({ ...byCode, code, ...demo })
      const foreign = { client_id: client.clientId, client_secret: secret }
      await assert.rejects(exchange({ ...byCode, code, ...foreign }), { code: 'invalid_grant' })
      await bearer(first.access_token)
    })
  })

  describe('client_credentials (RFC 6749 §4.4)', () => {
    const byClient = { grant_type: 'client_credentials' }

    it('gives enterprise access for fifteen minutes, without a user or a refresh token (§4.4.3)', async () => {
      const answer = await exchange({ ...byClient, ...enterprise })
      assert.deepEqual(Object.keys(answer), ['access_token', 'token_type', 'expires_in', 'scope'])
      assert.equal(answer.scope, 'enterprise:read enterprise:manage')
      const caller = await bearer(answer.access_token)
      assert.deepEqual(
        [caller.tenantId, caller.userKey, caller.userId, caller.grantId],
        ['ten_sandbox', null, null, null],
      )
    })

    it('gives the narrower scope that was asked for, and never another (§3.3)', async () => {
      assert.equal((await exchange({ ...byClient, ...enterprise, scope: 'enterprise:read' })).scope, 'enterprise:read')
      for (const scope of ['assets:read', 'enterprise:read assets:read', 'enterprise:admin']) {
        await assert.rejects(exchange({ ...byClient, ...enterprise, scope }), { code: 'invalid_scope' })
      }
    })

    it('is not for a client without enterprise scopes: unauthorized_client (§5.2)', async () => {
      await assert.rejects(exchange({ ...byClient, ...demo }), { code: 'unauthorized_client' })
    })

    it('is not for a client that sends only its id: invalid_client', async () => {
      await assert.rejects(exchange({ ...byClient, client_id: 'cli_enterprise' }), { code: 'invalid_client' })
    })
  })

  describe('grant_type', () => {
    it('is required, and one of three (RFC 6749 §5.2)', async () => {
      await assert.rejects(exchange(demo), { code: 'invalid_request' })
      for (const grant_type of ['password', 'implicit', 'toString', 'AUTHORIZATION_CODE']) {
        await assert.rejects(exchange({ grant_type, ...demo }), { code: 'unsupported_grant_type' })
      }
    })
  })

  describe('a client', () => {
    it('without a secret has only short-term access, and any secret sent for it is wrong', async () => {
      const { client } = await addClient({ redirectUris: [redirectUri], publicClient: true })
      const { code, verifier } = await authorize({ clientId: client.clientId })
      const fields = { ...byCode, code, code_verifier: verifier, client_id: client.clientId }
      await assert.rejects(exchange({ ...fields, client_secret: 'guess' }), { code: 'invalid_client' })
      assert.ok(!('refresh_token' in (await exchange(fields))))
    })

    it('that was disabled can neither redeem nor refresh nor use what it holds', async () => {
      const { client, secret } = await addClient({ redirectUris: [redirectUri] })
      const own = { client_id: client.clientId, client_secret: secret }
      const { code } = await authorize({ clientId: client.clientId })
      const held = await exchange({ ...byCode, code, ...own })
      const next = await authorize({ clientId: client.clientId })
      await tenants.disableClient(client.clientId)
      await assert.rejects(exchange({ ...byCode, code: next.code, ...own }), { code: 'invalid_client' })
      const refresh = { grant_type: 'refresh_token', refresh_token: held.refresh_token ?? '' }
      await assert.rejects(exchange({ ...refresh, ...own }), { code: 'invalid_client' })
      await assert.rejects(bearer(held.access_token), { code: 'invalid_token' })
    })

    describe('whose scopes were narrowed', () => {
      const wide = ['assets:read', 'transactions:read', 'offline_access'] as const
      const begin = async () => {
        const { client, secret } = await addClient({ redirectUris: [redirectUri], scopes: wide })
        const { clientId } = client
        const own = { client_id: clientId, client_secret: secret }
        const redeem = async () => exchange({ ...byCode, code: (await authorize({ clientId })).code, ...own })
        const refresh = (token: string | undefined, more: Record<string, string> = {}) =>
          exchange({ grant_type: 'refresh_token', refresh_token: token ?? '', ...own, ...more })
        const introspect = async (token: string | undefined) =>
          oauth.introspect({
            parameters: new Map(Object.entries({ token: token ?? '', ...own })),
            authorization: undefined,
          })
        return { clientId, own, redeem, refresh, introspect }
      }

      it('has the others no longer from the next refresh on, and has them again when they are given back', async () => {
        const { clientId, redeem, refresh, introspect } = await begin()
        const first = await redeem()
        await tenants.updateClient(clientId, { scopes: ['assets:read', 'offline_access'] })
        await assert.rejects(refresh(first.refresh_token, { scope: 'transactions:read' }), { code: 'invalid_scope' })
        const second = await refresh(first.refresh_token)
        assert.equal(second.scope, 'assets:read offline_access')
        assert.deepEqual([...(await bearer(second.access_token)).scopes], ['assets:read', 'offline_access'])
        const { scope } = (await introspect(second.refresh_token)) as { scope?: string }
        assert.equal(scope, 'assets:read offline_access')
        await tenants.updateClient(clientId, { scopes: wide })
        assert.equal((await refresh(second.refresh_token)).scope, wide.join(' '))
      })

      it('gets no refresh token, and cannot use one, without offline_access', async () => {
        const { clientId, own, redeem, refresh, introspect } = await begin()
        const first = await redeem()
        const { code } = await authorize({ clientId })
        await tenants.updateClient(clientId, { scopes: ['assets:read'] })
        const second = await exchange({ ...byCode, code, ...own })
        assert.deepEqual([second.scope, second.refresh_token], ['assets:read', undefined])
        await assert.rejects(refresh(first.refresh_token), { code: 'invalid_grant' })
        assert.deepEqual(await introspect(first.refresh_token), { active: false })
      })

      it('gets only the rest with a code from before, and so does the grant; with none left it gets invalid_scope', async () => {
        const { clientId, own } = await begin()
        const user = 'consented before'
        const [early, late] = [await authorize({ clientId, user }), await authorize({ clientId, user })]
        await tenants.updateClient(clientId, { scopes: ['assets:read', 'offline_access'] })
        const { scope, access_token } = await exchange({ ...byCode, code: early.code, ...own })
        assert.equal(scope, 'assets:read offline_access')
        assert.deepEqual([...(await bearer(access_token)).scopes], ['assets:read', 'offline_access'])
        assert.deepEqual((await oauth.listGrants(early.owner))[0]?.scopes, ['assets:read', 'offline_access'])
        await tenants.updateClient(clientId, { scopes: ['claims:read'] })
        await assert.rejects(exchange({ ...byCode, code: late.code, ...own }), { code: 'invalid_scope' })
      })
    })

    it('whose secret is rotated may use both during the overlap, and then only the new one', async () => {
      const { client, secret: old } = await addClient({ scopes: ['enterprise:read'] })
      const byClient = { grant_type: 'client_credentials', client_id: client.clientId }
      const fresh = await tenants.rotateSecret(client.clientId, 3_600)
      await exchange({ ...byClient, client_secret: old })
      await exchange({ ...byClient, client_secret: fresh })
      await moveClock(3_600)
      await assert.rejects(exchange({ ...byClient, client_secret: old }), { code: 'invalid_client' })
      await exchange({ ...byClient, client_secret: fresh })
    })
  })

  describe('the database', () => {
    it('holds no code, token or secret unencrypted', async () => {
      const { code, verifier } = await authorize()
      const pending = await authorize()
      const answer = await exchange({ ...byCode, code, code_verifier: verifier, ...demo })
      const rotated = await exchange({
        grant_type: 'refresh_token',
        refresh_token: answer.refresh_token ?? '',
        ...demo,
      })
      const secrets = [
        pending.code,
        code,
        verifier,
        answer.access_token,
        answer.refresh_token,
        rotated.access_token,
        rotated.refresh_token,
      ]
      const own = await exchange({ grant_type: 'client_credentials', ...enterprise })
      secrets.push(own.access_token)
      const codes = ['authorization_codes', 'grants', 'token_families', 'access_tokens', 'client_tokens']
      const tables = ['clients', 'client_secrets', ...codes]
      for (const table of tables) {
        const rows = await db.rows<{ text: string }>(`select ${table}::text as text from ${table}`)
        const text = rows.map((row) => row.text).join('\n')
        assert.ok(rows.length > 0, table)
        for (const secret of [...secrets, demo.client_secret]) {
          assert.ok(secret !== undefined && !text.includes(secret), table)
          assert.ok(!text.includes(Buffer.from(secret, 'base64url').toString('hex')), table)
        }
      }
    })
  })
})
