/** How many round trips to PostgreSQL each request costs. The tests count them instead of measuring time. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OauthRequest } from './index.ts'
import { demo, enterprise, openOauth, redirectUri } from './test-oauth.ts'

describe('statements', async () => {
  const { authorize, signIn, countedNode } = await openOauth()
  const { oauth, statements } = countedNode()
  const byCode = { grant_type: 'authorization_code', redirect_uri: redirectUri }

  function request(fields: Record<string, string | undefined>): OauthRequest {
    const given = Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    )
    return { parameters: new Map(given), authorization: undefined }
  }

  async function count(work: () => Promise<unknown>): Promise<number> {
    statements.length = 0
    await work()
    return statements.length
  }

  it('an exchange takes two', async () => {
    const { code, verifier } = await authorize()
    assert.equal(await count(() => oauth.token(request({ ...byCode, code, code_verifier: verifier, ...demo }))), 2)
  })

  it('an exchange of a code from a session takes two, in one transaction with settling the session', async () => {
    const { code } = await authorize({ connectSessionId: 'session-1' })
    await count(() => oauth.token(request({ ...byCode, code, ...demo })))
    assert.deepEqual(
      statements.map((text) => text.trim().split(/\s/)[0]),
      ['select', 'BEGIN', 'with', 'COMMIT'],
    )
  })

  it('a replayed code takes five: a lookup, and a transaction that ends its family and records it', async () => {
    const { code } = await authorize()
    await oauth.token(request({ ...byCode, code, ...demo }))
    const again = () => oauth.token(request({ ...byCode, code, ...demo }))
    assert.equal(await count(() => assert.rejects(again, { code: 'invalid_grant' })), 5)
  })

  it('a refused exchange takes one', async () => {
    const { code } = await authorize()
    for (const fields of [
      { ...byCode, code, ...demo, client_secret: 'wrong' },
      { ...byCode, code, ...demo, code_verifier: 'another verifier' },
      { ...byCode, code: 'not a code', ...demo },
      { ...byCode, ...demo },
    ]) {
      assert.equal(await count(() => assert.rejects(oauth.token(request(fields)))), 1)
    }
  })

  it('a refresh takes two, and an honest retry two', async () => {
    const { refresh_token } = await signIn()
    const fields = { grant_type: 'refresh_token', refresh_token, ...demo }
    assert.equal(await count(() => oauth.token(request(fields))), 2)
    assert.equal(await count(() => oauth.token(request(fields))), 2)
  })

  it('client_credentials take two', async () => {
    assert.equal(await count(() => oauth.token(request({ grant_type: 'client_credentials', ...enterprise }))), 2)
  })

  it('checking a token takes one', async () => {
    const { access_token } = await signIn()
    assert.equal(await count(() => oauth.authenticate(`Bearer ${access_token}`)), 1)
  })

  it('every statement over codes, families and tokens of a user names the user’s key', async () => {
    const { code } = await authorize()
    statements.length = 0
    const { access_token, refresh_token } = await oauth.token(request({ ...byCode, code, ...demo }))
    await oauth.token(request({ grant_type: 'refresh_token', refresh_token, ...demo }))
    await oauth.token(request({ grant_type: 'refresh_token', refresh_token, ...demo }))
    await oauth.introspect(request({ token: access_token, ...demo }))
    await oauth.introspect(request({ token: refresh_token, ...demo }))
    await oauth.revoke(request({ token: access_token, ...demo }))
    await oauth.revoke(request({ token: refresh_token, ...demo }))
    const ofUsers = statements.filter((text) => /authorization_codes|token_families|access_tokens/.test(text))
    assert.ok(ofUsers.length >= 8)
    for (const text of ofUsers) assert.match(text, /user_key = \$1/)
  })
})
