/** Tokens of a provider that spends a refresh token at its first use, while the database is away for a moment. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { testKeyring } from '../../test-keys.ts'
import { createSealer } from './seal.ts'
import { holdTokens } from './tokens.ts'

const ref = {
  userKey: '5',
  connectionKey: 1,
  tenantKey: 1,
  tenantId: 'ten_1',
  userId: 'usr_1',
  connectionId: 'con_1',
}
const nowMs = Date.parse('2026-03-02T10:00:00Z')

/** Gives a pair for each refresh token that was not given before. */
async function startProvider(t: TestContext): Promise<string> {
  const spent = new Set<string>()
  const answer = (form: string): object => {
    const given = new URLSearchParams(form).get('refresh_token') ?? ''
    if (spent.has(given)) return { error: 'invalid_grant' }
    const next = { access_token: `access ${spent.add(given).size}`, refresh_token: `refresh ${spent.size}` }
    return { ...next, token_type: 'bearer', expires_in: 3_600 }
  }
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    void request.toArray().then((chunks) => {
      const answered = answer(chunks.join(''))
      response.writeHead('error' in answered ? 400 : 200).end(JSON.stringify(answered))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('a pair of tokens whose predecessor the provider has spent', () => {
  for (const [what, before] of [
    ['not kept', 'before'],
    ['kept, without an answer', 'after'],
  ] as const) {
    it(`is in its place although the database went away when it was ${what}`, async (t) => {
      const { db } = await testDatabase(t)
      const baseUrl = await startProvider(t)
      const sealer = createSealer(testKeyring('main'))
      const first = { accessToken: 'access 0', refreshToken: 'refresh 0', expiresAtMs: 0 }
      const sealed = await sealer.seal('con_1', first)
      await db.execute(
        `insert into connections (user_key, connection_key, tenant_key, tenant_id, user_id, id, provider_id,
           connection_type, status, sealed_credentials, key_lane, created_at)
         values (5, 1, 1, 'ten_1', 'usr_1', 'con_1', 'coinbase', 'oauth2', 'active', $1, 'lane', $2)`,
        [sealed, db.now()],
      )
      let calls = 0
      const wavering: typeof db = {
        ...db,
        async execute(text, values) {
          calls += 1
          const isAway = calls === 1
          if (!isAway || before === 'after') await db.execute(text, values)
          if (isAway) throw Object.assign(new Error('the server was lost'), { code: '57P01' })
          return 1
        },
      }
      const io = { fetch, now: () => nowMs, nextNonce: () => '1', baseUrl }
      const signIn = { origin: 'https://provider.example', authorizationPath: '/a', tokenPath: '/t', scope: 'read' }
      const client = { clientId: 'assay', clientSecret: 'secret' }
      const deps = { db: wavering, sealer, io, providerId: 'coinbase', signIn, client, ref, boundTo: 'con_1', sealed }
      const getToken = holdTokens(deps, first)
      assert.deepEqual(await Promise.all([getToken(), getToken()]), ['access 1', 'access 1'])
      const { kept } = await db.row<{ kept: string }>('select sealed_credentials as kept from connections')
      assert.deepEqual(await sealer.open('con_1', kept), {
        ...{ accessToken: 'access 1', refreshToken: 'refresh 1' },
        expiresAtMs: nowMs + 3_600_000,
      })
    })
  }
})
