/**
 * The snippets of the guides. The TypeScript of docs/guides/integrate.md and of copy.md is one program each when put
 * together; that of the SDK's own README is checked by the compiler at its strictest. The shell snippets of every guide
 * run in the order they stand, one shell for each guide, against one service for all of them.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { sdkCalls } from '../../apps/server/src/http/docs/typescript.ts'
import { openResource } from '../../apps/server/src/http/test-resource.ts'
import { reservePort } from '../reserve-port.ts'
import { lastFirst } from '../service.ts'
import { until } from '../until.ts'

const run = promisify(execFile)
const root = path.join(import.meta.dirname, '../..')
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')

async function readSnippets(file: string, language: string): Promise<string[]> {
  const text = await readFile(path.join(root, file), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, code = '']) => code)
}

const settings = {
  compilerOptions: {
    target: 'ES2022',
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    outDir: 'out',
    types: [],
    lib: ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
  },
  include: ['*.ts'],
}

/** What an application has around the snippets of the SDK's README. */
const surroundings = `
declare const callbackUrl: string
declare const save: (tokens: Tokens) => Promise<void>
declare const request: Request
declare const rawBody: string
declare const webhookSecret: string
declare const db: {
  loadCursor: () => Promise<string | undefined>
  apply: (changes: readonly TransactionChange[], cursor: string) => Promise<void>
  reset: () => Promise<void>
}
declare const userId: string
declare const store: {
  load: (userId: string) => Promise<Tokens>
  save: (userId: string, tokens: Tokens) => Promise<void>
  withLock: (userId: string, work: () => Promise<void>) => Promise<void>
}
declare const cursor: string
declare const saveCursor: (cursor: string | undefined) => Promise<void>
import type { Tokens, TransactionChange } from '@assay/sdk'
`

