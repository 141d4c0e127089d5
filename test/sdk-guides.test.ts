/**
 * The snippets of the guides. Those of docs/guides/integrate.md are one program when put together, and its shell snippets
 * run in the order they stand; those of the SDK's own README are checked by the compiler at its strictest.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { sdkCalls } from '../apps/server/src/http/docs/typescript.ts'
import { openResource } from '../apps/server/src/http/test-resource.ts'

const run = promisify(execFile)
const root = path.join(import.meta.dirname, '..')
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

  it('type-check, those of the SDK’s README, of integrate.md and of the API reference', async () => {
    const guide = await readSnippets('docs/guides/integrate.md', 'ts')
    const readme = await readSnippets('packages/sdk/README.md', 'ts')
    assert.ok(guide.length >= 8 && readme.length >= 5)
    await writeFile(path.join(folder, 'guide.ts'), guide.join('\n'))
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

  it('of integrate.md run: connect, redeem, read, a refusal, all users', async () => {
    const { stdout } = await run(process.execPath, ['out/guide.js'], { cwd: folder, env: environment })
    assert.match(stdout, /^not_found There is no such transaction\. req_\w+$/m)
    assert.match(stdout, /^\d+ users$/m)
    assert.match(stdout, /^usr_\w+ assets:read/m)
  })

  it('of integrate.md for the shell run, and answer', async () => {
    const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
    const scripts = await readSnippets('docs/guides/integrate.md', 'bash')
    assert.equal(scripts.length, 2)
    const PATH = `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`
    const env = { PATH, ...environment, ACCESS_TOKEN: ann.access_token }
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', scripts.join('\n')], { env })
    const [pages, token = ''] = stdout.split('{')
    assert.match(pages ?? '', /^\d+\n/)
    assert.match(token, /"token_type":"Bearer"/)
  })

  it('of sandbox.md and move-to-v2.md for the shell run, and answer', async () => {
    const bob = await api.signIn('bob', { providers: [{ provider_id: 'kraken' }] })
    const files = ['docs/guides/move-to-v2.md', 'docs/guides/sandbox.md']
    const scripts = (await Promise.all(files.map((file) => readSnippets(file, 'bash')))).flat()
    assert.equal(scripts.length, 6)
    const PATH = `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`
    const env = { PATH, ...environment, ACCESS_TOKEN: bob.access_token, CONNECTION_ID: bob.connectionIds[0] ?? '' }
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', scripts.join('\n')], { env })
    assert.match(stdout, /"crypto_source_id":"kraken"[^]*"provider_id":"kraken"/)
    assert.match(stdout, /"api_key":"[^"]{56}"/)
    assert.match(stdout, /"offset_ms":60000/)
  })
})
