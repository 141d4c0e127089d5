/** A whole service for a test: its own database, the simulated providers, the API and a worker, all on free ports. */
import { startSandbox, type Sandbox } from '@assay/sandbox'
import { startService, type Role, type Service } from '@assay/server'
import { parseConfig } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import type { Database } from '../apps/server/src/db/index.ts'
import { testDatabase, toDatabaseUrl } from './postgres.ts'
import { patienceMs, until } from './until.ts'

export interface TestService {
  url: string
  db: Database
  sandbox: Sandbox
  /** For further processes of the same installation, such as a worker that will be killed. */
  environment: Record<string, string>
  /** Starts a further process of the same installation and role, with other settings, and returns where it listens. */
  startBeside(owner: Pick<TestContext, 'after'>, settings: Record<string, string>): Promise<string>
  stop(): Promise<void>
}

export interface TestServiceOptions {
  role?: Exclude<Role, 'worker'>
  settings?: Record<string, string>
  pace?: 'fast' | 'real'
  /** Where the log goes; to the terminal when left out. */
  logTo?: (line: string) => void
}

type Scope = Pick<TestContext, 'after'>

/** Ends what was begun in the opposite order; node:test would end it in the same one. */
export function lastFirst(t: Scope): Scope {
  const ends: (() => unknown)[] = []
  t.after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  return { after: (end) => void ends.push(end as () => unknown) }
}

export async function startTestService(test: Scope, options: TestServiceOptions = {}): Promise<TestService> {
  const t = lastFirst(test)
  const { db, connection } = await testDatabase(t)
  const dataDirectory = await mkdtemp(path.join(os.tmpdir(), 'assay-service-'))
  t.after(() => rm(dataDirectory, { recursive: true, force: true }))
  const sandbox = await startSandbox({ seed: 'test', pace: options.pace ?? 'fast', log: () => undefined })
  t.after(() => sandbox.close())
  const { role = 'all' } = options
  const environment = {
    ASSAY_MODE: 'sandbox',
    ASSAY_PORT: '0',
    ASSAY_DATA_DIRECTORY: dataDirectory,
    ASSAY_SANDBOX_URL: sandbox.controlUrl,
    ASSAY_LOG_LEVEL: 'error',
    ASSAY_WORKER_SILENT_AFTER: '1000',
    // Tests ask again and again for what happens in the background: the slower the machine, the more often.
    ASSAY_LIMIT_TOKEN: '1000000',
    ASSAY_LIMIT_ADDRESS: '1000000',
    DATABASE_ACQUIRE_TIMEOUT: String(patienceMs),
    DATABASE_STATEMENT_TIMEOUT: String(patienceMs),
    ASSAY_KEY_CHECK_TIMEOUT: String(patienceMs),
    DATABASE_URL: toDatabaseUrl(connection),
    ...options.settings,
  }
  const service = await startRole(role, environment, options.logTo)
  let stopped = false
  const stop = async (): Promise<void> => {
    if (!stopped) await service.stop()
    stopped = true
  }
  t.after(stop)
  const { url } = service
  if (url === undefined) throw new Error('a service that serves requests has an address')
  const startBeside: TestService['startBeside'] = async (owner, settings) => {
    // Providers send people back to the one widget of the installation.
    const widget = { ASSAY_WIDGET_URL: `${url}/connect` }
    const other = await startRole(role, { ...environment, ...widget, ...settings }, options.logTo)
    owner.after(() => other.stop())
    return other.url ?? ''
  }
  return { url, db, sandbox, environment, startBeside, stop }
}

function startRole(
  role: Role,
  environment: Record<string, string>,
  logTo: TestServiceOptions['logTo'],
): Promise<Service> {
  const config = parseConfig(environment, role)
  const destination = logTo === undefined ? {} : { destination: { write: logTo } }
  const log = createLog({ level: config.logLevel, ...destination })
  return startService(config, role, log, { version: 'test', commit: undefined })
}

/**
 * No connection is being read, and none will be in the next minutes. A run that ends while a test moves the clock plans
 * the next one by the moved clock, and nothing that the test then expects of a run happens.
 */
export async function untilAtRest({ db }: Pick<TestService, 'db'>): Promise<void> {
  const busy = `select from graphile_worker.jobs where task_identifier in ('sync', 'refresh')
    and run_at < clock_timestamp() + interval '5 minutes'`
  await until('the end of every run', async () => ((await db.rows(busy)).length === 0 ? true : undefined), 100)
}
