/**
 * The package as an integrator gets it: packed, installed in an empty folder, type-checked and run there and in a
 * browser.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { openResource } from '../../../apps/server/src/http/test-resource.ts'
import { walk } from '../../../test/application.ts'
import { launchBrowser, openContext } from '../../../test/widget/browser.ts'
import { servePages } from '../../../test/widget/static-host.ts'

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
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken', scenario: 'odd' }] })
  const folder = await mkdtemp(path.join(os.tmpdir(), 'assay-sdk-'))
  after(() => rm(folder, { recursive: true, force: true }))

  it('has only the built files, no dependencies, and self-contained declarations', async () => {
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
    const entries = await readdir(path.join(installed, 'dist'), { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    assert.ok(files.length > 0)
    for (const { name, parentPath } of files) {
      const text = await readFile(path.join(parentPath, name), 'utf8')
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

  it('works on a page of another origin: PKCE, the code redeemed without a secret, pages, a stream, a refusal', async (t) => {
    const page = await openPage(t, path.join(folder, 'app/node_modules/@assay/sdk/dist'))
    const widgetUrl = `${api.url}/connect`
    const url = await page.evaluate<string>(`(async () => {
      window.kept = { ...(await sdk.createPkce()), state: sdk.createState() }
      return sdk.toAuthorizationUrl({ widgetUrl: '${widgetUrl}', clientId: 'cli_demo', ...kept })
    })()`)
    const parameters = Object.fromEntries(new URL(url).searchParams)
    // The same person as above, who has an account connected.
    const asked = { ...parameters, user: 'ann', providers: [] }
    const { body } = await api.call<{ redirect_to: string }>('POST', '/sandbox/authorizations', undefined, asked)

    const found = await page.evaluate<Record<string, unknown>>(`(async () => {
      const { state, codeVerifier } = kept
      const app = { baseUrl: '${api.url}', clientId: 'cli_demo' }
      const code = sdk.readCallback('${body.redirect_to}', { state, issuer: '${api.url}' })
      const redirectUri = 'http://127.0.0.1:4100/callback'
      const tokens = await sdk.exchangeCode(sdk.toTokenClient(app), { code, codeVerifier, redirectUri })
      const client = sdk.createClient({ ...app, tokens })
      const collect = async (list) => { const ids = []; for await (const item of list) ids.push(item.id ?? item.asset_holdings); return ids }
      const missing = await client.transaction('txn_none').catch((error) => error)
      return {
        keys: Object.keys(tokens).sort(),
        listed: await collect(client.transactions()),
        exported: await collect(client.exportTransactions()),
        held: await collect(client.assets({ asset_symbols: ['ZQNT'] })),
        missing: missing instanceof sdk.ProblemError ? [missing.code, missing.requestId.slice(0, 4)] : String(missing),
      }
    })()`)
    const ids = (await walk<{ id: string }>(api.url, '/accounts/v2/transactions?limit=100', ann.access_token)).map(
      ({ id }) => id,
    )
    assert.deepEqual(found, {
      keys: ['accessToken', 'expiresAtMs', 'grantId', 'scope', 'userId'],
      listed: ids,
      exported: ids,
      held: ['123456789012.123456789012345679'],
      missing: ['not_found', 'req_'],
    })
  })
})

/** An empty page of another origin that has loaded the built files as a module. */
async function openPage(t: Pick<TestContext, 'after'>, dist: string): Promise<Page> {
  const html = '<!doctype html><title>x</title><script type="module">window.sdk = await import("/index.js")</script>'
  const host = await servePages(async (name) =>
    name === '/'
      ? { type: 'text/html', body: html }
      : { type: 'text/javascript', body: await readFile(path.join(dist, name)) },
  )
  t.after(host.stop)
  const browser = await launchBrowser()
  t.after(() => browser.close())
  const page = await (await openContext(browser)).newPage()
  await page.goto(`${host.url}/`)
  await page.waitForFunction('window.sdk !== undefined')
  return page
}
