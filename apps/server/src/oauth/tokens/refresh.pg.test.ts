import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { demo, openOauth, redirectUri, testKeys } from '../test-oauth.ts'
import type { TokenResponse } from '../index.ts'

describe('the refresh token grant', async () => {
  const { db, oauth, exchange, signIn, addClient, moveClock, secondNode } = await openOauth()

  const bearer = (token: string) => oauth.authenticate(`Bearer ${token}`)

  function refresh(token: string | undefined, more: Record<string, string> = {}): Promise<TokenResponse> {
    return exchange({ grant_type: 'refresh_token', refresh_token: token ?? '', ...demo, ...more })
  }

  const replay = { code: 'invalid_grant' }

  /** Why families of this user ended. */
  async function listReasons(answer: TokenResponse): Promise<unknown[]> {
    const rows = await db.rows<{ reason: unknown }>(
      'select revoked_for as reason from token_families where user_id = $1',
      [answer.user_id],
    )
    return rows.map(({ reason }) => reason)
  }

  describe('refreshing (RFC 6749 §6)', () => {
    it('gives a new pair for the same user and grant, for the rest of the year', async () => {
      const first = await signIn()
      await moveClock(1_000)
      const second = await refresh(first.refresh_token)
      assert.notEqual(second.access_token, first.access_token)
      assert.notEqual(second.refresh_token, first.refresh_token)
      assert.deepEqual([second.user_id, second.grant_id, second.scope], [first.user_id, first.grant_id, first.scope])
      assert.equal(second.expires_in, 900)
      assert.equal(second.refresh_token_expires_in, 31_536_000 - 1_000)
      await bearer(second.access_token)
    })

    it('needs the secret: a client that sends only its id is invalid_client', async () => {
      const { refresh_token } = await signIn()
      const fields = { grant_type: 'refresh_token', refresh_token, client_id: 'cli_demo' }
      await assert.rejects(exchange(fields), { code: 'invalid_client' })
    })

    it('stops with the grant, a year after the code was redeemed, however often it was refreshed', async () => {
      const first = await signIn()
      await moveClock(31_535_000)
      const second = await refresh(first.refresh_token)
      await moveClock(500)
      const last = await refresh(second.refresh_token)
      assert.equal(last.expires_in, 500, 'an access token does not outlive the grant either')
      assert.equal(last.refresh_token_expires_in, 500)
      await moveClock(500)
      await assert.rejects(refresh(last.refresh_token), { code: 'invalid_grant' })
      await assert.rejects(bearer(last.access_token), { code: 'invalid_token' })
    })

    it("refuses another client's token, which stays valid", async () => {
      const { client, secret } = await addClient({ redirectUris: [redirectUri] })
      const first = await signIn()
      const foreign = { client_id: client.clientId, client_secret: secret }
      await assert.rejects(refresh(first.refresh_token, foreign), { code: 'invalid_grant' })
      await refresh(first.refresh_token)
    })

    it('refuses text that is not a refresh token', async () => {
      const { access_token } = await signIn()
      for (const text of ['x', access_token, 'a'.repeat(75), 'A'.repeat(75), '\0'.repeat(75)]) {
        await assert.rejects(refresh(text), { code: 'invalid_grant' })
      }
      await assert.rejects(refresh(''), { code: 'invalid_grant' })
    })
  })

  describe('a narrower scope', () => {
    it('narrows the access token; the refresh token keeps the scope of the one before it (RFC 6749 §6)', async () => {
      const first = await signIn()
      const narrow = await refresh(first.refresh_token, { scope: 'assets:read' })
      assert.equal(narrow.scope, 'assets:read')
      assert.deepEqual([...(await bearer(narrow.access_token)).scopes], ['assets:read'])
      const other = await refresh(narrow.refresh_token, { scope: 'transactions:read' })
      assert.equal(other.scope, 'transactions:read')
      const later = await refresh(other.refresh_token)
      assert.equal(later.scope, first.scope)
    })

    it('that exceeds what the user granted is invalid_scope, and spends nothing', async () => {
      const begun = await signIn({ scope: 'assets:read offline_access' })
      const first = await refresh(begun.refresh_token, { scope: 'assets:read' })
      for (const scope of ['transactions:read', 'enterprise:read', 'assets:read enterprise:manage', 'no:such']) {
        await assert.rejects(refresh(first.refresh_token, { scope }), { code: 'invalid_scope' })
      }
      await refresh(first.refresh_token)
    })
  })

  describe('a spent refresh token (RFC 9700 §4.14.2)', () => {
    it('gives the same pair with its remaining time within 10 s and while the next is unused: an honest retry', async () => {
      const first = await signIn()
      const second = await refresh(first.refresh_token)
      await moveClock(9)
      const again = await refresh(first.refresh_token)
      assert.deepEqual(
        [again.access_token, again.refresh_token, again.scope, again.grant_id],
        [second.access_token, second.refresh_token, second.scope, second.grant_id],
      )
      assert.equal(again.expires_in, 891)
      await bearer(again.access_token)
      await refresh(again.refresh_token)
    })

    it('may also be retried with the narrower scope that it was first sent with', async () => {
      const first = await signIn()
      const narrow = { scope: 'assets:read' }
      const second = await refresh(first.refresh_token, narrow)
      const again = await refresh(first.refresh_token, narrow)
      assert.deepEqual([again.refresh_token, again.scope], [second.refresh_token, 'assets:read'])
    })

    it('is a replay after 10 s: the whole family ends', async () => {
      const first = await signIn({ user: 'replayed' })
      const second = await refresh(first.refresh_token)
      await moveClock(10)
      await assert.rejects(refresh(first.refresh_token), replay)
      await assert.rejects(refresh(second.refresh_token), replay)
      await assert.rejects(bearer(second.access_token), { code: 'invalid_token' })
      await assert.rejects(bearer(first.access_token), { code: 'invalid_token' })
      assert.deepEqual(await listReasons(first), ['refresh_replay'])
    })

    it('is a replay once the next token was used, however soon', async () => {
      const first = await signIn()
      const second = await refresh(first.refresh_token)
      const third = await refresh(second.refresh_token)
      await assert.rejects(refresh(first.refresh_token), replay)
      await assert.rejects(refresh(third.refresh_token), replay)
    })

    it('is refused within these 10 s with another scope, which ends nothing', async () => {
      const first = await signIn()
      const second = await refresh(first.refresh_token)
      for (const scope of ['assets:read', 'no:such']) {
        await assert.rejects(refresh(first.refresh_token, { scope }), { code: 'invalid_scope' })
      }
      assert.equal((await refresh(first.refresh_token)).refresh_token, second.refresh_token)
      await refresh(second.refresh_token)
      await assert.rejects(refresh(first.refresh_token, { scope: 'no:such' }), replay)
    })

    it('may also be retried when the access token of the pair was revoked, which has no time left then', async () => {
      const first = await signIn({ user: 'revoked' })
      const second = await refresh(first.refresh_token)
      await oauth.revoke({
        parameters: new Map(Object.entries({ token: second.access_token, ...demo })),
        authorization: undefined,
      })
      const again = await refresh(first.refresh_token)
      assert.deepEqual(
        [again.access_token, again.refresh_token, again.scope, again.expires_in],
        [second.access_token, second.refresh_token, second.scope, 0],
      )
      await assert.rejects(bearer(again.access_token), { code: 'invalid_token' })
      assert.deepEqual(await listReasons(first), [null])
      await bearer((await refresh(again.refresh_token)).access_token)
      await assert.rejects(refresh(first.refresh_token), replay)
    })

    it('of a hundred rotations ago is still recognised, and ends the family', async () => {
      const first = await signIn()
      let last: TokenResponse = first
      for (let rotation = 0; rotation < 100; rotation++) last = await refresh(last.refresh_token)
      await assert.rejects(refresh(first.refresh_token), replay)
      await assert.rejects(refresh(last.refresh_token), replay)
    })

    it('ends its own family and no other of the same grant', async () => {
      const stolen = await signIn()
      const bystander = await signIn()
      const second = await refresh(stolen.refresh_token)
      await refresh(second.refresh_token)
      await assert.rejects(refresh(stolen.refresh_token), replay)
      await refresh(bystander.refresh_token)
    })

    it('with the right handle and an invented rest is treated in the same way', async () => {
      const first = await signIn()
      // User key and handle are 24 bytes, or 32 characters.
      const forged = `${first.refresh_token.slice(0, 32)}${'A'.repeat(43)}`
      await assert.rejects(refresh(forged), replay)
      await assert.rejects(refresh(first.refresh_token), replay)
    })

    it('is recognised by another node, even when the server key was rotated in between', async () => {
      const rotatedKeys = { tokenKey: new Uint8Array(32).fill(9), olderTokenKeys: [testKeys.tokenKey] }
      const node = await secondNode(rotatedKeys)
      const first = await signIn()
      const second = await refresh(first.refresh_token)
      const fields = { grant_type: 'refresh_token', refresh_token: first.refresh_token, ...demo }
      const again = await node.token({ parameters: new Map(Object.entries(fields)), authorization: undefined })
      assert.equal(again.refresh_token, second.refresh_token)
    })

    it('is a replay when the key that made its pair is gone', async () => {
      const node = await secondNode({ tokenKey: new Uint8Array(32).fill(9), olderTokenKeys: [] })
      const first = await signIn()
      await refresh(first.refresh_token)
      const fields = { grant_type: 'refresh_token', refresh_token: first.refresh_token, ...demo }
      await assert.rejects(
        node.token({ parameters: new Map(Object.entries(fields)), authorization: undefined }),
        replay,
      )
    })
  })

  describe('one refresh token presented fifty times at once, on two nodes', () => {
    it('is rotated once, and all callers get the same pair', async () => {
      const node = await secondNode()
      const first = await signIn()
      const fields = { grant_type: 'refresh_token', refresh_token: first.refresh_token, ...demo }
      const request = { parameters: new Map(Object.entries(fields)), authorization: undefined }
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? oauth : node).token(request)),
      )
      assert.equal(new Set(answers.map((answer) => answer.refresh_token)).size, 1)
      assert.equal(new Set(answers.map((answer) => answer.access_token)).size, 1)
      await refresh(answers[0]?.refresh_token)
    })
  })
})
