import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { endpoints } from './endpoints/index.ts'
import { toOpenApi, type Json } from './openapi.ts'

const v1 = toOpenApi('v1', 'https://api.example')
const v2 = toOpenApi('v2', 'https://api.example')
const connect = toOpenApi('connect', 'https://auth.example')

/** Every value under a member of this name, at any depth. */
function findMembers(value: Json, name: string): Json[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return (value as Json[]).flatMap((item) => findMembers(item, name))
  return Object.entries(value).flatMap(([key, member]: [string, Json]) => [
    ...(key === name ? [member] : []),
    ...findMembers(member, name),
  ])
}

describe('the endpoints', () => {
  for (const { id, response, body, example } of endpoints) {
    it(`${id}: its example is what its schemas describe`, () => {
      assert.deepEqual(response.safeParse(example.response).error?.issues ?? [], [])
      if (example.body !== undefined) assert.deepEqual(body?.safeParse(example.body).error?.issues, undefined)
    })
  }

  it('have ids of their own, and one method and path each', () => {
    assert.equal(new Set(endpoints.map(({ id }) => id)).size, endpoints.length)
    assert.equal(new Set(endpoints.map(({ method, path }) => `${method} ${path}`)).size, endpoints.length)
  })

  it('live under the path of their family', () => {
    const prefixes = {
      platform_v1: '/platform/v1/',
      accounts_v2: '/accounts/v2/',
      enterprise_v2: '/enterprise/v2/',
      connect_v1: '/connect/v1/',
    }
    for (const { path, family } of endpoints) assert.ok(path.startsWith(prefixes[family]), path)
  })

  it('declare a schema for every parameter in their path', () => {
    for (const { path, params } of endpoints) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      assert.deepEqual(Object.keys(params?.shape ?? {}), inPath, path)
    }
  })
})

describe('the OpenAPI documents', () => {
  const both = [
    'CryptoSourceCredentialAuthType',
    'APIConnection',
    'WalletConnection',
    'OAuth2Connection',
    'TransactionType',
    'TransactionCategorization',
    'FeeItem',
    'FeeObject',
    'CurrencyValue',
    'RefreshResponse',
    'ErrorResponse',
    'ErrorItem',
  ]

  it('v1 is release 2.0.2 and has the names of the reference', () => {
    assert.equal(v1.info.version, '2.0.2')
    for (const name of [...both, 'CryptoSourceId']) assert.ok(name in v1.components.schemas, name)
  })

  it('v2 has the names of the reference', () => {
    const own = [
      'ProviderId',
      'ProviderMetadataV2.1',
      'ConnectedProvidersMetadataV2.1',
      'RefreshResponseData',
      'ErrorEmpty',
      'Page',
    ]
    for (const name of [...both, ...own]) assert.ok(name in v2.components.schemas, name)
  })

  for (const [version, document] of Object.entries({ v1, v2, connect })) {
    const plain = JSON.parse(JSON.stringify(document)) as Json

    it(`${version}: every reference leads to a schema`, () => {
      const references = findMembers(plain, '$ref')
      assert.ok(references.length > 10)
      for (const reference of references) {
        const [, name] = /^"#\/components\/schemas\/([A-Za-z0-9._-]+)"$/.exec(JSON.stringify(reference)) ?? []
        assert.ok(name !== undefined && name in document.components.schemas, JSON.stringify(reference))
      }
    })

    it(`${version}: every call says what it refuses with, as a problem document`, () => {
      for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
        for (const status of ['400', '429', '500', '503'])
          assert.ok(status in operation.responses, operation.operationId)
        const secured = operation.security.length > 0
        assert.equal('401' in operation.responses, secured, operation.operationId)
        // A session's secret opens all of its session: it has no scopes to lack.
        assert.equal('403' in operation.responses, secured && version !== 'connect', operation.operationId)
      }
    })
  }

  it('v1 never says provider_id, v2 never crypto_source_id', () => {
    assert.equal(JSON.stringify(v1).includes('"provider_id"'), false)
    assert.equal(JSON.stringify(v2).includes('"crypto_source_id"'), false)
  })

  it('a position of v1 has exactly the six members of the reference', () => {
    const position = v1.components.schemas['AssetPosition'] ?? {}
    const names = [
      'crypto_source_id',
      'asset_symbol',
      'asset_holdings',
      'staked_holdings',
      'price_in_usd',
      'time_fetched',
    ]
    assert.deepEqual(position['required'], names)
    assert.equal(position['additionalProperties'], false)
  })

  it('v2 lists take limit, cursor and next_uri; v1 lists have no next_uri', () => {
    const names = (document: typeof v2, path: string): string[] =>
      document.paths[path]?.['get']?.parameters.map(({ name }) => name) ?? []
    assert.deepEqual(names(v2, '/accounts/v2/providers'), ['limit', 'cursor', 'next_uri'])
    assert.ok(names(v1, '/platform/v1/transactions').includes('cursor'))
    assert.equal(names(v1, '/platform/v1/transactions').includes('next_uri'), false)
  })
})
