/** Every 404 of the resource API says what was not found and what to do next, and says so in one manner. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { endpoints, type Endpoint } from '@assay/contract'
import { openResource } from './test-resource.ts'

interface Problem {
  code: string
  detail: string
  errors: unknown[]
}

/** Ids of the right shape that were never given out. */
const missing = {
  connection: 'con_01jq8n7x2zf4tb9v6h3m5kcdwe',
  refresh: 'rfr_01jq8n7x2zf4tb9v6h3m5kcdwe',
  transaction: `txn_${'0'.repeat(32)}`,
  user: 'usr_01jq8n7x2zf4tb9v6h3m5kcdwe',
}

const families = new Set<Endpoint['family']>(['platform_v1', 'accounts_v2', 'enterprise_v2'])

function toMissing({ path, method }: Endpoint): { path: string; body?: object } {
  if (path.includes('{')) {
    const kind = path.startsWith('/enterprise') ? 'user' : 'transaction'
    return {
      path: path
        .replace('{connection_id}', missing.connection)
        .replace('{refresh_id}', missing.refresh)
        .replace('{id}', missing[kind]),
    }
  }
  return {
    path,
    body: method === 'DELETE' ? { connection_id: missing.connection } : { connection_ids: [missing.connection] },
  }
}

/** For example: The refresh was not found: it does not exist. Start a new one. */
const manner = /^(?:The|This|A) [^:.]+ was not found(?: at that moment)?: [^:.]+\. [A-Z][^:]+\.$/

describe('not found', async () => {
  const api = await openResource()
  const ann = await api.signIn('ann')
  const tenant = await api.enterpriseToken()

  const endings = endpoints.filter(({ family, errors }) => families.has(family) && errors.includes('not_found'))

  it('404: every endpoint that can answer so has a text in the same manner', async () => {
    assert.ok(endings.length > 10, 'the endpoints were not found')
    for (const endpoint of endings) {
      const { path, body } = toMissing(endpoint)
      const token = endpoint.family === 'enterprise_v2' ? tenant : ann.access_token
      const answer = await api.call<Problem>(endpoint.method, path, token, body)
      assert.deepEqual([answer.status, answer.body.code, answer.body.errors], [404, 'not_found', []], endpoint.id)
      assert.match(answer.body.detail, manner, endpoint.id)
    }
  })

  for (const [title, path] of [
    ['a path that does not exist', '/accounts/v2/nothing'],
    ['an id that is too long', `/accounts/v2/transactions/${'1'.repeat(200)}`],
    ['a transaction at an earlier moment', `/accounts/v2/transactions/${missing.transaction}?known_at=`],
  ] as const) {
    it(`404: ${title} is refused in that manner, too`, async () => {
      const asked = path.endsWith('=') ? path + encodeURIComponent(api.service.db.now()) : path
      const { status, body } = await api.call<Problem>('GET', asked, ann.access_token)
      assert.equal(status, 404)
      assert.match(body.detail, manner)
    })
  }

  it('404: a provider without a connection is named as such', async () => {
    const { status, body } = await api.call<Problem>('DELETE', '/accounts/v2/providers', ann.access_token, {
      provider_id: 'kraken',
    })
    assert.equal(status, 404)
    assert.match(body.detail, /^A connection to this provider was not found: /)
  })
})
