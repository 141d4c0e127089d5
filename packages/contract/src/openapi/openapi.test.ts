import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { endpoints } from '../endpoints/index.ts'
import type { Json } from '../values.ts'
import { toOpenApi } from './openapi.ts'
import { pageParameters } from '../pages.ts'

const hosts = {
  baseUrl: 'https://api.example',
  authUrl: 'https://auth.example',
  widgetUrl: 'https://connect.example',
}
const v1 = toOpenApi('v1', hosts, { isSandbox: true })
const v2 = toOpenApi('v2', hosts, { isSandbox: true })
const connect = toOpenApi('connect', hosts, { isSandbox: true })

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
  for (const { id, response, body, query, params, paging, example } of endpoints) {
    it(`${id}: its example matches its schemas`, () => {
      const pages = paging === undefined ? {} : pageParameters[paging.style]
      const wholeQuery = z.strictObject({ ...query?.shape, ...pages })
      const found = [
        response.safeParse(example.response),
        wholeQuery.safeParse(example.query ?? {}),
        z.strictObject(params?.shape ?? {}).safeParse(example.params ?? {}),
        ...(example.body === undefined ? [] : [(body ?? z.never()).safeParse(example.body)]),
      ]
      assert.deepEqual(
        found.flatMap(({ error }) => error?.issues ?? []),
        [],
      )
    })

    it(`${id}: an example shows every input it takes`, () => {
      if (query !== undefined || paging !== undefined) assert.ok(example.query, 'query')
      // An optional body needs no example where the query can say the same.
      if (body !== undefined && example.query === undefined) assert.ok(example.body, 'body')
    })
  }

  it('have unique ids, and one method and path each', () => {
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
  it('limit states its default wherever a list has one', () => {
    const defaultOf = (document: typeof v2, path: string, method = 'get'): unknown =>
      document.paths[path]?.[method]?.parameters.find(({ name }) => name === 'limit')?.schema['default']
    assert.equal(defaultOf(v2, '/accounts/v2/transactions'), 30)
    assert.equal(defaultOf(v2, '/enterprise/v2/users/search', 'post'), 30)
    assert.equal(defaultOf(v1, '/platform/v1/transactions'), 30)
    assert.equal(defaultOf(v1, '/platform/v1/assets'), undefined)
  })

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

    it(`${version}: every reference resolves`, () => {
      const references = findMembers(plain, '$ref')
      assert.ok(references.length > 10)
      for (const reference of references) {
        const [, kind = '', name = ''] = /^"#\/components\/(\w+)\/([\w.-]+)"$/.exec(JSON.stringify(reference)) ?? []
        const holder = { ...document.components }[kind as keyof typeof document.components]
        assert.ok(name in holder, JSON.stringify(reference))
      }
    })

    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))

    it(`${version}: every call has a description, a part of the document, and an answer with an example`, () => {
      const tags = document.tags.map(({ name }) => name)
      for (const { operationId, summary, description, tags: own, responses } of operations) {
        assert.ok(summary.length > 3 && description.length > 10, operationId)
        assert.ok(
          own.every((tag) => tags.includes(tag)),
          operationId,
        )
        const contents = Object.values(responses['200']?.['content'] ?? {}) as { schema: Json; example: Json }[]
        assert.ok(contents.length > 0, operationId)
        for (const { schema, example } of contents)
          assert.ok(schema !== undefined && example !== undefined, operationId)
      }
    })

    it(`${version}: every call documents its refusals as problem documents`, () => {
      for (const { operationId, responses, security, requestBody } of operations) {
        for (const status of ['400', '429', '500', '503']) assert.ok(status in responses, operationId)
        const secured = security.length > 0
        assert.equal('401' in responses, secured, operationId)
        // A session's secret gives access to the whole session, so no scope can be missing.
        assert.equal('403' in responses, secured && version !== 'connect', operationId)
        for (const status of ['413', '415']) {
          assert.equal(status in responses, requestBody !== undefined, operationId)
        }
      }
    })

    it(`${version}: a scope that a call asks for is one of its flow`, () => {
      const scopesOf = (scheme: string): string[] =>
        findMembers(document.components.securitySchemes[scheme] ?? null, 'scopes').flatMap((scopes) =>
          Object.keys(scopes ?? {}),
        )
      for (const { operationId, security } of operations) {
        for (const [scheme, scopes] of security.flatMap(Object.entries<Json>)) {
          assert.ok(scheme in document.components.securitySchemes, operationId)
          for (const scope of scopes as string[]) assert.ok(scopesOf(scheme).includes(scope), operationId)
        }
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
