import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createClient, createEnterpriseClient } from '../index.ts'

describe('an id in the path of a call', () => {
  const asked: string[] = []
  const options = {
    ...{ baseUrl: 'https://api.example', authUrl: 'https://auth.example', clientId: 'cli_a', clientSecret: 'secret' },
    fetch: async (input: string | URL | Request): Promise<Response> => {
      const { url } = new Request(input)
      if (url.startsWith('https://api.example')) asked.push(new URL(url).pathname)
      return Response.json({ access_token: 'token', expires_in: 900, page: { next: '' }, data: [], errors: [] })
    },
  }
  const held = { accessToken: 'token', expiresAtMs: Date.now() + 900_000 }
  const tokens = { ...held, scope: 'assets:read', userId: 'usr_1', grantId: 'grt_1' }
  const client = createClient({ ...options, tokens })
  const tenant = createEnterpriseClient(options)
  const first = async (list: AsyncGenerator): Promise<unknown> => (await list.next()).value
  const calls: Record<string, (id: string) => Promise<unknown>> = {
    'users.get': (id) => tenant.users.get(id),
    'users.assets': async (id) => first(tenant.users.assets(id)),
    'users.transactions': async (id) => first(tenant.users.transactions(id)),
    'users.end': (id) => tenant.users.end(id),
    transaction: (id) => client.transaction(id),
    transactionKnownAt: (id) => client.transactionKnownAt(id, new Date(0)),
    explain: (id) => client.explain(id),
    refresh: (id) => client.refresh(id),
    'providers.complete': (id) => client.providers.complete(id, { code: 'code', state: 'state' }),
    'providers.proofSummary': (id) => client.providers.proofSummary(id),
    'providers.proof': async (id) => first(client.providers.proof(id)),
    'providers.coverage': (id) => client.providers.coverage(id),
  }
  for (const [name, call] of Object.entries(calls)) {
    it(`of ${name} cannot turn the call into another one: text that is not an id is refused, and nothing is sent`, async () => {
      for (const id of ['..', '.', '', '../transactions', '%2e%2e', 'usr_1/', 'usr_1?limit=1', 'usr_1#', ' ', '\n']) {
        await assert.rejects(call(id), TypeError, JSON.stringify(id))
      }
      // Without types, anything may be passed.
      await assert.rejects(call(undefined as unknown as string), TypeError)
      assert.deepEqual(asked, [])
      await call('usr_0-A')
      assert.match(asked.pop() ?? '', /\/usr_0-A(\/|$)/)
      assert.deepEqual(asked.splice(0), [])
    })
  }
})
