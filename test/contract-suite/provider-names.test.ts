/** No code outside a provider's own folders names it: the widget, the engine and the sandbox read definitions. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { listCatalog } from '@assay/connectors/catalog'

const root = path.resolve(import.meta.dirname, '../..')

/**
 * Codes of assets are curated in one place for all providers. The examples of the contract and of the reference need a
 * name, and so do the accounts that the demo shows. Assets and chains have their own names, which a provider that reads
 * a chain shares.
 */
const exempt =
  /^packages\/core\/src\/(assets|credentials)\/|^packages\/contract\/src\/(endpoints\/|values\.ts$)|^apps\/server\/src\/http\/docs\/typescript\.ts$|^apps\/cli\/src\/starting\/demo-access\.ts$/
const isTest = /\.test\.tsx?$|(^|\/)test-[a-z-]+\.ts$/

describe('the names of providers', () => {
  const ids = listCatalog().map(({ provider_id: id }) => id)
  const files = globSync(
    ['apps/{server,cli}/src/**/*.ts', 'packages/{core,contract,connect}/src/**/*.{ts,tsx}', 'packages/sdk/src/**/*.ts'],
    { cwd: root },
  ).filter((file) => !exempt.test(file) && !isTest.test(file))

  it('do not appear in any text of the code', () => {
    assert.ok(files.length > 200, 'the sources were not found')
    const quoted = new RegExp(`['"\`.](?:${ids.join('|')})(?:['"\`]|_)`, 'i')
    const lines = files.flatMap((file) =>
      readFileSync(path.join(root, file), 'utf8')
        .split('\n')
        .flatMap((line, index) => (quoted.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [])),
    )
    assert.deepEqual(lines, [])
  })
})
