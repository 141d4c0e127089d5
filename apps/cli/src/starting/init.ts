/**
 * `assay init`: a production configuration, step by step. It checks the database, makes the keys, writes one file of
 * settings for API processes and one for workers, and registers the first tenant and its application.
 *
 * At a terminal it asks for options that were not given; in a script that is an error that names every missing
 * option at once. The address of the database holds a password, which every user of the machine could read among a
 * process's words, so a script gives it as DATABASE_URL in the environment. Nothing is written before the database has
 * answered, nothing is registered before the keys are on the disk, and files that exist are never replaced: the keys in
 * them may be the only ones that open what is stored.
 */
import { checkRegistration, makeDirectory, openAdmin, platformScopes, type Admin } from '@assay/server/admin'
import { ConfigError, parseConfig, readEnvironment } from '@assay/server/config'
import { generateKeys } from '@assay/server/keys'
import { createLog } from '@assay/server/log'
import { existsSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine } from '../console.ts'
import { usage } from '../usage.ts'

const questions = {
  'base-url': 'The public address of the API, such as https://api.example',
  'database-url': 'PostgreSQL 15 or later, such as postgres://assay:…@db.example/assay',
  tenant: 'The organisation that integrates, such as Example Ltd',
  client: 'Its application, such as Northwind',
  'redirect-uri': 'Where that application takes its users back, such as https://app.example/callback',
} as const

type Answers = Record<keyof typeof questions, string>

const options = {
  'base-url': { type: 'string' },
  'database-url': { type: 'string' },
  tenant: { type: 'string' },
  client: { type: 'string' },
  'redirect-uri': { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

/**
 * For Node, not for Assay. A worker that reads a long history makes much garbage that lives for a moment. Node answers
 * by giving new objects up to 128 MB, so its memory grew by a third with the length of the history (docs/scale.md).
 */
export const workerNodeOptions = '--max-semi-space-size=16'

interface Settings {
  shared: Record<string, string>
  api: Record<string, string>
  worker: Record<string, string>
}

export async function init(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: words, allowPositionals: true, options })
  const [directory = 'assay-config', ...others] = positionals
  if (others.length > 0) throw new UsageError(usage.init)
  const files = { api: path.resolve(directory, 'api.env'), worker: path.resolve(directory, 'worker.env') }
  const existing = Object.values(files).find((file) => existsSync(file))
  if (existing !== undefined) {
    throw new ConfigError([
      `${existing} exists, and is not replaced: its keys may be the only ones that open your data`,
    ])
  }
  const answers = await complete({
    ...values,
    'database-url': values['database-url'] ?? readEnvironment()['DATABASE_URL'],
  })
  const settings = toSettings(answers)
  const { tenantId, clientId, secret } = await register(settings, answers, async () => {
    await makeDirectory(directory, 0o700)
    await writeSettings([
      [files.api, 'API processes', { ...settings.shared, ...settings.api }],
      [files.worker, 'workers and commands', { ...settings.shared, ...settings.worker }],
    ])
  })
  const made = { tenant_id: tenantId, client_id: clientId, client_secret: secret, files }
  if (values.json) return writeJson(made)
  describeNext(made, files)
}

async function complete(values: Partial<Record<keyof Answers, string | undefined>>): Promise<Answers> {
  const names = Object.keys(questions) as (keyof Answers)[]
  const missing = names.filter((name) => values[name] === undefined || values[name] === '')
  if (missing.length > 0 && !process.stdin.isTTY) {
    throw new UsageError(`${missing.map((name) => `--${name}`).join(', ')} missing\n${usage.init}`)
  }
  const answers: Partial<Answers> = {}
  const terminal = missing.length > 0 ? createInterface({ input: process.stdin, output: process.stderr }) : undefined
  try {
    for (const name of names) {
      let answer = values[name] ?? ''
      while (answer === '') answer = ((await terminal?.question(`${questions[name]}\n> `)) ?? '').trim()
      answers[name] = answer
    }
  } finally {
    terminal?.close()
  }
  return answers as Answers
}

