/** `assay init`, in its own process: from an empty database to settings that the service starts with. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { parseEnv } from 'node:util'
import { emptyDatabase, toDatabaseUrl } from '../../../../test/postgres.ts'
import { until } from '../../../../test/until.ts'
import { run, start, type Environment } from '../test-cli.ts'

interface Made {
  tenant_id: string
  client_id: string
  client_secret: string
  files: { api: string; worker: string }
}

async function newDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-init-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  return path.join(directory, 'config')
}

function wordsFor(directory: string, databaseUrl: string, more: readonly string[] = []): string[] {
  const named = ['--base-url', 'https://api.example', '--database-url', databaseUrl, '--tenant', 'Example Ltd']
  return ['init', directory, ...named, '--client', 'Northwind', ...more]
}

const redirect = ['--redirect-uri', 'https://app.example/callback']
const readSettings = async (file: string): Promise<Environment> => parseEnv(await readFile(file, 'utf8')) as Environment

describe('assay init', () => {
  it('makes settings that both roles start with, and an application with the strict rules', async (t) => {
    const { connection } = await emptyDatabase(t)
    const directory = await newDirectory(t)
    const words = wordsFor(directory, toDatabaseUrl(connection), [...redirect, '--json'])
    const { code, out, err } = await run(words)
    assert.equal(code, 0, err)
    const { tenant_id, client_id, files } = JSON.parse(out) as Made
    const [api, worker] = [await readSettings(files.api), await readSettings(files.worker)]
    assert.equal('ASSAY_SEALING_PRIVATE_KEYS' in api, false)
    assert.equal(api['ASSAY_SERVER_KEYS'], worker['ASSAY_SERVER_KEYS'])
    assert.deepEqual([api['NODE_OPTIONS'], worker['NODE_OPTIONS']], [undefined, '--max-semi-space-size=16'])
    for (const file of Object.values(files)) assert.equal((await stat(file)).mode & 0o077, 0, file)

    const listed = await run(['client', 'list', tenant_id, '--json'], worker)
    const [client] = JSON.parse(listed.out) as {
      client_id: string
      s256_only: boolean
      require_code_verifier: boolean
    }[]
    assert.deepEqual(
      [client?.client_id, client?.s256_only, client?.require_code_verifier],
      [client_id, true, true],
      listed.err,
    )

    for (const [role, settings] of Object.entries({ api, worker })) {
      const { child, output, errors } = start(['serve', '--role', role], { ...settings, ASSAY_PORT: '0' })
      const ended = once(child, 'close')
      await until('it serves', async () => (output().includes(`"message":"ready"`) ? true : undefined))
      child.kill('SIGTERM')
      const [code] = (await ended) as [number | null]
      assert.equal(code, 0, await errors)
    }
  })

  it('takes the address of the database, which has a password, from the environment', async (t) => {
    const { connection } = await emptyDatabase(t)
    const directory = await newDirectory(t)
    const DATABASE_URL = toDatabaseUrl(connection)
    const words = wordsFor(directory, '', redirect).filter((word) => word !== '--database-url' && word !== '')
    const { code, err } = await run(words, { DATABASE_URL })
    assert.equal(code, 0, err)
    assert.equal((await readSettings(path.join(directory, 'worker.env')))['DATABASE_URL'], DATABASE_URL)
  })

  it('replaces neither settings nor the keys of a database in use', async (t) => {
    const { connection } = await emptyDatabase(t)
    const [directory, databaseUrl] = [await newDirectory(t), toDatabaseUrl(connection)]
    assert.equal((await run(wordsFor(directory, databaseUrl, redirect))).code, 0)
    const before = await readFile(path.join(directory, 'worker.env'), 'utf8')
    const again = await run(wordsFor(directory, databaseUrl, redirect))
    assert.deepEqual([again.code, /worker.env|api.env/.test(again.err)], [1, true], again.err)
    const elsewhere = await run(wordsFor(`${directory}-2`, databaseUrl, redirect))
    assert.equal(elsewhere.code, 1)
    assert.match(elsewhere.err, /belongs to an installation/)
    assert.equal(await readFile(path.join(directory, 'worker.env'), 'utf8'), before)
    await assert.rejects(stat(path.join(`${directory}-2`, 'api.env')))
  })

  it('can be repeated after a mistake that shows only when the database has answered', async (t) => {
    const { connection } = await emptyDatabase(t)
    const [directory, databaseUrl] = [await newDirectory(t), toDatabaseUrl(connection)]
    const wrong = await run(wordsFor(directory, databaseUrl, ['--redirect-uri', 'http://app.example/callback']))
    assert.deepEqual([wrong.code, /redirect/i.test(wrong.err)], [1, true], wrong.err)
    await mkdir(path.dirname(directory), { recursive: true })
    await writeFile(directory, 'a file in the place of the directory')
    const unwritable = await run(wordsFor(directory, databaseUrl, redirect))
    assert.deepEqual([unwritable.code, /EEXIST|ENOTDIR/.test(unwritable.err)], [1, true], unwritable.err)
    // One of the two files cannot be written, as on a full disk: there is a link that leads nowhere.
    const second = `${directory}-2`
    await mkdir(second)
    await symlink('nowhere', path.join(second, 'worker.env'))
    const half = await run(wordsFor(second, databaseUrl, redirect))
    assert.deepEqual([half.code, /EEXIST/.test(half.err)], [1, true], half.err)
    assert.deepEqual(await readdir(second), ['worker.env'])
    await rm(path.join(second, 'worker.env'))
    const right = await run(wordsFor(second, databaseUrl, redirect))
    assert.equal(right.code, 0, right.err)
  })

  it('names every option that a script left out, and writes nothing when a setting is wrong', async (t) => {
    const directory = await newDirectory(t)
    const bare = await run(['init', directory, '--tenant', 'Example Ltd'])
    assert.equal(bare.code, 2)
    for (const name of ['--base-url', '--database-url', '--client', '--redirect-uri'])
      assert.match(bare.err, new RegExp(name))
    const plain = wordsFor(directory, 'postgres://assay@127.0.0.1:1/assay', redirect)
    const wrong = await run(plain.map((word) => word.replace('https://api', 'http://api')))
    assert.equal(wrong.code, 1)
    assert.match(wrong.err, /ASSAY_BASE_URL must be https/)
    const away = await run(plain)
    assert.equal(away.code, 1)
    assert.match(away.err, /ECONNREFUSED/)
    await assert.rejects(stat(directory))
  })
})

describe('assay doctor --production', () => {
  it('names what a production installation lacks, but only when the option is given', async (t) => {
    const { connection } = await emptyDatabase(t)
    const directory = await newDirectory(t)
    const { out } = await run(wordsFor(directory, toDatabaseUrl(connection), [...redirect, '--json']))
    const settings = await readSettings((JSON.parse(out) as Made).files.worker)
    const findings = async (words: string[], more: Environment): Promise<Map<string, [boolean, boolean]>> => {
      const { out: found } = await run(['doctor', '--json', ...words], { ...settings, ...more })
      const rows = JSON.parse(found) as { check: string; well: boolean; warns?: boolean }[]
      return new Map(rows.map(({ check, well, warns = false }) => [check, [well, warns]]))
    }
    const asked = await findings(['--production'], {})
    assert.deepEqual(asked.get('public address'), [true, false])
    assert.deepEqual(asked.get('mail'), [true, true])
    assert.deepEqual(asked.get('metrics'), [true, true])
    const local = await findings(['--production'], { ASSAY_BASE_URL: 'http://127.0.0.1:4000' })
    assert.deepEqual(local.get('public address'), [false, false])
    assert.equal((await findings([], {})).has('public address'), false)
  })
})
