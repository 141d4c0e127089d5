import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { findProvider, findSignIn, getStreams, listCatalog } from './catalog.ts'
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

const catalog = listCatalog({ sandbox: true })

describe('the catalogue', () => {
  it('has every provider once, and a connector for each', async () => {
    assert.equal(new Set(catalog.map((provider) => provider.provider_id)).size, catalog.length)
    for (const { provider_id } of catalog) {
      const connector = await loadConnector(provider_id)
      assert.equal(connector.providerId, provider_id)
      assert.ok(connector.streams.some((stream) => stream.required))
      assert.equal(getStreams(provider_id), connector.streams)
    }
  })

  it('shows what exists in the sandbox alone nowhere else, and still knows its name', () => {
    const shown = listCatalog({ sandbox: false }).map((provider) => provider.provider_id)
    assert.ok(shown.includes('kraken') && !shown.includes('harbor'))
    assert.equal(findProvider('harbor')?.name, 'Harbor')
  })

  it('says where to sign in for exactly the providers that one signs in at', async () => {
    for (const { provider_id, connection_types } of catalog) {
      assert.equal(findSignIn(provider_id) !== undefined, connection_types.includes('oauth2'))
      assert.equal((await loadConnector(provider_id)).signIn, findSignIn(provider_id))
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

  it('loads neither ccxt nor a connector', () => {
    for (const entry of ['catalog.ts', 'index.ts']) {
      const imports = [...staticImports(new URL(entry, import.meta.url))]
      assert.ok(imports.length > 1)
      assert.deepEqual(
        imports.filter((name) => name === 'ccxt' || /(kraken|harbor)\/connector\.ts$/.test(name)),
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
