import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError, parseConfig } from '../config.ts'
import { describeProviders } from './providers.ts'

const client = { clientId: 'abc', clientSecret: 'd:e' }

describe('the providers that are offered', () => {
  const typesOf = (providerClients: Record<string, typeof client>): readonly string[] | undefined =>
    describeProviders({ mode: 'production', providerClients }, undefined).catalog.find(
      ({ provider_id }) => provider_id === 'coinbase',
    )?.connection_types

  it('offer a sign-in where the operator is registered, and the other ways everywhere', () => {
    assert.deepEqual(typesOf({ coinbase: client }), ['oauth2', 'api_key'])
    assert.deepEqual(typesOf({}), ['api_key'])
  })

  it('a registration at a provider that has no sign-in is a mistake', () => {
    for (const id of ['kraken', 'nowhere']) {
      assert.throws(() => typesOf({ [id]: client }), ConfigError)
    }
  })

  it('registrations are read from the settings, and a mistake is never quoted', () => {
    const parse = (value: string) => parseConfig({ ASSAY_MODE: 'sandbox', ASSAY_PROVIDER_CLIENTS: value })
    assert.deepEqual(parse('coinbase:abc:d:e').providerClients, { coinbase: client })
    for (const value of ['coinbase:abc', 'coinbase', 'coinbase:hush:x,coinbase:hush:y', 'Coin base:hush:x']) {
      assert.throws(
        () => parse(value),
        (error: Error) => error instanceof ConfigError && !error.message.includes('hush'),
      )
    }
  })
})
