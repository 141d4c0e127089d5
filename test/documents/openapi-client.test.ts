/**
 * What an integrator without the SDK gets: types generated from the served documents (openapi-typescript), a client
 * over them (openapi-fetch), checked by the compiler at its strictest in a separate folder, and run.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTS, { astToString } from 'openapi-typescript'
import { openResource } from '../../apps/server/src/http/test-resource.ts'

const run = promisify(execFile)
const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'))
const client = fileURLToPath(import.meta.resolve('openapi-fetch'))
const modules = client.slice(0, client.lastIndexOf('/openapi-fetch/'))

const program = `
import createClient from 'openapi-fetch'
import type { components, paths } from './v2.js'
import type { paths as pathsV1 } from './v1.js'

const [baseUrl = '', token = ''] = process.argv.slice(2)
const options = {
  baseUrl,
  headers: { Authorization: 'Bearer ' + token },
  // The documents declare lists in a query this way: style form, explode false.
  querySerializer: { array: { style: 'form', explode: false } },
} as const
const v2 = createClient<paths>(options)
const v1 = createClient<pathsV1>(options)

const providers = await v2.GET('/accounts/v2/providers', { params: { query: { limit: 10 } } })
if (providers.error !== undefined) throw new Error(providers.error.detail)

const assets = await v1.GET('/platform/v1/assets', { params: { query: { asset_symbols: ['BTC', 'ZQNT'] } } })
const held: number[] = assets.data?.map((position) => position.asset_holdings) ?? []

type Transaction = components['schemas']['Transaction']
const seen: Transaction[] = []
let cursor: string | undefined
do {
  const types: Transaction['type'][] = ['send', 'receive']
  const { data, error } = await v2.GET('/accounts/v2/transactions', {
    params: { query: { limit: 20, types, ...(cursor === undefined ? {} : { cursor }) } },
  })
  if (error !== undefined) throw new Error(error.detail)
  seen.push(...data.data)
  cursor = data.page.next || undefined
} while (cursor !== undefined)

const refused = await v2.POST('/accounts/v2/providers', {
  body: { provider_id: 'nowhere', connection: { type: 'api_key', api_key: 'k', secret_key: 's' } },
})
const { error } = refused
const causes: components['schemas']['ErrorItem']['cause'][] = error?.errors.map((item) => item.cause) ?? []

console.log(JSON.stringify({
  providers: providers.data.data.map(({ provider_id, status }) => [provider_id, status]),
  held,
  types: [...new Set(seen.map(({ type }) => type))].sort(),
  ids: seen.map(({ id }) => id),
  refused: [refused.response.status, error?.code, causes],
}))
`

const settings = {
  compilerOptions: {
    target: 'ES2022',
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    // Only for the libraries: the generated code is not a declaration file here.
    skipLibCheck: true,
    outDir: 'out',
    types: [],
    lib: ['ES2022', 'DOM', 'DOM.Iterable'],
  },
  files: ['app.ts', 'connect.ts', 'process.d.ts'],
}

describe('a client generated from the documents', async () => {
  const api = await openResource()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken', scenario: 'odd' }] })
  let folder = ''
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'assay-generated-'))
    for (const version of ['v1', 'v2', 'connect']) {
      const types = await openapiTS(new URL(`${api.url}/openapi/${version}.json`))
      await writeFile(path.join(folder, `${version}.ts`), astToString(types))
    }
    await mkdir(path.join(folder, 'node_modules'))
    for (const name of ['openapi-fetch', 'openapi-typescript-helpers']) {
      await symlink(path.join(modules, name), path.join(folder, 'node_modules', name))
    }
    await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
    await writeFile(path.join(folder, 'process.d.ts'), 'declare const process: { argv: string[] }\n')
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(settings))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const compile = async (text: string): Promise<string> => {
    await writeFile(path.join(folder, 'app.ts'), text)
    const done = run(process.execPath, [compiler, '-p', '.'], { cwd: folder })
    return (await done.catch((error: { stdout: string }) => error)).stdout
  }

  it('type-checks and works: providers, assets, pages that follow next, and a refusal', async () => {
    assert.equal(await compile(program), '')
    const { stdout } = await run(process.execPath, ['out/app.js', api.url, ann.access_token], { cwd: folder })
    const { ids, ...found } = JSON.parse(stdout) as { ids: string[] }
    assert.ok(ids.length > 40)
    assert.equal(new Set(ids).size, ids.length)
    assert.deepEqual(found, {
      providers: [['kraken', 'active']],
      held: [0.359087602, 123456789012.12346],
      types: ['receive', 'send'],
      refused: [400, 'invalid_request', ['unknown_provider']],
    })
  })

  it('does not compile with a wrong value, or a member or credential that does not exist', async () => {
    const mistakes = await compile(
      program
        .replace('limit: 10', 'limit: "ten"')
        .replace('asset_holdings)', 'amount)')
        .replace("secret_key: 's'", "secret: 's'"),
    )
    for (const word of ["'number'", "'amount'", "'secret'"]) assert.ok(mistakes.includes(word), mistakes)
  })
})
