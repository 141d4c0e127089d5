import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { findAssetByContract, getAsset } from '@assay/core'
import {
  findProvider,
  findSignIn,
  getDefinition,
  getStreams,
  listCatalog,
  listClaimable,
  toExchange,
} from './catalog.ts'
import { loadConnector } from './registry.ts'

/** Everything that a file imports when it is loaded, through any number of local files. Types are erased. */
function staticImports(file: URL, seen = new Set<string>()): Set<string> {
  const source = readFileSync(file, 'utf8')
  for (const [, statement = '', name = ''] of source.matchAll(/^((?:im|ex)port\b[^'"`]*?)['"]([^'"]+)['"]/gm)) {
    if (/^(?:im|ex)port type\b/.test(statement) || seen.has(name)) continue
    seen.add(name)
    if (name.startsWith('.')) staticImports(new URL(name, file), seen)
  }
  return seen
}

const catalog = listCatalog()

/** Providers that call the same hosts and are exchanges of their own. */
const apart: readonly { ids: readonly string[]; why: string }[] = [
  {
    ids: ['binance', 'binanceus', 'tokocrypto'],
    why: 'Binance.US and Tokocrypto have accounts and private hosts of their own, and ccxt declares hosts of Binance for them as well.',
  },
]

describe('the catalogue', () => {
  it('has every provider once, and a connector for each', async () => {
    assert.equal(new Set(catalog.map((provider) => provider.provider_id)).size, catalog.length)
    for (const { provider_id } of catalog) {
      const connector = await loadConnector(provider_id)
      assert.equal(connector.providerId, provider_id)
      assert.equal(connector.version, getDefinition(provider_id).connectorVersion ?? 1, provider_id)
      assert.ok(getStreams(provider_id).some((stream) => stream.required))
    }
  })

  it('has a sign-in address for exactly the providers that use a sign-in', () => {
    for (const { provider_id, connection_types } of catalog) {
      assert.equal(findSignIn(provider_id) !== undefined, connection_types.includes('oauth2'))
    }
  })

  it('an id that it does not have is not found, and has no connector', async () => {
    for (const id of ['nowhere', 'toString', '__proto__', 'Kraken', '']) {
      assert.equal(findProvider(id), undefined)
      assert.equal(findSignIn(id), undefined)
      await assert.rejects(loadConnector(id), RangeError)
      assert.throws(() => getStreams(id), RangeError)
    }
  })

  it('every cost names a bucket of the connector, and fits into it', async () => {
    for (const { provider_id } of catalog) {
      const { budget } = await loadConnector(provider_id)
      const costs = [
        budget.verify,
        budget.balances,
        budget.partitions,
        ...getStreams(provider_id).map(({ cost }) => cost),
      ]
      for (const [name, tokens] of costs.flatMap((cost) => Object.entries(cost))) {
        const bucket = budget.buckets.find((candidate) => candidate.name === name)
        for (const { capacity } of bucket?.tiers ?? [{ capacity: 0 }]) assert.ok(tokens <= capacity, name)
      }
    }
  })

  it('takes providers that call the same hosts for one exchange, or says why they are not', () => {
    const hostsOf = (id: string): string[] => {
      const { baseUrl, hosts = [] } = getDefinition(id)
      return [new URL(baseUrl).host, ...hosts]
    }
    const ids = catalog.filter(({ kind }) => kind === 'exchange').map(({ provider_id }) => provider_id)
    const twice = ids.flatMap((one, at) =>
      ids
        .slice(at + 1)
        .filter((other) => hostsOf(one).some((host) => hostsOf(other).includes(host)))
        .filter((other) => toExchange(one) !== toExchange(other))
        .filter((other) => !apart.some(({ ids: known }) => [one, other].every((id) => known.includes(toExchange(id)))))
        .map((other) => [one, other]),
    )
    assert.deepEqual(twice, [])
  })

  it('takes wallets with hosts of their own for those of their exchange', () => {
    const wallets = ['binanceusdm', 'binancecoinm', 'kucoinfutures', 'krakenfutures', 'coinbaseinternational']
    assert.deepEqual(wallets.map(toExchange), ['binance', 'binance', 'kucoin', 'kraken', 'coinbase'])
    assert.deepEqual(['bybiteu', 'kraken', 'nowhere'].map(toExchange), ['bybit', 'kraken', 'nowhere'])
  })

  it('has balances that claims count only where the documents of the provider were read for it', () => {
    const brands = { bybit: ['bybit', 'bybiteu', 'bybitid'], okx: ['myokx', 'okx', 'okxus'] }
    assert.deepEqual(listClaimable().toSorted(), [
      ...['binance', 'bitfinex', ...brands.bybit, 'coinbase', 'kraken', ...brands.okx],
    ])
  })

  it('names rebasing assets by the ids that records have', () => {
    const rebasing = catalog.flatMap(({ provider_id }) => getDefinition(provider_id).rebasing ?? [])
    for (const assetId of rebasing) assert.equal(getAsset(assetId).assetId, assetId)
    const lido = '0xae7ab96520de3a18e5e111b5eaab095312d7fe84'
    assert.ok(rebasing.includes(findAssetByContract('evm:1', lido)?.assetId ?? ''))
  })

  it('names the coins that networks credit without a transaction, by networks that a provider has', () => {
    const evm = getDefinition('evm')
    assert.deepEqual(evm.unlistedCredits, {
      ...{ 137: 'crypto:polygon', 42161: 'crypto:ethereum', 43114: 'crypto:avalanche' },
    })
    for (const [network, assetId] of Object.entries(evm.unlistedCredits)) {
      assert.ok(evm.networks?.[network] !== undefined, network)
      assert.equal(getAsset(assetId).assetId, assetId)
    }
    const words = evm.metadata.known_limits.join(' ')
    for (const name of ['Avalanche', 'Arbitrum', 'Polygon']) assert.ok(words.includes(name), name)
  })

  it('every shape of a key is a regular expression that its lengths agree with', () => {
    for (const { shape } of catalog.flatMap((provider) => provider.credential_fields)) {
      if (shape === null) continue
      assert.ok(shape.length_min <= shape.length_max)
      assert.ok(!new RegExp(`^(?:${shape.pattern})$`).test('x'.repeat(shape.length_max + 1)))
      new RegExp(`[^${shape.alphabet}]`).test('')
    }
  })

  it('loads neither ccxt nor a connector', () => {
    for (const entry of ['catalog.ts', 'registry.ts', 'index.ts']) {
      const imports = [...staticImports(new URL(entry, import.meta.url))]
      assert.ok(imports.length > 1)
      assert.deepEqual(
        imports.filter(
          (name) => /^(ccxt|viem)\b|[a-z]\/connector\.ts$/.test(name) && !name.endsWith('kit/connector.ts'),
        ),
        [],
      )
    }
  })

  it('every secret field is marked as one', () => {
    for (const { credential_fields } of catalog) {
      for (const { name, secret } of credential_fields)
        assert.equal(secret, name === 'secret_key' || name === 'passphrase')
    }
  })
})
