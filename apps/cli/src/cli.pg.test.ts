/** The command line as a person or a script uses it: arguments in, text and an exit code out. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { emptyDatabase, testDatabase, toDatabaseUrl, type TestAddress } from '../../../test/postgres.ts'
import { reservePort } from '../../../test/reserve-port.ts'
import { until } from '../../../test/until.ts'
import { testKeyTexts } from '../../server/src/test-keys.ts'
import { run, runAlone, start, type Ended, type Environment } from './test-cli.ts'

const keys = testKeyTexts('test')

function environmentOf(address: TestAddress): Environment {
  return { DATABASE_URL: toDatabaseUrl(address), ...keys }
}

describe('assay', () => {
  it('lists the commands without arguments, and when asked for help', async () => {
    const [bare, short, help] = await Promise.all([run([]), run(['-h']), runAlone(['help'])])
    assert.deepEqual([bare.code, short.code, help.code], [0, 0, 0])
    assert.deepEqual([bare.out, short.out], [help.out, help.out])
    for (const name of ['start', 'serve', 'worker', 'migrate', 'tenant', 'client']) {
      assert.match(help.out, new RegExp(`^  ${name} `, 'm'))
    }
  })

  it('says which version it is, by each of the usual words', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    const [option, word] = await Promise.all([run(['--version']), run(['version'])])
    assert.deepEqual([option.code, word.out], [0, option.out])
    // A checkout also names its commit.
    assert.match(option.out, new RegExp(`^assay ${RegExp.escape(version)}( \\([0-9a-f]{7,40}\\))?\n$`))
  })

  it('prints the usage of each command without a database or any setting', async () => {
    const { out: help } = await run(['help'])
    assert.match(help, /^Usage: assay /)
    const names = Array.from(help.matchAll(/^ {2}([a-z]+) /gm), ([, name = '']) => name)
    assert.ok(names.length > 15, 'the commands of the list')
    for (const name of names) {
      const { code, out } = await run([name, '--help'])
      assert.equal(code, 0, name)
      assert.match(out, new RegExp(`^Usage:\\s+assay ${name}\\b`))
    }
    const [asked, unknown] = await Promise.all([run(['help', 'client']), run(['help', 'fly'])])
    assert.equal(asked.out, (await run(['client', '--help'])).out)
    assert.equal(unknown.code, 2)
  })

  it('prints the same usage after a wrong call', async () => {
    const [wrong, help] = await Promise.all([run(['client', 'list']), run(['client', '--help'])])
    assert.equal(wrong.err, `assay: wrong or missing arguments\n${help.out}`)
  })

  it('exits without an error message when the reader of its output has closed the pipe', async () => {
    const { child, errors } = start(['help'])
    child.stdout?.destroy()
    const [said, [code]] = await Promise.all([errors, once(child, 'close') as Promise<[number | null]>])
    assert.deepEqual([said, code], ['', 0])
  })

  it('exits with 2 and a message when a command is used incorrectly', async () => {
    const wrong = [
      ['constructor'],
      ['fly'],
      ['tenant'],
      ['tenant', 'create'],
      ['client', 'list'],
      ['start', '--prt', '1'],
      ['backup'],
      ['keys'],
      ['keys', 'generate', '--name', 'a name'],
      ['restore', 'one', 'two'],
    ]
    const ended = await Promise.all([...wrong, ['serve', '--role', 'king']].map((words) => run(words)))
    for (const { code, out, err } of ended) {
      assert.equal(code, 2, err)
      assert.equal(out, '')
      assert.match(err, /\S/)
      assert.doesNotMatch(err, /\n\s+at /)
    }
  })

  it('exits with 1 when settings are wrong, and reports all of the mistakes together without a stack trace', async () => {
    const { code, err } = await run(['serve'], { ASSAY_PORT: '99999', ASSAY_MODE: 'sandpit', ASSAY_WORKER_SILENT: '1' })
    assert.equal(code, 1)
    for (const words of [/ASSAY_PORT must be/, /ASSAY_MODE must be/, /ASSAY_WORKER_SILENT .*ASSAY_WORKER_SILENT_AFTER/])
      assert.match(err, words)
    assert.doesNotMatch(err, /\n\s+at /)
  })

  it('exits with 1 and a message when the database cannot be reached or its address is invalid', async () => {
    const away = { DATABASE_URL: 'postgres://assay@localhost:1/assay', ...keys }
    const [gone, malformed] = await Promise.all([
      runAlone(['tenant', 'list'], away),
      run(['tenant', 'list'], { ...away, DATABASE_URL: 'postgres://[' }),
    ])
    assert.equal(gone.code, 1)
    assert.match(gone.err, /ECONNREFUSED.*\nThe database is not available\. .*may have been changed/)
    assert.equal(malformed.code, 1)
    assert.match(malformed.err, /assay: ./)
    assert.doesNotMatch(malformed.err, /not available/)
  })

  it('ends when the installation cannot be opened, and leaves no database running', async (t) => {
    const dataDirectory = await mkdtemp(path.join(os.tmpdir(), 'assay-cli-'))
    t.after(() => rm(dataDirectory, { recursive: true }))
    await writeFile(path.join(dataDirectory, 'sealing.keys'), 'cut short')
    const { code, err } = await runAlone(['migrate'], { ASSAY_MODE: 'sandbox', ASSAY_DATA_DIRECTORY: dataDirectory })
    assert.equal(code, 1)
    assert.match(err, /sealing\.keys has no valid ASSAY_SERVER_KEYS/)
    assert.equal((await readdir(dataDirectory)).includes('owner.json'), false)
  })

  it('makes no installation in a data directory that was mistyped', async (t) => {
    const dataDirectory = await mkdtemp(path.join(os.tmpdir(), 'assay-cli-'))
    t.after(() => rm(dataDirectory, { recursive: true }))
    const environment = { ASSAY_MODE: 'sandbox', ASSAY_DATA_DIRECTORY: dataDirectory }
    const commands = [['status'], ['doctor'], ['migrate', '--check'], ['tenant', 'list'], ['keys', 'rotate']]
    for (const words of commands) {
      const { code, out, err } = await run(words, environment)
      assert.equal(code, 1)
      assert.match(words[0] === 'doctor' ? out : err, /No embedded database was found in /)
    }
    assert.deepEqual(await readdir(dataDirectory), [])
  })
})

describe('assay migrate', () => {
  it('--check lists pending migrations and exits with 1; once they are applied, it lists none', async (t) => {
    const { connection } = await emptyDatabase(t)
    const environment = environmentOf(connection)
    const before = await runAlone(['migrate', '--check', '--json'], environment)
    assert.equal(before.code, 1, before.err)
    const { applied, pending } = JSON.parse(before.out) as { applied: string[]; pending: string[] }
    assert.deepEqual(applied, [])
    assert.deepEqual(pending, ['0001_baseline.sql'])
    const done = await run(['migrate', '--json'], environment)
    assert.equal(done.code, 0, done.err)
    assert.deepEqual(JSON.parse(done.out), { applied: pending })
    const after = await run(['migrate', '--check'], environment)
    assert.equal(after.code, 0)
    assert.match(after.out, /up to date/)
  })
})

describe('assay status and doctor', () => {
  it('report workers, queue, connections, the slowest provider, and every problem', async (t) => {
    const { db, connection } = await testDatabase(t)
    const environment = environmentOf(connection)
    assert.equal((await run(['tenant', 'list'], environment)).code, 0)
    await db.rows(`select graphile_worker.add_job('webhook')`)
    await db.rows(
      `update graphile_worker._private_jobs set attempts = 1, last_error = E'Error: it broke\\n    at deliver.ts'`,
    )
    const [status, doctor] = await Promise.all([run(['status'], environment), run(['doctor'], environment)])
    assert.equal(status.code, 0, status.err)
    const failing = /^webhook +1 +\d +0 +1 +Error: it broke$/m
    for (const words of [
      /No worker is alive/,
      /^JOB .* LAST ERROR$/m,
      failing,
      /No connections/,
      /Slowest provider: none/,
    ])
      assert.match(status.out, words)
    assert.equal(doctor.code, 1)
    for (const check of ['configuration', 'native modules', 'PostgreSQL', 'clock', 'schema', 'sealed credentials'])
      assert.match(doctor.out, new RegExp(`^✓ ${check}: `, 'm'))
    assert.match(doctor.out, /^✗ workers: .*\n {2}→ start one/m)
  })

  it('say what to do about a database without a schema', async (t) => {
    const { connection } = await emptyDatabase(t)
    const environment = environmentOf(connection)
    const [status, doctor] = await Promise.all([run(['status'], environment), run(['doctor'], environment)])
    assert.deepEqual([status.code, doctor.code], [1, 1])
    assert.match(status.err, /^assay: This database has no schema yet.*assay migrate$/m)
    assert.match(doctor.out, /^✓ PostgreSQL: version/m)
    assert.match(doctor.out, /^✗ schema: .*pending\n {2}→ run: assay migrate$/m)
  })

  it('the doctor says whether the settings or the database are the cause when it cannot start', async () => {
    const [settings, database] = await Promise.all([
      run(['doctor', '--json'], { ASSAY_PORT: 'x' }),
      run(['doctor', '--json'], {
        DATABASE_URL: 'postgres://assay@localhost:1/assay',
        ...keys,
      }),
    ])
    const illOf = ({ out }: Ended): string[] =>
      (JSON.parse(out) as { check: string; well: boolean }[]).filter(({ well }) => !well).map(({ check }) => check)
    assert.deepEqual([settings.code, illOf(settings)], [1, ['configuration']])
    assert.deepEqual([database.code, illOf(database)], [1, ['PostgreSQL']])
  })
})

describe('assay keys', () => {
  it('generate prints settings that every role can start with; the role api refuses the private keys', async () => {
    const { code, out } = await run(['keys', 'generate', '--name', 'made'])
    assert.equal(code, 0)
    const made = Object.fromEntries(
      out
        .split('\n')
        .filter((line) => /^[A-Z]/.test(line))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    assert.deepEqual(Object.keys(made), Object.keys(keys))
    for (const value of Object.values(made)) assert.match(value, /^made:[A-Za-z0-9+/]{43}=$/)
    const away = { DATABASE_URL: 'postgres://assay@localhost:1/assay', ...made }
    const [command, api] = await Promise.all([run(['tenant', 'list'], away), run(['serve', '--role', 'api'], away)])
    // The settings were valid; only the database was missing.
    assert.match(command.err, /ECONNREFUSED/)
    assert.equal(api.code, 1)
    assert.match(api.err, /ASSAY_SEALING_PRIVATE_KEYS must not be given to the role api/)
    for (const value of Object.values(made)) assert.ok(!api.err.includes(value))
  })

  it('rotate reseals every secret, and says what it needs on a machine without the private keys', async (t) => {
    const { db, connection } = await testDatabase(t)
    const environment = environmentOf(connection)
    const { out } = await run(['tenant', 'create', 'A tenant', '--json'], environment)
    const { tenant_id: tenantId } = JSON.parse(out) as { tenant_id: string }
    // A public key is enough to store a secret.
    const publicOnly = { ...environment, ASSAY_SEALING_PRIVATE_KEYS: '' }
    const set = await run(['webhook', 'set', tenantId, 'https://app.example/'], publicOnly)
    assert.equal(set.code, 0, set.err)
    // A tenant has one receiver: the operator learns which one the new address replaces.
    const again = await run(['webhook', 'set', tenantId, 'https://other.example/'], publicOnly)
    assert.match(again.out, /^https:\/\/app\.example\/ receives no more messages\.$/m)
    const unknown = await run(['webhook', 'set', 'ten_unknown', 'https://app.example/'], publicOnly)
    assert.deepEqual([unknown.code, unknown.out], [1, ''])
    assert.match(unknown.err, /There is no tenant ten_unknown; `assay tenant list` shows them all\./)
    const refused = await run(['keys', 'rotate'], publicOnly)
    assert.deepEqual([refused.code, /ASSAY_SEALING_PRIVATE_KEYS is required/.test(refused.err)], [1, true])
    const rotated = await run(['keys', 'rotate', '--json'], { ...environment, ...testKeyTexts('new', 'test') })
    assert.equal(rotated.code, 0, rotated.err)
    const report = JSON.parse(rotated.out) as { resealed_webhooks: number; newest_key: string }
    assert.deepEqual([report.resealed_webhooks, report.newest_key], [1, 'new'])
    const { sealed } = await db.row<{ sealed: string }>('select sealed_secret as sealed from webhooks')
    const header = JSON.parse(Buffer.from(sealed.split('.', 1)[0] ?? '', 'base64url').toString()) as { kid: string }
    assert.equal(header.kid, 'new')
    const doctor = await run(['doctor'], { ...publicOnly, ASSAY_SEALING_PUBLIC_KEYS: '' })
    assert.match(doctor.out, /^! webhook secrets: 1 signing secrets \(1 by "new"\); none was opened$/m)

    // The seal names another row, so no key opens it here.
    await db.execute('insert into tenant_fingerprint_keys (tenant_key, sealed_key) values (1, $1)', [sealed])
    const newest = { ...environment, ...testKeyTexts('new') }
    const lost = await run(['keys', 'rotate'], newest)
    assert.equal(lost.code, 1)
    assert.match(lost.out, /^No account of theirs can be connected\. .*assay keys rotate --forget-lost$/m)
    const forgot = await run(['keys', 'rotate', '--forget-lost'], newest)
    assert.equal(forgot.code, 0, forgot.err)
    assert.match(forgot.out, /^Deleted the fingerprint keys of tenants: 1\. Their users can connect accounts again\.$/m)
    assert.deepEqual(await db.rows('select from tenant_fingerprint_keys'), [])
    await db.execute("insert into claim_keys (kid, public_jwk, used_at) values ('leaked', '{}', now())")
    const withdrawn = await run(['keys', 'withdraw'], newest)
    assert.deepEqual([withdrawn.code, withdrawn.out], [0, '1 public key of claims is no longer published.\n'])
    assert.deepEqual(await db.rows('select from claim_keys'), [])
  })
})

describe('assay tenant and client', () => {
  it('create, list, give new secrets and disable, and print JSON for scripts', async (t) => {
    const { db, connection } = await testDatabase(t)
    const environment = environmentOf(connection)
    async function ask<T>(...words: string[]): Promise<T> {
      const { code, out, err } = await run([...words, '--json'], environment)
      assert.equal(code, 0, err)
      return JSON.parse(out) as T
    }
    const tenant = await ask<{ tenant_id: string; name: string }>('tenant', 'create', 'A tenant')
    assert.match(tenant.tenant_id, /^ten_/)
    assert.equal((await ask<object[]>('tenant', 'list')).length, 1)

    const uri = 'https://app.example/callback'
    const client = await ask<{ client_id: string; client_secret: string; redirect_uris: string[]; scopes: string[] }>(
      ...[
        'client',
        'create',
        tenant.tenant_id,
        'An app',
        '--redirect-uri',
        uri,
        '--scope',
        'assets:read offline_access',
      ],
    )
    assert.match(client.client_id, /^cli_/)
    assert.deepEqual([client.redirect_uris, client.scopes], [[uri], ['assets:read', 'offline_access']])
    assert.ok(client.client_secret.length > 30)
    const rotated = await ask<{ client_secret: string }>('client', 'rotate-secret', client.client_id, '--overlap', '60')
    assert.notEqual(rotated.client_secret, client.client_secret)
    const dump = await db.rows('select * from client_secrets')
    assert.equal(dump.length, 2)
    assert.doesNotMatch(JSON.stringify(dump), new RegExp(client.client_secret))
    await ask('client', 'disable', client.client_id)
    const [listed] = await ask<{ disabled_at: string | null }[]>('client', 'list', tenant.tenant_id)
    assert.notEqual(listed?.disabled_at, null)
  })

  it('update changes only the given options; --strict asks for S256 and the verifier', async (t) => {
    const { connection } = await testDatabase(t)
    const environment = environmentOf(connection)
    const ask = async <T>(...words: string[]): Promise<T> => {
      const { code, out, err } = await run([...words, '--json'], environment)
      assert.equal(code, 0, err)
      return JSON.parse(out) as T
    }
    const tenant = await ask<{ tenant_id: string }>('tenant', 'create', 'A tenant')
    const words = ['client', 'create', tenant.tenant_id, 'An app', '--redirect-uri', 'https://a.example/cb']
    const made = await ask<Record<string, unknown>>(...words, '--scope', 'assets:read')
    const clientId = String(made['client_id'])
    assert.deepEqual([made['s256_only'], made['require_code_verifier']], [false, false])
    const lax = await run(['doctor'], environment)
    assert.match(lax.out, new RegExp(`^! clients: ${clientId} lacks s256_only and require_code_verifier`, 'm'))
    const { client_secret: secret, ...before } = made
    assert.equal(typeof secret, 'string')
    const uri = 'https://b.example/cb'
    const updated = await ask(
      'client',
      'update',
      clientId,
      '--strict',
      '--redirect-uri',
      uri,
      '--confirm-first-consent',
      '--confirm-every-consent',
    )
    const confirmed = { confirm_first_consent: true, confirm_every_consent: true }
    const strict = { s256_only: true, require_code_verifier: true, ...confirmed }
    assert.deepEqual(updated, { ...before, ...strict, redirect_uris: [uri] })
    const widened = await ask<Record<string, unknown>>(
      ...['client', 'update', clientId, '--scope', 'assets:read transactions:read', '--no-confirm-first-consent'],
    )
    assert.deepEqual(widened['scopes'], ['assets:read', 'transactions:read'])
    assert.equal(widened['confirm_first_consent'], false)
    assert.match((await run(['doctor'], environment)).out, /^✓ clients: all use PKCE/m)
    const [nothing, wrong] = await Promise.all([
      run(['client', 'update', clientId], environment),
      run(['client', 'update', clientId, '--redirect-uri', 'http://b.example/cb'], environment),
    ])
    assert.deepEqual([nothing.code, wrong.code], [2, 1])
    const other = await ask<Record<string, unknown>>(...words, '--strict')
    assert.deepEqual([other['s256_only'], other['require_code_verifier']], [true, true])
  })

  it('login keys can be listed and removed', async (t) => {
    const { connection } = await testDatabase(t)
    const environment = environmentOf(connection)
    const ask = async <T>(...words: string[]): Promise<T> => {
      const { code, out, err } = await run([...words, '--json'], environment)
      assert.equal(code, 0, err)
      return JSON.parse(out) as T
    }
    const tenant = await ask<{ tenant_id: string }>('tenant', 'create', 'A tenant')
    const { client_id: clientId } = await ask<{ client_id: string }>(
      ...['client', 'create', tenant.tenant_id, 'An app', '--redirect-uri', 'https://a.example/cb'],
    )
    const { publicKey } = generateKeyPairSync('ed25519')
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-key-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    const file = path.join(directory, 'key.jwk')
    await writeFile(file, JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid: 'laptop' }))
    await ask('client', 'add-login-key', clientId, file)
    const [listed] = await ask<{ key_id: string; alg: string; created_at: string }[]>(
      'client',
      'list-login-keys',
      clientId,
    )
    assert.deepEqual([listed?.key_id, listed?.alg], ['laptop', 'EdDSA'])
    await ask('client', 'remove-login-key', clientId, 'laptop')
    assert.deepEqual(await ask('client', 'list-login-keys', clientId), [])
    const again = await run(['client', 'remove-login-key', clientId, 'laptop'], environment)
    assert.deepEqual([again.code, /has no login key "laptop"/.test(again.err)], [1, true])
  })

  it('refuse options that the action does not take, and accept --scope more than once', async (t) => {
    const { connection } = await testDatabase(t)
    const environment = environmentOf(connection)
    const tenant = await run(['tenant', 'create', 'A tenant', '--json'], environment)
    const { tenant_id: tenantId } = JSON.parse(tenant.out) as { tenant_id: string }
    const scopes = ['--scope', 'assets:read', '--scope', 'transactions:read offline_access']
    const words = ['client', 'create', tenantId, 'An app', '--redirect-uri', 'https://a.example/cb', ...scopes]
    const made = await run([...words, '--json'], environment)
    assert.equal(made.code, 0, made.err)
    const client = JSON.parse(made.out) as { client_id: string; scopes: string[] }
    assert.deepEqual(client.scopes, ['assets:read', 'transactions:read', 'offline_access'])
    for (const [option, ...wrong] of [
      ['--public', 'update', client.client_id, '--name', 'Other'],
      ['--enterprise', 'update', client.client_id, '--name', 'Other'],
      ['--overlap', '3', 'create', tenantId, 'Other', '--redirect-uri', 'https://a.example/cb'],
      ['--name', 'Other', 'list', tenantId],
      ['--no-strict', 'disable', client.client_id],
    ]) {
      const { code, out, err } = await run(['client', option ?? '', ...wrong], environment)
      assert.deepEqual([code, out], [2, ''], err)
      assert.match(err, new RegExp(`^assay: client [a-z]+ does not take ${option}\n`))
    }
    const listed = await run(['client', 'list', tenantId, '--json'], environment)
    const { client_secret: secret, ...unchanged } = JSON.parse(made.out) as Record<string, unknown>
    assert.equal(typeof secret, 'string')
    assert.deepEqual(JSON.parse(listed.out), [unchanged])
    const narrowed = await run(['client', 'update', client.client_id, '--scope', 'assets:read'], environment)
    assert.match(narrowed.out, /^Scopes that were taken away end at the next refresh, after 15 minutes at most\.$/m)
  })

  it('refuse a tenant that does not exist, and leave no entry for it in the audit log', async (t) => {
    const { db, connection } = await testDatabase(t)
    const environment = environmentOf(connection)
    for (const words of [
      ['client', 'list', 'ten_nobody'],
      ['webhook', 'remove', 'ten_nobody'],
      ['webhook', 'test', 'ten_nobody'],
      ['webhook', 'log', 'ten_nobody'],
      ['webhook', 'resend', 'ten_nobody', 'msg_1'],
      ['audit', 'export', 'ten_nobody'],
      ['audit', 'verify', 'ten_nobody'],
    ]) {
      const { code, out, err } = await run(words, environment)
      assert.deepEqual([code, out], [1, ''])
      assert.match(err, /There is no tenant ten_nobody/)
    }
    assert.deepEqual(await db.rows('select from audit_entries'), [])
  })

  it('refuse an unknown or invalid id with a message', async (t) => {
    const { connection } = await testDatabase(t)
    const environment = environmentOf(connection)
    const [missing, scope, fragment] = await Promise.all([
      run(['client', 'rotate-secret', 'cli_nobody'], environment),
      run(['client', 'create', 'ten_a', 'x', '--scope', 'everything'], environment),
      run(['client', 'create', 'ten_a', 'x', '--redirect-uri', 'https://a.example/#f'], environment),
    ])
    assert.deepEqual([missing.code, scope.code, fragment.code], [1, 2, 1], fragment.err)
    for (const { err } of [missing, scope, fragment]) assert.doesNotMatch(err, /\n\s+at /)
  })
})

describe('assay audit', () => {
  it('exports what operators did and viewed, and names the first entry that was tampered with', async (t) => {
    const { db, connection } = await testDatabase(t)
    const environment = environmentOf(connection)
    const { out } = await run(['tenant', 'create', 'A tenant', '--json'], environment)
    const { tenant_id: tenantId } = JSON.parse(out) as { tenant_id: string }
    const made = await run(
      ['client', 'create', tenantId, 'An app', '--redirect-uri', 'https://a.example/cb', '--strict'],
      environment,
    )
    assert.equal(made.code, 0, made.err)
    await run(['client', 'list', tenantId], environment)
    const exported = await run(['audit', 'export', tenantId], environment)
    assert.equal(exported.code, 0, exported.err)
    const lines = exported.out.trimEnd().split('\n')
    const entries = lines.map((line) => JSON.parse(line) as { actor: string; action: string })
    assert.deepEqual(
      entries.map(({ actor, action }) => [actor, action]),
      [
        ['operator', 'tenant.created'],
        ['operator', 'client.created'],
        ['operator', 'clients.read'],
      ],
    )
    assert.doesNotMatch(exported.out, /a\.example|An app/)
    const whole = await run(['audit', 'verify'], environment)
    assert.deepEqual([whole.code, whole.out], [0, `✓ ${tenantId}: 4 entries, unbroken\n`])
    await db.execute(`update audit_entries set subject = 'cli_other' where position = 2`, [])
    const broken = await run(['audit', 'verify', tenantId], environment)
    assert.deepEqual([broken.code, broken.out], [1, `✗ ${tenantId}: entry 2 was changed\n`])
  })
})

describe('assay start and serve', () => {
  async function takePort(): Promise<{ taken: Server; port: number }> {
    const taken = createServer()
    taken.listen(0, '127.0.0.1')
    await once(taken, 'listening')
    return { taken, port: (taken.address() as AddressInfo).port }
  }
  async function dataDirectory(t: Pick<TestContext, 'after'>): Promise<string> {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-cli-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    return path.join(directory, 'data')
  }

  it('name a port that is in use, exit with 1 and leave nothing running', async (t) => {
    const { taken, port } = await takePort()
    t.after(() => taken.close())
    const { connection } = await testDatabase(t)
    const { code, err } = await run(['serve'], {
      ...environmentOf(connection),
      ASSAY_PORT: String(port),
      ASSAY_LOG_LEVEL: 'error',
    })
    assert.equal(code, 1)
    assert.match(err, new RegExp(`port ${port} is in use`))
  })

  it('a signal ends a start that is still waiting for its database', async (t) => {
    const { connection } = await testDatabase(t)
    const { child, output, errors } = start(['serve', '--role', 'api'], {
      ...environmentOf({ ...connection, host: '/nowhere' }),
      ASSAY_SEALING_PRIVATE_KEYS: '',
      ASSAY_PORT: '0',
    })
    t.after(() => child.kill('SIGKILL'))
    await until('the start to wait', () => (output().includes('the start waits for it') ? true : undefined))
    child.kill('SIGTERM')
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    assert.deepEqual([code, signal, await errors], [0, null, ''])
  })

  it('a signal stops the service quietly and completely; a backup taken while it ran restores every credential', async (t) => {
    const data = await dataDirectory(t)
    const demoPort = await reservePort(t)
    const { child, output, errors } = start(['start', '--port', '0', '--demo-port', String(demoPort), '--data', data])
    t.after(() => child.kill('SIGKILL'))
    await until('the service', () => (output().includes('Ctrl-C stops') ? true : undefined))
    const file = `${data}.tar.gz`
    const backup = await run(['backup', file, '--with-key', '--data', data])
    assert.equal(backup.code, 0, backup.err)
    assert.match(backup.out, /WARNING: it holds the sealing keys/)
    const plainFile = `${data}-plain.tar.gz`
    assert.equal((await run(['backup', plainFile, '--data', data])).code, 0)
    child.kill('SIGTERM')
    const [code] = (await once(child, 'close')) as [number | null]
    assert.equal(await errors, '')
    assert.match(output().slice(-600), /Stopping …\n$/)
    assert.equal(code, 0)

    const restored = `${data}-restored`
    const restore = await run(['restore', file, '--data', restored])
    assert.equal(restore.code, 0, restore.err)
    const doctor = await run(['doctor'], { ASSAY_MODE: 'sandbox', ASSAY_DATA_DIRECTORY: restored })
    assert.match(doctor.out, /✓ schema: .*\n✓ sealed credentials: ([1-9]\d*) of \1 credentials open/)
    // The worker's last heartbeat was restored too, and may still be fresh.
    assert.doesNotMatch(doctor.out, /^✗ (?!workers)/m)
    const plain = `${data}-plain`
    const words = await run(['restore', plainFile, '--data', plain], { ASSAY_MODE: 'sandbox' })
    const keysFile = path.join(plain, 'sealing.keys')
    assert.ok(words.out.includes(`Put them back into ${keysFile} before`), words.out)
    // New keys would look like those of the installation, and open nothing.
    const without = await run(['doctor'], { ASSAY_MODE: 'sandbox', ASSAY_DATA_DIRECTORY: plain })
    const missing = `✗ configuration: ${keysFile} does not exist; put the file of this installation back`
    assert.ok(without.out.includes(missing), without.out)
    assert.equal((await readdir(plain)).includes('sealing.keys'), false)
  })
})
