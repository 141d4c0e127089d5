/** The whole catalogue as people see it: its content, and that a search finds the intended provider. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listCatalog } from '@assay/connectors/catalog'
import type { Provider } from '../../packages/connect/src/api/catalog.ts'
import { searchProviders } from '../../packages/connect/src/screens/choosing/search.ts'
import { en } from '../../packages/connect/src/texts/en.ts'
import { findHint, findLabel } from '../../packages/connect/src/texts/hints.ts'

const catalog = listCatalog()
const providers = structuredClone(catalog) as unknown as Provider[]

describe('the whole catalogue', () => {
  it('has at least ninety-five providers, each with everything that a user needs to know', () => {
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

  it('a key whose rights cannot be read needs the user’s confirmation', () => {
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

describe('the hints under the fields', () => {
  const hints = catalog.flatMap(({ name, credential_fields: fields }) => fields.map(({ hint }) => ({ name, hint })))

  it('are found by their English text, and so exist in every language of the widget', () => {
    const unknown = hints.filter(({ name, hint }) => findHint(hint, name) === undefined)
    assert.deepEqual(unknown, [], 'add them to packages/connect/src/texts as hint.…, see docs/decisions/0028')
  })

  it('are all used: none is left over from a provider that changed its words', () => {
    const used = new Set<string | undefined>(hints.map(({ name, hint }) => findHint(hint, name)))
    assert.deepEqual(
      Object.keys(en).filter((key) => key.startsWith('hint.') && !used.has(key)),
      [],
    )
  })

  it('and so do the labels of wallets, while exchanges keep their own words', () => {
    const labels = catalog
      .filter(({ connection_types: types }) => types.includes('wallet'))
      // Of several fields the widget shows the first.
      .map(({ credential_fields: [first] }) => first?.label ?? '')
    assert.deepEqual([...new Set(labels.map(findLabel))].toSorted(), ['label.address', 'label.any_wallet'])
    assert.equal(findLabel('API key'), undefined)
  })

  it('stay as they are when the widget does not know them', () => {
    assert.equal(findHint('Printed on the back of your card.', 'Kraken'), undefined)
    // A sentence about another provider is not the same sentence.
    assert.equal(findHint('Create it at Bybit with read permission only.', 'OKX'), undefined)
  })
})
