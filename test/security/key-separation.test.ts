/**
 * The memory of real processes, as an attacker who controls one sees it. A heap snapshot and the environment of `assay
 * serve --role api` hold no key that opens a credential; those of a worker do, so the search would find it.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { readEnvironment } from '../../apps/server/src/config/config.ts'
import { toPublicBytes } from '../../apps/server/src/keys.ts'
import { testKeys, testKeyTexts } from '../../apps/server/src/test-keys.ts'
import { testDatabase, toDatabaseUrl } from '../postgres.ts'
import { until } from '../until.ts'

const program = path.resolve(import.meta.dirname, '../../apps/cli/src/main.ts')
const publicHalves = new Set(testKeys('new', 'old').sealingPublic.map(({ bytes }) => toHex(bytes)))

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** Everything that a process has as text: its environment and its heap. */
async function dumpProcess(t: TestContext, role: string, environment: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-dump-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const flags = ['--heapsnapshot-signal=SIGUSR2', `--diagnostic-dir=${directory}`]
  const child = spawn(process.execPath, [...flags, program, 'serve', '--role', role, '--port', '0'], {
    env: { PATH: readEnvironment()['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let log = ''
  child.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()))
  await until(`${role} to be ready`, () => (log.includes('"ready"') ? true : undefined))
  child.kill('SIGUSR2')
  const heap = await until('its heap', async () => {
    const [file] = await readdir(directory)
    const text = file === undefined ? '' : await readFile(path.join(directory, file), 'latin1')
    // A snapshot that is being written has no end yet.
    return text.trimEnd().endsWith(']}') ? text : undefined
  })
  child.kill('SIGTERM')
  await once(child, 'exit')
  return `${JSON.stringify(environment)}\n${heap}`
}

/**
 * Private halves among all 32 bytes in base64 or hexadecimal: a key opens what its public half sealed, and nothing
 * else.
 */
function listPrivateHalves(dump: string): string[] {
  const found = new Set<string>()
  const words = dump.matchAll(/(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{43}=?|[0-9a-f]{64})(?![A-Za-z0-9+/=_-])/g)
  for (const word of new Set([...words].map(([text]) => text))) {
    const bytes = Buffer.from(word, word.length === 64 ? 'hex' : 'base64')
    if (bytes.length === 32 && publicHalves.has(toHex(toPublicBytes(bytes)))) found.add(word)
  }
  return [...found].toSorted()
}

describe('the memory of a process', () => {
  it('of role api holds no key that opens a credential; that of a worker holds all of them', async (t) => {
    const { connection } = await testDatabase(t)
    const { ASSAY_SEALING_PRIVATE_KEYS, ...forApi } = testKeyTexts('new', 'old')
    const common = { DATABASE_URL: toDatabaseUrl(connection), ...forApi }
    assert.deepEqual(listPrivateHalves(await dumpProcess(t, 'api', common)), [])
    const forWorker = { ...common, ASSAY_SEALING_PRIVATE_KEYS }
    assert.equal(listPrivateHalves(await dumpProcess(t, 'worker', forWorker)).length, publicHalves.size)
  })
})
