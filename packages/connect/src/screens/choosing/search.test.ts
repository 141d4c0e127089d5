import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Provider } from '../../api/catalog.ts'
import { searchProviders } from './search.ts'

const ranked = ['Coinbase', 'Binance', 'Kraken', 'OKX', 'Bitcoin']

function provider(name: string, kind: Provider['kind'] = 'exchange', website = 'https://example.com'): Provider {
  return {
    provider_id: name.toLowerCase().replaceAll(/\W/g, ''),
    name,
    aliases: name === 'HTX' ? ['Huobi'] : [],
    kind,
    connection_types: ['api_key'],
    permission_check: 'full',
    credential_fields: [],
    required_permissions: [],
    guide: null,
    wallet_apps: [],
    networks: [],
    icon_url: '/icons/providers/any.svg',
    brand: { color: '#000000', short_name: 'x' },
    popularity_rank: ranked.includes(name) ? ranked.indexOf(name) : null,
    features: { holdings: true, staking: true, transactions: true },
    known_limits: [],
    status: 'available',
    website,
  }
}

const many = ['Zonda', 'Bitpanda', 'Crypto.com', 'Kraken', 'Coinbase', 'Gate', 'HTX', 'MEXC', 'OKX', 'Upbit', 'Bitget']
  .map((name) => provider(name))
  .concat(provider('Bitcoin', 'wallet'), provider('Binance', 'exchange', 'https://www.binance.com'))

const names = (found: { popular: Provider[]; rest: Provider[] }): string[] =>
  [...found.popular, ...found.rest].map(({ name }) => name)

describe('finding a provider', () => {
  it('shows the popular ones first, then A to Z', () => {
    const { popular, rest } = searchProviders(many, '', undefined)
    assert.deepEqual(
      popular.map(({ name }) => name),
      ['Coinbase', 'Binance', 'Kraken', 'OKX', 'Bitcoin'],
    )
    assert.deepEqual(
      rest.map(({ name }) => name),
      ['Bitget', 'Bitpanda', 'Crypto.com', 'Gate', 'HTX', 'MEXC', 'Upbit', 'Zonda'],
    )
  })

  it('a short list has no heading of its own for the popular ones', () => {
    assert.deepEqual(searchProviders(many.slice(0, 3), '', undefined).popular, [])
  })

  it('a match at the beginning ranks before one in the middle; case, accents and dots do not matter', () => {
    assert.deepEqual(names(searchProviders(many, 'bit', undefined)), ['Bitcoin', 'Bitget', 'Bitpanda', 'Upbit'])
    assert.deepEqual(names(searchProviders(many, 'CRYPTO COM', undefined)), ['Crypto.com'])
    assert.deepEqual(names(searchProviders(many, 'bítpañda', undefined)), ['Bitpanda'])
    assert.deepEqual(names(searchProviders(many, 'binance.com', undefined)), ['Binance'])
  })

  it('a former name finds the provider', () => {
    assert.deepEqual(names(searchProviders(many, 'huobi', undefined)), ['HTX'])
  })

  it('choosing a kind hides the others', () => {
    assert.deepEqual(names(searchProviders(many, '', 'wallet')), ['Bitcoin'])
  })
})
