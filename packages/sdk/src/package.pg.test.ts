/** The package as an integrator gets it: packed, installed in an empty folder, type-checked and run there. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { openResource } from '../../../apps/server/src/http/test-resource.ts'

const run = promisify(execFile)
const packageDirectory = path.resolve(import.meta.dirname, '..')
const compiler = path.resolve(packageDirectory, '../../node_modules/typescript/bin/tsc')

const program = `
import { createClient, createPkce, createState, ProblemError, toAuthorizationUrl, type Transaction } from '@assay/sdk'

const [baseUrl = '', accessToken = ''] = process.argv.slice(2)
const { codeChallenge } = await createPkce()
const url = toAuthorizationUrl({ widgetUrl: baseUrl + '/connect', clientId: 'cli_demo', codeChallenge, state: createState() })
const tokens = { accessToken, expiresAtMs: Date.now() + 900_000, scope: '', userId: '', grantId: '' }
const client = createClient({ baseUrl, clientId: 'cli_demo', tokens })
const seen: Transaction[] = []
for await (const transaction of client.transactions({ types: ['send'] })) seen.push(transaction)
const amounts: string[] = seen.flatMap(({ outputs }) => outputs.map(({ amount }) => amount))
const missing = await client.transaction('txn_none').catch((error: unknown) => error)
console.log(JSON.stringify({ url, count: amounts.length, code: missing instanceof ProblemError ? missing.code : null }))
`

const settings = {
  compilerOptions: {
    target: 'ES2022',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    outDir: 'out',
    types: [],
    lib: ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
  },
  files: ['app.ts', 'process.d.ts'],
}

describe('the packed package', async () => {
  const api = await openResource()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const folder = await mkdtemp(path.join(os.tmpdir(), 'assay-sdk-'))
  after(() => rm(folder, { recursive: true, force: true }))

  it('has the built files alone, no dependencies, and declarations that stand alone', async () => {
    await run('npm', ['pack', '--pack-destination', folder], { cwd: packageDirectory })
    const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
    const app = path.join(folder, 'app')
    await mkdir(app)
    await writeFile(path.join(app, 'package.json'), '{ "private": true, "type": "module" }')
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', path.join(folder, tarball)], { cwd: app })
    const installed = path.join(app, 'node_modules/@assay/sdk')
    assert.deepEqual(
      (await readdir(path.join(app, 'node_modules'))).filter((name) => !name.startsWith('.')),
      ['@assay'],
    )
    assert.deepEqual((await readdir(installed)).toSorted(), ['README.md', 'dist', 'package.json'])
    for (const name of await readdir(path.join(installed, 'dist'))) {
      const text = await readFile(path.join(installed, 'dist', name), 'utf8')
      assert.doesNotMatch(text, /@assay\/(?!sdk)|from 'zod'|node:/, name)
      assert.doesNotMatch(name, /test/)
    }
  })

  it('type-checks and runs in an empty folder', async () => {
    const app = path.join(folder, 'app')
    await writeFile(path.join(app, 'app.ts'), program)
    await writeFile(path.join(app, 'process.d.ts'), 'declare const process: { argv: string[] }\n')
    await writeFile(path.join(app, 'tsconfig.json'), JSON.stringify(settings))
    await run(process.execPath, [compiler, '-p', '.'], { cwd: app }).catch((error: { stdout: string }) => {
      assert.fail(error.stdout)
    })
    const { stdout } = await run(process.execPath, ['out/app.js', api.url, ann.access_token], { cwd: app })
    const { url, count, code } = JSON.parse(stdout) as { url: string; count: number; code: string }
    assert.match(url, /\/connect\?client_id=cli_demo&code_challenge=/)
    assert.ok(count > 0)
    assert.equal(code, 'not_found')
  })
})
