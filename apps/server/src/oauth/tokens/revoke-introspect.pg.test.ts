import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { demo, enterprise, issuer, openOauth, redirectUri } from '../test-oauth.ts'
import type { OauthRequest } from '../index.ts'

describe('issued tokens', async () => {
  const { oauth, exchange, signIn, addClient, moveClock, secondNode } = await openOauth()
  const other = await addClient({ redirectUris: [redirectUri], scopes: ['assets:read', 'enterprise:read'] })
  const foreign = { client_id: other.client.clientId, client_secret: other.secret }

  const bearer = (token: string) => oauth.authenticate(`Bearer ${token}`)
  const dead = { code: 'invalid_token' }

  function request(fields: Record<string, string>): OauthRequest {
    return { parameters: new Map(Object.entries(fields)), authorization: undefined }
  }

  function refresh(refresh_token: string) {
    return exchange({ grant_type: 'refresh_token', refresh_token, ...demo })
  }

  describe('authenticating a request (RFC 6750 §2.1)', () => {
    it('accepts the scheme in upper or lower case, and one token', async () => {
      const { access_token, user_id } = await signIn()
      assert.equal((await oauth.authenticate(`bearer ${access_token}`)).userId, user_id)
    })

    it('refuses a missing header, other schemes, other tokens and invalid text', async () => {
      const { access_token, refresh_token } = await signIn()
      const headers = ['', 'Bearer', `Basic ${access_token}`, access_token, `Bearer ${access_token} x`, 'Bearer \0']
      for (const header of [
        undefined,
        ...headers,
        `Bearer ${refresh_token}`,
        `Bearer ${'A'.repeat(43)}`,
        `Bearer ${'A'.repeat(54)}`,
      ]) {
        await assert.rejects(oauth.authenticate(header), dead)
      }
    })

    it('refuses a token after fifteen minutes, and the enterprise token too', async () => {
      const { access_token } = await signIn()
      const own = await exchange({ grant_type: 'client_credentials', ...enterprise })
      await moveClock(899)
      await bearer(access_token)
      await bearer(own.access_token)
      await moveClock(1)
      await assert.rejects(bearer(access_token), dead)
      await assert.rejects(bearer(own.access_token), dead)
    })
  })

  describe('revoking (RFC 7009)', () => {
    it('an access token ends only that token, at the very next request on every node (§2.1)', async () => {
      const node = await secondNode()
      const first = await signIn()
      await node.authenticate(`Bearer ${first.access_token}`)
      await oauth.revoke(request({ token: first.access_token, ...demo }))
      await assert.rejects(node.authenticate(`Bearer ${first.access_token}`), dead)
      await refresh(first.refresh_token)
    })

    it('a refresh token ends its family, access tokens included (§2.1)', async () => {
      const first = await signIn()
      const second = await refresh(first.refresh_token)
      await oauth.revoke(request({ token: second.refresh_token ?? '', token_type_hint: 'access_token', ...demo }))
      await assert.rejects(bearer(first.access_token), dead)
      await assert.rejects(bearer(second.access_token), dead)
      await assert.rejects(refresh(second.refresh_token ?? ''), { code: 'invalid_grant' })
    })

    it('an access token needs no secret, a refresh token does', async () => {
      const first = await signIn()
      const unproven = { token: first.refresh_token, client_id: 'cli_demo' }
      await assert.rejects(oauth.revoke(request(unproven)), { code: 'invalid_client' })
      await refresh(first.refresh_token)
      await oauth.revoke(request({ token: first.access_token, client_id: 'cli_demo' }))
      await assert.rejects(bearer(first.access_token), dead)
    })

    it('an unknown token is not an error (§2.2)', async () => {
      for (const token of ['x', 'A'.repeat(43), 'A'.repeat(54), 'A'.repeat(75)])
        await oauth.revoke(request({ token, ...demo }))
    })

    it("another client's token does nothing, and the answer is the same (§2.1)", async () => {
      const first = await signIn()
      await oauth.revoke(request({ token: first.access_token, ...foreign }))
      await oauth.revoke(request({ token: first.refresh_token, ...foreign }))
      await bearer(first.access_token)
      await refresh(first.refresh_token)
    })

    it('needs a token', async () => {
      await assert.rejects(oauth.revoke(request(demo)), { code: 'invalid_request' })
    })
  })

  describe('introspection (RFC 7662 §2.2)', () => {
    it('describes a live access token to its own client', async () => {
      const { access_token, user_id, scope } = await signIn()
      const answer = await oauth.introspect(request({ token: access_token, ...demo }))
      assert.ok(answer.active)
      const { exp, iat, ...rest } = answer
      assert.equal(exp - iat, 900)
      assert.deepEqual(rest, {
        active: true,
        token_type: 'Bearer',
        scope,
        client_id: 'cli_demo',
        sub: user_id,
        iss: issuer,
      })
    })

    it('describes the current refresh token, and reports the spent one as inactive without ending anything', async () => {
      const first = await signIn()
      const second = await refresh(first.refresh_token)
      const spent = await oauth.introspect(request({ token: first.refresh_token, ...demo }))
      assert.deepEqual(spent, { active: false })
      const answer = await oauth.introspect(request({ token: second.refresh_token ?? '', ...demo }))
      assert.ok(answer.active && answer.sub === first.user_id && !('token_type' in answer))
    })

    it('gives an enterprise token no subject, because it belongs to no user', async () => {
      const { access_token } = await exchange({ grant_type: 'client_credentials', ...enterprise })
      const answer = await oauth.introspect(request({ token: access_token, ...enterprise }))
      assert.ok(answer.active && !('sub' in answer))
    })

    it("reports only inactive for another client's tokens, dead ones and invalid text", async () => {
      const first = await signIn()
      const gone = await signIn()
      await oauth.revoke(request({ token: gone.refresh_token, ...demo }))
      const cases: [string, Record<string, string>][] = [
        [first.access_token, foreign],
        [first.refresh_token, foreign],
        [gone.access_token, demo],
        [gone.refresh_token, demo],
        ['x', demo],
        ['A'.repeat(75), demo],
      ]
      for (const [token, client] of cases) {
        assert.deepEqual(await oauth.introspect(request({ token, ...client })), { active: false })
      }
    })

    it('needs the client secret (§2.1)', async () => {
      const { access_token } = await signIn()
      const unproven = request({ token: access_token, client_id: 'cli_demo' })
      await assert.rejects(oauth.introspect(unproven), { code: 'invalid_client' })
    })
  })
})
