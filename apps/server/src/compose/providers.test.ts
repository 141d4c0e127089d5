import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Refusal } from '@assay/core'
import { ConfigError, parseConfig } from '../config/config.ts'
import { getOffered } from '../connections/adding/add.ts'
import { describeProviders } from './providers.ts'

const client = { clientId: 'abc', clientSecret: 'd:e' }

describe('the offered providers', () => {
  const typesOf = (providerClients: Record<string, typeof client>): readonly string[] | undefined =>
    describeProviders({ mode: 'production', providerClients }, undefined).catalog.find(
      ({ provider_id }) => provider_id === 'coinbase',
    )?.connection_types

  it('offer a sign-in only where the operator is registered, and the other ways to connect everywhere', () => {
    assert.deepEqual(typesOf({ coinbase: client }), ['oauth2', 'api_key'])
    assert.deepEqual(typesOf({}), ['api_key'])
  })

  it('a registration at a provider without a sign-in is refused as a mistake', () => {
    for (const id of ['kraken', 'nowhere']) {
      assert.throws(() => typesOf({ [id]: client }), ConfigError)
    }
  })

  it('in sandbox mode a provider without a simulator is shown, and cannot be added', () => {
    const simulated = { providerUrls: { kraken: 'http://127.0.0.1:1' }, control: undefined as never }
    const { catalog } = describeProviders({ mode: 'sandbox', providerClients: {} }, simulated)
    const statusOf = (id: string): string | undefined => catalog.find(({ provider_id }) => provider_id === id)?.status
    assert.deepEqual([statusOf('kraken'), statusOf('kucoin')], ['available', 'not_in_sandbox'])
    assert.throws(
      () => getOffered(catalog, 'kucoin', 'api_key'),
      (error: Refusal) => error.items[0]?.cause === 'unknown_provider' && error.items[0].provider_id === 'kucoin',
    )
    const real = describeProviders({ mode: 'production', providerClients: {} }, undefined).catalog
    assert.ok(!real.some(({ status }) => status === 'not_in_sandbox'))
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
