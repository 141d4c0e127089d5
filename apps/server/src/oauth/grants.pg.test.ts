import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../test/until.ts'
import type { Sql } from '../db/index.ts'
import { demo, enterprise, openOauth, redirectUri } from './test-oauth.ts'

describe('grants', async () => {
  const { db, tenant, tenants, oauth, authorize, exchange, signIn, addClient, moveClock } = await openOauth()
  const bearer = (token: string) => oauth.authenticate(`Bearer ${token}`)
  const refresh = (refresh_token: string) => exchange({ grant_type: 'refresh_token', refresh_token, ...demo })

  function userNamed(externalUserId: string) {
    return tenants.ensureUser({ ...tenant, externalUserId })
  }

  function liveGrants({ userKey }: { userKey: string }): Promise<{ grant_id: string; scopes: string[] }[]> {
    return db.rows(
      'select grant_id, scopes from grant_terms where user_key = $1 and in_force and expires_at > $2::timestamptz',
      [userKey, db.now()],
    )
  }

  describe('a second consent of the same user to the same client', () => {
    it('keeps one grant, with the newest scopes and a new year', async () => {
      const user = await userNamed('twice')
      const first = await signIn({ user: 'twice', scope: 'transactions:read' })
      await moveClock(86_400)
      const second = await signIn({ user: 'twice', scope: 'assets:read' })
      assert.equal(second.grant_id, first.grant_id)
      const [grant, ...others] = await oauth.listGrants(user)
      assert.deepEqual(others, [])
      assert.deepEqual(grant?.scopes, ['assets:read'])
      assert.equal(Date.parse(grant.expiresAt) - Date.parse(grant.grantedAt), 31_536_000_000)
      assert.deepEqual(await liveGrants(user), [{ grant_id: first.grant_id, scopes: ['assets:read'] }])
    })

    it('hides no scope of an older token for as long as that token lives', async () => {
      const user = await userNamed('narrowing')
      const scopesShown = async () => (await oauth.listGrants(user)).map(({ scopes }) => scopes)
      const sinceShown = async () => (await oauth.listGrants(user)).map(({ grantedAt }) => grantedAt)
      const wide = ['assets:read', 'transactions:read', 'providers:write', 'offline_access']
      const begunAt = db.now()
      const older = await signIn({ user: 'narrowing', scope: wide.join(' ') })
      await moveClock(60)
      const other = await signIn({ user: 'narrowing', scope: 'claims:read' })
      await signIn({ user: 'narrowing', scope: 'assets:read' })
      const shown = ['assets:read', 'claims:read', 'offline_access', 'providers:write', 'transactions:read']
      assert.deepEqual(await scopesShown(), [shown])
      assert.deepEqual(await sinceShown(), [begunAt])
      // Tokens without a refresh token live for 15 minutes.
      await bearer(other.access_token)
      await moveClock(900)
      assert.deepEqual(await scopesShown(), [shown.filter((scope) => scope !== 'claims:read')])
      const { refresh_token: token = '', scope } = await refresh(older.refresh_token)
      assert.deepEqual(scope.split(' ').toSorted(), wide.toSorted())
      await oauth.revoke({ parameters: new Map(Object.entries({ token, ...demo })), authorization: undefined })
      assert.deepEqual(await scopesShown(), [['assets:read']])
      assert.ok(Date.parse((await sinceShown())[0] ?? '') > Date.parse(begunAt))
    })

    it('keeps the words that the rights of an older token were agreed to with, and no longer than the token', async () => {
      const user = await userNamed('worded')
      const listTexts = async (): Promise<(string | null)[]> => {
        const rows = await db.rows<{ text: string | null }>(
          `select consent ->> 'text' as text from token_families where user_key = $1 and expires_at > $2::timestamptz
           order by created_at`,
          [user.userKey, db.now()],
        )
        return rows.map(({ text }) => text)
      }
      await signIn({ user: 'worded', text: 'Everything' })
      await moveClock(1)
      await signIn({ user: 'worded', scope: 'assets:read', text: 'Holdings' })
      assert.deepEqual(await listTexts(), ['Everything', 'Holdings'])
      await moveClock(900)
      assert.deepEqual(await listTexts(), ['Everything'])
    })

    it('leaves the older token family its own scopes and expiry', async () => {
      const first = await signIn({ user: 'older', scope: 'assets:read offline_access' })
      await moveClock(1_000)
      await signIn({ user: 'older' })
      const refreshed = await refresh(first.refresh_token)
      assert.equal(refreshed.scope, 'assets:read offline_access')
      assert.ok((refreshed.refresh_token_expires_in ?? 0) <= 31_535_000)
    })
  })

  describe('ending a grant', () => {
    it('immediately ends all of its families and outstanding codes', async () => {
      const user = await userNamed('leaver')
      const first = await signIn({ user: 'leaver' })
      const second = await signIn({ user: 'leaver' })
      const { code } = await authorize({ user: 'leaver' })
      const grantId = first.grant_id ?? ''
      assert.equal(await oauth.revokeGrant(user, grantId), true)
      for (const { access_token } of [first, second]) {
        await assert.rejects(bearer(access_token), { code: 'invalid_token' })
      }
      await assert.rejects(refresh(second.refresh_token), { code: 'invalid_grant' })
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...demo }
      await assert.rejects(exchange(fields), { code: 'invalid_grant' })
      assert.deepEqual(await oauth.listGrants(user), [])
      assert.deepEqual(await liveGrants(user), [])
      assert.equal(await oauth.revokeGrant(user, grantId), false)
    })

    it('is in the audit log with its client and who ended it, and so is every replay of a token', async () => {
      const user = await userNamed('audited')
      const listEntries = (): Promise<object[]> =>
        db.rows(
          `select actor, action, subject, fields, client_id from audit_entries where user_id = $1 and action <> 'grant.given'
           order by entry`,
          [user.userId],
        )
      const { code, verifier } = await authorize({ user: 'audited' })
      const fields = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri }
      const first = await exchange({ ...fields, ...demo })
      for (let again = 0; again < 2; again += 1) {
        await assert.rejects(exchange({ ...fields, ...demo }), { code: 'invalid_grant' })
      }
      const second = await signIn({ user: 'audited' })
      const third = await refresh(second.refresh_token)
      await refresh(third.refresh_token ?? '')
      await assert.rejects(refresh(second.refresh_token), { code: 'invalid_grant' })
      await assert.rejects(exchange({ ...fields, code: 'unknown', ...demo }), { code: 'invalid_grant' })
      await oauth.revokeGrant(user, first.grant_id ?? '')
      await signIn({ user: 'audited' })
      assert.equal(await oauth.endGrants(user), 1)
      const common = { subject: first.grant_id, client_id: demo.client_id }
      assert.deepEqual(await listEntries(), [
        { actor: 'service', action: 'tokens.replayed', fields: ['code'], ...common },
        { actor: 'service', action: 'tokens.replayed', fields: ['refresh_token'], ...common },
        { actor: 'user', action: 'grant.revoked', fields: [], ...common },
        { actor: 'tenant', action: 'grant.ended', fields: [], ...common },
      ])
    })

    it('is undone by a new consent, for its own family only', async () => {
      const user = await userNamed('returner')
      const before = await signIn({ user: 'returner' })
      await oauth.revokeGrant(user, before.grant_id ?? '')
      const now = await signIn({ user: 'returner' })
      await bearer(now.access_token)
      assert.equal((await liveGrants(user)).length, 1)
      assert.equal((await oauth.listGrants(user)).length, 1)
      await assert.rejects(bearer(before.access_token), { code: 'invalid_token' })
      await assert.rejects(refresh(before.refresh_token), { code: 'invalid_grant' })
    })

    it('also ends a consent carried over from it: a repair that finishes later does not bring it back', async () => {
      const user = await userNamed('repairing')
      const first = await signIn({ user: 'repairing' })
      const [grant] = await oauth.listGrants(user)
      const carried = () => authorize({ user: 'repairing', carriedUntil: grant?.expiresAt ?? '' })
      const redeem = ({ code }: { code: string }) =>
        exchange({ grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...demo })
      assert.equal((await redeem(await carried())).grant_id, first.grant_id)
      await oauth.revokeGrant(user, first.grant_id ?? '')
      await assert.rejects(redeem(await carried()), { code: 'invalid_grant' })
      assert.deepEqual(await liveGrants(user), [])
    })

    it('ends a carried consent for rights that the user does not agree to again', async () => {
      const user = await userNamed('narrower')
      const wide = await signIn({ user: 'narrower', scope: 'assets:read transactions:read offline_access' })
      const [grant] = await oauth.listGrants(user)
      const carriedUntil = grant?.expiresAt ?? ''
      const carried = await authorize({ user: 'narrower', scope: 'assets:read transactions:read', carriedUntil })
      await oauth.revokeGrant(user, wide.grant_id ?? '')
      const { code } = await authorize({ user: 'narrower', scope: 'assets:read transactions:read', carriedUntil })
      await signIn({ user: 'narrower', scope: 'assets:read offline_access' })
      for (const one of [carried.code, code]) {
        const fields = { grant_type: 'authorization_code', code: one, redirect_uri: redirectUri, ...demo }
        await assert.rejects(exchange(fields), { code: 'invalid_grant' })
      }
      assert.deepEqual((await oauth.listGrants(user))[0]?.scopes, ['assets:read', 'offline_access'])
    })

    it('is not brought nearer by a carried consent: a newer one keeps its words, its rights and its end', async () => {
      const user = await userNamed('two tabs')
      await signIn({ user: 'two tabs', scope: 'assets:read offline_access', text: 'the first words' })
      await moveClock(1_000)
      const [first] = await oauth.listGrants(user)
      const scope = 'assets:read offline_access'
      const carried = await authorize({ user: 'two tabs', scope, carriedUntil: first?.expiresAt ?? '' })
      await signIn({ user: 'two tabs', scope: 'assets:read transactions:read offline_access', text: 'the newer words' })
      const [newer] = await oauth.listGrants(user)
      const fields = { grant_type: 'authorization_code', code: carried.code, redirect_uri: redirectUri, ...demo }
      assert.equal((await exchange(fields)).scope, scope)
      const stored = 'select scopes, consent, granted_at, expires_at from grants where user_key = $1'
      const row = await db.row<{ consent: { text: string }; expires_at: string }>(stored, [user.userKey])
      assert.equal(row.consent.text, 'the newer words')
      assert.equal(Date.parse(row.expires_at), Date.parse(newer?.expiresAt ?? ''))
      assert.notEqual(newer?.expiresAt, first?.expiresAt)
    })

    it('ends the access that was given for its remaining time', async () => {
      const user = await userNamed('late')
      await signIn({ user: 'late' })
      await moveClock(31_536_000 - 100)
      const [grant] = await oauth.listGrants(user)
      const { code } = await authorize({ user: 'late', carriedUntil: grant?.expiresAt ?? '' })
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...demo }
      const { access_token, expires_in } = await exchange(fields)
      assert.equal(expires_in, 100)
      await moveClock(100)
      await assert.rejects(bearer(access_token), { code: 'invalid_token' })
    })

    it("does not reach another user's grant", async () => {
      const victim = await signIn({ user: 'victim' })
      const attacker = await userNamed('attacker')
      assert.equal(await oauth.revokeGrant(attacker, victim.grant_id ?? ''), false)
      await bearer(victim.access_token)
    })
  })

  describe('when a grant ends', () => {
    const isWaiting = async (): Promise<true | undefined> =>
      (await db.maybeRow(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' limit 1`,
      )) === undefined
        ? undefined
        : true
    const endGrant = (tx: Sql, userKey: string) =>
      tx.execute(
        `update token_families set revoked_at = $2::timestamptz, revoked_for = 'grant_ended' where user_key = $1`,
        [userKey, tx.now()],
      )

    it('a refresh that has already read its family gives no tokens', async () => {
      const { userKey } = await userNamed('refreshing')
      const first = await signIn({ user: 'refreshing' })
      const refreshing = await db.transaction(async (tx) => {
        await endGrant(tx, userKey)
        const outcome = refresh(first.refresh_token).then(
          () => 'refreshed',
          (error: unknown) => error,
        )
        await until('the refresh waits for the family', isWaiting)
        return { outcome }
      })
      assert.equal(((await refreshing.outcome) as { code?: string }).code, 'invalid_grant')
      const tokens = await db.rows('select 1 from access_tokens where user_key = $1', [userKey])
      assert.equal(tokens.length, 1, 'the one of the sign-in')
    })

    it('a redemption that has already read its code gives no tokens', async () => {
      const { userKey } = await userNamed('redeeming')
      const { code } = await authorize({ user: 'redeeming' })
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...demo }
      const redeeming = await db.transaction(async (tx) => {
        await tx.execute('delete from authorization_codes where user_key = $1', [userKey])
        const outcome = exchange(fields).then(
          () => 'redeemed',
          (error: unknown) => error,
        )
        await until('the redemption waits for the code', isWaiting)
        return { outcome }
      })
      assert.equal(((await redeeming.outcome) as { code?: string }).code, 'invalid_grant')
      assert.deepEqual(await db.rows('select 1 from token_families where user_key = $1', [userKey]), [])
    })

    it('its user can be deleted at the same moment: the deletion waits, and neither fails', async () => {
      const user = await userNamed('leaving')
      await signIn({ user: 'leaving' })
      const deleting = await db.transaction(async (tx) => {
        await tx.execute('update grants set revoked_at = $2::timestamptz where user_key = $1', [user.userKey, tx.now()])
        const outcome = db.transaction((other) => oauth.deleteUser(other, user)).then(() => 'deleted')
        await until('the deletion waits for the grant', isWaiting)
        await endGrant(tx, user.userKey)
        return { outcome }
      })
      assert.equal(await deleting.outcome, 'deleted')
      for (const table of ['grants', 'token_families']) {
        assert.deepEqual(await db.rows(`select 1 from ${table} where user_key = $1`, [user.userKey]), [])
      }
    })
  })

  describe('a notice for the tenant', () => {
    const countNotices = async (userKey: string): Promise<number> =>
      (await db.rows('select 1 from user_notices where user_key = $1', [userKey])).length

    it('is left only by a consent and by its end', async () => {
      const user = await userNamed('noted')
      await authorize({ user: 'noted' })
      assert.equal(await countNotices(user.userKey), 0)
      const { refresh_token, grant_id = '' } = await signIn({ user: 'noted' })
      assert.equal(await countNotices(user.userKey), 1)
      await refresh(refresh_token)
      await oauth.revokeGrant(user, 'grt_unknown')
      assert.equal(await countNotices(user.userKey), 1)
      await oauth.revokeGrant(user, grant_id)
      assert.equal(await countNotices(user.userKey), 2)
      await oauth.endGrants(user)
      assert.equal(await countNotices(user.userKey), 2)
      await signIn({ user: 'noted' })
      assert.equal(await oauth.endGrants(user), 1)
      assert.equal(await countNotices(user.userKey), 4)
    })
  })

  describe('grant_terms', () => {
    it('forgets a grant after its year, and those of a disabled client', async () => {
      const { client, secret } = await addClient({ redirectUris: [redirectUri] })
      const { code, owner } = await authorize({ user: 'watched', clientId: client.clientId })
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
      await exchange({ ...fields, client_id: client.clientId, client_secret: secret })
      await signIn({ user: 'watched' })
      assert.equal((await liveGrants(owner)).length, 2)
      await tenants.disableClient(client.clientId)
      assert.equal((await liveGrants(owner)).length, 1)
      await moveClock(31_536_000)
      assert.deepEqual(await liveGrants(owner), [])
    })
  })

  describe('sweeping', () => {
    const count = async (table: string): Promise<string> =>
      (await db.row<{ count: string }>(`select count(*) from ${table}`)).count

    it('deletes expired rows, keeps those that are still needed, and then has nothing to do', async () => {
      await moveClock(2 * 31_536_000)
      while ((await db.transaction(oauth.sweep)) > 0);
      for (const table of ['authorization_codes', 'access_tokens', 'client_tokens', 'token_families']) {
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

    it('keeps a revoked family for thirty days, so that the operator can see why', async () => {
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