function toSettings(answers: Answers): Settings {
  const keys = generateKeys('main')
  return {
    shared: {
      ASSAY_BASE_URL: answers['base-url'],
      DATABASE_URL: answers['database-url'],
      ASSAY_SERVER_KEYS: keys.ASSAY_SERVER_KEYS,
    },
    api: { ASSAY_SEALING_PUBLIC_KEYS: keys.ASSAY_SEALING_PUBLIC_KEYS },
    worker: { ASSAY_SEALING_PRIVATE_KEYS: keys.ASSAY_SEALING_PRIVATE_KEYS, NODE_OPTIONS: workerNodeOptions },
  }
}

/**
 * Mistakes in the settings, a database that does not answer and an address that cannot be registered are reported here.
 */
async function register(
  { shared, api, worker }: Settings,
  answers: Answers,
  write: () => Promise<void>,
): Promise<{ tenantId: string; clientId: string; secret: string | null }> {
  parseConfig({ ...shared, ...api }, 'api')
  parseConfig({ ...shared, ...worker }, 'worker')
  const registration = {
    name: answers.client,
    scopes: platformScopes,
    publicClient: false,
    redirectUris: [answers['redirect-uri']],
    s256Only: true,
    requireCodeVerifier: true,
  }
  checkRegistration(registration)
  const admin = await openAdmin(parseConfig({ ...shared, ...worker }, 'command'), createLog({ level: 'warn' }))
  try {
    await refuseUsed(admin)
    await admin.migrate()
    // A database with a tenant is refused the next time, so everything that may fail comes first, such as a full disk.
    await write()
    const { tenantId } = await admin.tenants.createTenant(answers.tenant)
    const { client, secret } = await admin.tenants.createClient(tenantId, registration)
    return { tenantId, clientId: client.clientId, secret }
  } finally {
    await admin.close()
  }
}

/** New keys beside data that other keys have sealed would make that data unreadable. */
async function refuseUsed(admin: Admin): Promise<void> {
  const { applied } = await admin.checkMigrations()
  if (applied.length === 0) return
  if ((await admin.tenants.listTenants()).length === 0) return
  throw new ConfigError([
    'this database belongs to an installation with tenants of its own: use its settings, or name an empty database',
  ])
}

type SettingsFile = [file: string, of: string, settings: Record<string, string>]

/** All of them or none: half of them would keep the next try from starting. */
async function writeSettings(files: readonly SettingsFile[]): Promise<void> {
  const made: string[] = []
  try {
    for (const [file, of, settings] of files) {
      const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
      const head = `# Settings of ${of}, made by \`assay init\`. All settings: docs/configuration.md`
      // `wx` also protects a file that was created in the meantime.
      const handle = await open(file, 'wx', 0o600)
      made.push(file)
      try {
        await handle.writeFile(`${[head, ...lines].join('\n')}\n`)
        await handle.sync()
      } finally {
        await handle.close()
      }
    }
  } catch (error) {
    for (const file of made) await rm(file, { force: true })
    throw error
  }
}

function describeNext(
  made: { tenant_id: string; client_id: string; client_secret: string | null },
  files: { api: string; worker: string },
): void {
  writeLine(`Tenant ${made.tenant_id}, application ${made.client_id}.`)
  if (made.client_secret !== null) writeLine(`Secret (shown once, keep it out of frontends): ${made.client_secret}`)
  writeLine()
  writeLine('Next:')
  writeLine(`  1. Keep a copy of ${files.worker} where the backups of the database are not: it opens every credential.`)
  writeLine(`  2. node --env-file=${files.api} apps/cli/bin/assay.mjs serve --role api`)
  writeLine(`  3. node --env-file=${files.worker} apps/cli/bin/assay.mjs serve --role worker`)
  writeLine(`  4. node --env-file=${files.worker} apps/cli/bin/assay.mjs doctor --production`)
}
