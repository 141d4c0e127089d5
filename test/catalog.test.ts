/** The whole catalogue as people see it: its content, and that a search finds the intended provider. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listCatalog } from '@assay/connectors/catalog'
import type { Provider } from '../packages/connect/src/api/catalog.ts'
import { searchProviders } from '../packages/connect/src/screens/choosing/search.ts'

const catalog = listCatalog()
const providers = structuredClone(catalog) as unknown as Provider[]

describe('the whole catalogue', () => {
  it('has ninety-five providers or more, each with all that a person needs to know', () => {
    assert.ok(catalog.length >= 95, String(catalog.length))
    for (const { provider_id: id, name, website, known_limits, credential_fields, brand } of catalog) {
      assert.match(id, /^[a-z0-9_]+$/)
      assert.match(name, /^\S.*\S$/)
      assert.equal(new URL(website).protocol, 'https:', id)
      assert.ok(known_limits.length > 0, id)
      assert.ok(credential_fields.length > 0, id)
      assert.match(brand.color, /^#[0-9a-f]{6}$/)
      assert.ok([...brand.short_name].length <= 2, id)
    }
  })

  it('names, aliases and ranks are unique', () => {
    const names = catalog.map(({ name }) => name.toLowerCase())
    assert.equal(new Set(names).size, names.length)
    const ranks = catalog.flatMap(({ popularity_rank: rank }) => (rank === null ? [] : [rank]))
    assert.equal(new Set(ranks).size, ranks.length)
    const taken = catalog.flatMap(({ aliases, provider_id }) =>
      aliases.filter((alias) => names.includes(alias.toLowerCase())).map((alias) => `${provider_id}: ${alias}`),
    )
    assert.deepEqual(taken, [])
    // A hardware wallet holds coins of several chains, and its name finds all of them.
    const exchanges = catalog.filter(({ kind }) => kind === 'exchange')
    const aliases = exchanges.flatMap((provider) => provider.aliases.map((alias) => alias.toLowerCase()))
    assert.equal(new Set(aliases).size, aliases.length)
  })

  it('a wallet app finds each chain that it holds, and says where it shows what to paste', () => {
    const foundBy = (query: string): string[] =>
      searchProviders(providers, query, undefined).rest.map(({ provider_id }) => provider_id)
    for (const { provider_id: id, wallet_apps: apps = [] } of catalog) {
      for (const { name, menu } of apps) {
        assert.ok(foundBy(name).includes(id), `${name} finds ${id}`)
        assert.ok(menu.length > 0, name)
      }
    }
    assert.deepEqual(foundBy('ledger').toSorted(), ['bitcoin', 'evm', 'solana'])
    const brands = catalog.flatMap(({ wallet_apps: apps = [] }) => apps.map(({ name }) => name))
    for (const name of ['MetaMask', 'Ledger', 'Trezor', 'Phantom', 'Rabby']) assert.ok(brands.includes(name), name)
  })

  it('a key whose rights cannot be read is one that the person confirms', () => {
    const checks = new Map(catalog.map(({ provider_id, permission_check }) => [provider_id, permission_check]))
    assert.deepEqual(
      ['kraken', 'bybit', 'okx', 'bitfinex', 'kucoin', 'gate', 'mexc'].map((id) => checks.get(id)),
      ['full', 'full', 'full', 'full', 'full', 'none', 'none'],
    )
  })

  it('a provider that was never tried with a real account is a beta', () => {
    const beta = catalog.filter(({ status }) => status === 'beta').map(({ provider_id }) => provider_id)
    assert.ok(beta.includes('okx') && !beta.includes('kraken') && !beta.includes('binance'))
  })

  it('asks for the third credential where an exchange has one', () => {
    const fieldsOf = (id: string): string[] | undefined =>
      catalog.find(({ provider_id }) => provider_id === id)?.credential_fields.map(({ label }) => label)
    assert.deepEqual(fieldsOf('okx'), ['API key', 'Secret key', 'Passphrase'])
    assert.deepEqual(fieldsOf('coinmate'), ['API key', 'Secret key', 'Client ID'])
    assert.deepEqual(fieldsOf('hyperliquid'), ['Address'])
    assert.deepEqual(fieldsOf('bybit'), ['API key', 'Secret key'])
    assert.deepEqual(fieldsOf('revolutx'), ['API key', 'Private key'])
  })

  const typed: Record<string, string> = {
    cdc: 'cryptocom',
    'crypto.com': 'cryptocom',
    huobi: 'htx',
    gateio: 'gate',
    'gate.io': 'gate',
    okex: 'okx',
    gdax: 'coinbase',
    'coinbase pro': 'coinbase',
    'coinbase exch': 'coinbaseexchange',
    coinbase: 'coinbase',
    binance: 'binance',
    'binance us': 'binanceus',
    kucoin: 'kucoin',
    bit: 'bitcoin',
    bitg: 'bitget',
    krak: 'kraken',
    phantom: 'solana',
    solflare: 'solana',
    sol: 'solana',
    업비트: 'upbit',
    ftx: '',
  }
  for (const [query, id] of Object.entries(typed)) {
    it(`“${query}” finds ${id === '' ? 'nothing' : id}`, () => {
      assert.equal(searchProviders(providers, query, undefined).rest[0]?.provider_id ?? '', id)
    })
  }

  it('a sandbox lists what it can connect, and still finds the others', () => {
    const sandboxed = providers.map((provider) =>
      provider.provider_id === 'kraken' ? provider : { ...provider, status: 'not_in_sandbox' as const },
    )
    const { popular, rest } = searchProviders(sandboxed, '', undefined)
    assert.deepEqual(
      [...popular, ...rest].map(({ provider_id }) => provider_id),
      ['kraken'],
    )
    assert.equal(searchProviders(sandboxed, 'okx', undefined).rest[0]?.provider_id, 'okx')
  })
})
