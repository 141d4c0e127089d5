import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { demo, enterprise, openOauth, redirectUri } from './test-oauth.ts'

describe('grants', async () => {
  const { db, tenants, oauth, authorize, exchange, signIn, addClient, moveClock } = await openOauth()
  const bearer = (token: string) => oauth.authenticate(`Bearer ${token}`)
  const refresh = (refresh_token: string) => exchange({ grant_type: 'refresh_token', refresh_token, ...demo })

  async function userNamed(externalUserId: string) {
    return { tenantId: 'ten_sandbox', userId: await tenants.ensureUser({ tenantId: 'ten_sandbox', externalUserId }) }
  }

  function liveGrants(userId: string): Promise<{ grant_id: string; scopes: string[] }[]> {
    return db.rows('select grant_id, scopes from live_grants where tenant_id = $1 and user_id = $2', [
      'ten_sandbox',
      userId,
    ])
  }

  describe('a second consent of the same user to the same client', () => {
    it('keeps one grant, with the newest scopes and a new year', async () => {
      const user = await userNamed('twice')
      const first = await signIn({ user: 'twice' })
      await moveClock(86_400)
      const second = await signIn({ user: 'twice', scope: 'assets:read' })
      assert.equal(second.grant_id, first.grant_id)
      const [grant, ...others] = await oauth.listGrants(user)
      assert.deepEqual(others, [])
      assert.deepEqual(grant?.scopes, ['assets:read'])
      assert.equal(Date.parse(grant.expiresAt) - Date.parse(grant.grantedAt), 31_536_000_000)
      assert.deepEqual(await liveGrants(user.userId), [{ grant_id: first.grant_id, scopes: ['assets:read'] }])
    })

    it('leaves the older family its own scopes and its own end', async () => {
      const first = await signIn({ user: 'older', scope: 'assets:read offline_access' })
      await moveClock(1_000)
      await signIn({ user: 'older' })
      const refreshed = await refresh(first.refresh_token)
      assert.equal(refreshed.scope, 'assets:read offline_access')
      assert.ok((refreshed.refresh_token_expires_in ?? 0) <= 31_535_000)
    })
  })

  describe('ending a grant', () => {
    it('ends every family and outstanding code of it, at once', async () => {
      const user = await userNamed('leaver')
      const first = await signIn({ user: 'leaver' })
      const second = await signIn({ user: 'leaver' })
      const { code } = await authorize({ user: 'leaver' })
      const grant = { ...user, grantId: first.grant_id ?? '' }
      assert.equal(await oauth.revokeGrant(grant), true)
      for (const { access_token } of [first, second]) {
        await assert.rejects(bearer(access_token), { code: 'invalid_token' })
      }
      await assert.rejects(refresh(second.refresh_token), { code: 'invalid_grant' })
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...demo }
      await assert.rejects(exchange(fields), { code: 'invalid_grant' })
      assert.deepEqual(await oauth.listGrants(user), [])
      assert.deepEqual(await liveGrants(user.userId), [])
      assert.equal(await oauth.revokeGrant(grant), false)
    })

    it('is undone by a new consent, for its own family only', async () => {
      const user = await userNamed('returner')
      const before = await signIn({ user: 'returner' })
      await oauth.revokeGrant({ ...user, grantId: before.grant_id ?? '' })
      const now = await signIn({ user: 'returner' })
      await bearer(now.access_token)
      assert.equal((await liveGrants(user.userId)).length, 1)
      assert.equal((await oauth.listGrants(user)).length, 1)
      await assert.rejects(bearer(before.access_token), { code: 'invalid_token' })
      await assert.rejects(refresh(before.refresh_token), { code: 'invalid_grant' })
    })

    it("does not reach another user's grant", async () => {
      const victim = await signIn({ user: 'victim' })
      const attacker = await userNamed('attacker')
      assert.equal(await oauth.revokeGrant({ ...attacker, grantId: victim.grant_id ?? '' }), false)
      await bearer(victim.access_token)
    })
  })

  describe('live_grants', () => {
    it('forgets a grant after its year, and those of a disabled client', async () => {
      const { client, secret } = await addClient({ redirectUris: [redirectUri] })
      const { code, userId } = await authorize({ user: 'watched', clientId: client.clientId })
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
      await exchange({ ...fields, client_id: client.clientId, client_secret: secret })
      await signIn({ user: 'watched' })
      assert.equal((await liveGrants(userId)).length, 2)
      await tenants.disableClient(client.clientId)
      assert.equal((await liveGrants(userId)).length, 1)
      await moveClock(31_536_000)
      assert.deepEqual(await liveGrants(userId), [])
    })
  })

  describe('sweeping', () => {
    const count = async (table: string): Promise<string> =>
      (await db.row<{ count: string }>(`select count(*) from ${table}`)).count

    it('deletes what is past its use, keeps what still answers for something, and then has nothing to do', async () => {
      await moveClock(2 * 31_536_000)
      while ((await db.transaction(oauth.sweep)) > 0);
      for (const table of ['authorization_codes', 'access_tokens', 'token_families']) {
        assert.equal(await count(table), '0', table)
      }
      const shortTerm = await authorize({ user: 'swept' })
      await exchange({
        grant_type: 'authorization_code',
        code: shortTerm.code,
        code_verifier: shortTerm.verifier,
        redirect_uri: redirectUri,
        client_id: 'cli_demo',
      })
      await signIn({ user: 'swept' })
      await authorize({ user: 'swept' })
      await exchange({ grant_type: 'client_credentials', ...enterprise })
      assert.equal(await db.transaction(oauth.sweep), 0)
      await moveClock(900)
      assert.equal(await db.transaction(oauth.sweep), 5, 'one code, three access tokens and the short-term family')
      assert.equal(await count('token_families'), '1')
      assert.ok(Number(await count('grants')) > 0, 'a grant is the record of a consent and stays')
    })

    it('keeps a revoked family for thirty days, for the operator to see why', async () => {
      const { code } = await authorize({ user: 'replayed' })
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...demo }
      await exchange(fields)
      await assert.rejects(exchange(fields))
      const replayed = () => db.rows(`select 1 from token_families where revoked_for = 'code_replay'`)
      await moveClock(29 * 86_400)
      await db.transaction(oauth.sweep)
      assert.equal((await replayed()).length, 1)
      await moveClock(86_400)
      await db.transaction(oauth.sweep)
      assert.equal((await replayed()).length, 0)
    })
  })
})