describe('the snippets of the guides', async () => {
  const api = await openResource()
  let folder = ''
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'assay-guides-'))
    await run(process.execPath, [path.join(root, 'tools/build-sdk.ts')])
    await mkdir(path.join(folder, 'node_modules/@assay'), { recursive: true })
    await symlink(path.join(root, 'packages/sdk'), path.join(folder, 'node_modules/@assay/sdk'))
    await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(settings))
    const environment = 'declare const process: { env: Record<string, string | undefined> }\n'
    await writeFile(path.join(folder, 'process.d.ts'), environment)
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('in the SDK’s README, integrate.md, copy.md and the API reference type-check', async () => {
    const guide = await readSnippets('docs/guides/integrate.md', 'ts')
    const readme = await readSnippets('packages/sdk/README.md', 'ts')
    const copy = await readSnippets('docs/guides/copy.md', 'ts')
    assert.ok(guide.length >= 8 && readme.length >= 5 && copy.length === 3)
    await writeFile(path.join(folder, 'guide.ts'), guide.join('\n'))
    await writeFile(path.join(folder, 'copy.ts'), copy.join('\n'))
    const calls = Object.values(sdkCalls).map((call) => `{\n${call}\n}`)
    assert.ok(calls.length > 20)
    const clients = `import type { Client, EnterpriseClient } from '@assay/sdk'
declare const client: Client
declare const tenant: EnterpriseClient`
    await writeFile(path.join(folder, 'reference.ts'), [clients, ...calls].join('\n'))
    await writeFile(path.join(folder, 'readme.ts'), [surroundings, ...readme].join('\n'))
    const { stdout } = await run(process.execPath, [compiler, '-p', '.'], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    )
    assert.equal(stdout, '')
  })

  const environment = { BASE_URL: api.url, AUTH_URL: api.url, WIDGET_URL: `${api.url}/connect` }

  it('of integrate.md run: they connect, redeem, read, meet a refusal and read all users', async () => {
    const { stdout } = await run(process.execPath, ['out/guide.js'], { cwd: folder, env: environment })
    assert.match(stdout, /^not_found The transaction was not found: .+ req_\w+$/m)
    assert.match(stdout, /^\d+ users$/m)
    assert.match(stdout, /^usr_\w+ assets:read/m)
  })

  const PATH = `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`
  const { environment: installation } = api.service
  /** Of a user whose account was read; sandbox.md breaks that of another. */
  const userOf = async (user: string, scenario: string): Promise<Record<string, string>> => {
    const { access_token, connectionIds } = await api.signIn(user, { providers: [{ provider_id: 'kraken', scenario }] })
    return { ACCESS_TOKEN: access_token, CONNECTION_ID: connectionIds[0] ?? '' }
  }
  const runShell = async (scripts: readonly string[], more: Record<string, string>): Promise<string> => {
    const env = {
      ...installation,
      ...environment,
      PATH,
      npm_config_offline: 'true',
      npm_config_update_notifier: 'false',
      ...more,
    }
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', scripts.join('\n')], { cwd: root, env })
    // Each answer ends its line, for the reader's prompt and for the next answer. No JSON contains these two characters.
    assert.match(stdout, /(?:^|\n)$/)
    assert.doesNotMatch(stdout, /[}\]][{[]/)
    return stdout
  }

  it('of copy.md run, and the copy equals the list', async () => {
    const reader = await userOf('reader', 'default')
    const { stdout } = await run(process.execPath, ['out/copy.js'], { cwd: folder, env: { ...environment, ...reader } })
    assert.match(stdout, /^564 transactions in the copy\n\d+ transactions of all users and a cursor$/m)
    for (const [guide, expected] of Object.entries(readerGuides)) {
      const scripts = await readSnippets(`docs/guides/${guide}`, 'bash')
      assert.match(await runShell(scripts, reader), expected, guide)
    }
  })

  it('of sandbox.md for the shell run, and get answers', async () => {
    const printed = await runShell(
      await readSnippets('docs/guides/sandbox.md', 'bash'),
      await userOf('tester', 'empty'),
    )
    assert.match(printed, /"api_key":"[^"]{56}"[^]*"offset_ms":60000/)
  })

  it('of integrate.md make a login token that the service accepts', async () => {
    const home = path.join(folder, 'login')
    await mkdir(home)
    const commands = await readSnippets('docs/guides/integrate.md', 'bash makes a login key')
    await runShell(
      commands.map((text) => text.replaceAll('/tmp/my-application', home)),
      {},
    )
    const [module = ''] = await readSnippets('docs/guides/integrate.md', 'js login-token.mjs')
    const codeChallenge = 'c'.repeat(43)
    const wishes = { clientId: 'cli_demo', authUrl: api.url, ownUserId: 'customer 17', codeChallenge }
    await writeFile(
      path.join(home, 'make.mjs'),
      `${module}\nprocess.stdout.write(createLoginToken(${JSON.stringify(wishes)}))`,
    )
    const { stdout: token } = await run(process.execPath, ['make.mjs'], { cwd: home })
    const query = new URLSearchParams({
      client_id: 'cli_demo',
      code_challenge: codeChallenge,
      code_challenge_method: 'S256',
      state: crypto.randomUUID(),
      login_token: token,
    })
    const begun = await api.call<{ session: { step: string } | null }>('POST', '/connect/v1/session', undefined, {
      query: query.toString(),
    })
    assert.equal(begun.body.session?.step, 'consent', begun.text)
  })

  it('of quickstart.md make an application that connects, shows holdings and is notified of changes', async (test) => {
    const t = lastFirst(test)
    const ownUrl = `http://127.0.0.1:${await reservePort(t)}`
    const home = path.join(folder, 'my-application')
    /** The guide's addresses and folder are those of a newcomer's machine. */
    const here = (text: string): string =>
      text
        .replaceAll('http://127.0.0.1:3000', ownUrl)
        .replaceAll('http://127.0.0.1:4000', api.url)
        .replaceAll('/tmp/my-application', home)
    await runShell((await readSnippets('docs/guides/quickstart.md', 'bash')).map(here), {})
    const [program = ''] = await readSnippets('docs/guides/quickstart.md', 'js app.mjs')
    await writeFile(path.join(home, 'app.mjs'), here(program))
    assert.deepEqual(await readSnippets('docs/guides/quickstart.md', 'bash starts app.mjs'), ['node app.mjs\n'])
    const started = spawn('node', ['app.mjs'], { cwd: home, env: { PATH }, stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(async () => {
      const ended = once(started, 'exit')
      started.kill()
      await ended
    })
    await Promise.race([once(started.stdout, 'data'), once(started, 'exit')])

    const begun = await fetch(`${ownUrl}/connect`, { redirect: 'manual' })
    const asked = Object.fromEntries(new URL(begun.headers.get('location') ?? '').searchParams)
    const { body } = await api.call<{ redirect_to: string }>('POST', '/sandbox/authorizations', undefined, {
      ...{ ...asked, user: 'visitor', providers: [{ provider_id: 'kraken' }] },
    })
    assert.equal((await fetch(body.redirect_to)).status, 200)
    const page = await until('holdings and a webhook', async () => {
      const text = await (await fetch(ownUrl)).text()
      return /<li>BTC /.test(text) && !text.includes('none yet') ? text : undefined
    })
    assert.match(page, /<li>BTC 0\.409087788<\/li>[^]*Last webhook: \w+\.changed/)
    const forged = await fetch(`${ownUrl}/webhooks`, { method: 'POST', body: '{}' })
    assert.match(await forged.text(), /^WebhookError: /)
  })
})

/** What the commands of a guide print, with a user's token or without one. */
const readerGuides: Readonly<Record<string, RegExp>> = {
  'copy.md': /"cursor":"/,
  'integrate.md': /^\d+\n[^]*"token_type":"Bearer"/,
  'move-to-v2.md': /"crypto_source_id":"kraken"[^]*"provider_id":"kraken"/,
  'register.md': /ten_sandbox[^]*cli_[^]*whsec_[^]*webhook\.test/,
}

it('every guide with commands that can run is run here', async () => {
  const guides = globSync('docs/guides/*.md', { cwd: root }).map((file) => path.basename(file))
  const runnable: string[] = []
  for (const guide of guides) {
    if ((await readSnippets(`docs/guides/${guide}`, 'bash')).length > 0) runnable.push(guide)
  }
  assert.deepEqual(runnable.toSorted(), [...Object.keys(readerGuides), 'quickstart.md', 'sandbox.md'].toSorted())
})
