/**
 * Connections, sync and ledger as main.ts wires them, over the simulated Kraken and a database of the suite's own. No
 * worker runs: `drain` runs the queue's jobs one after another, so that a test knows what has happened and in which
 * order. Its clock begins at noon, so that no day ends during a test unless the test moves the clock.
 */
import { listCatalog, listSandboxClients } from '@assay/connectors/catalog'
import { startSandbox, type Sandbox } from '@assay/sandbox'
import { randomUUID } from 'node:crypto'
import { ownedBySuite } from './oauth/test-oauth.ts'
import { msUntilNoon } from '../../../test/noon.ts'
import { testDatabase, toDatabaseUrl } from '../../../test/postgres.ts'
import { createStillClock } from '../../../test/still-clock.ts'
import { patienceMs, until } from '../../../test/until.ts'
import { parseConfig } from './config/config.ts'
import type { AddResult, NewCredentials } from './connections/index.ts'
import { markInstallation, type Clock, type Database } from './db/index.ts'
import { createLog } from './http/log.ts'
import { installQueue, parseStored } from './jobs/index.ts'
import { testKeyring } from './test-keys.ts'
import type { ConnectionRef, Owner } from './owner.ts'
import { createEngine, type Engine, type EngineDeps } from './compose/engine.ts'
import type { Providers } from './compose/providers.ts'
import { createTenants } from './tenants/index.ts'

export interface Account {
  accountId: string
  apiKey: string
  secretKey: string
}

export interface TestEngine extends Engine {
  db: Database
  clock: Clock
  sandbox: Sandbox
  /** A user who allows an application to read. */
  newOwner(): Promise<Owner>
  newAccount(scenario: string, providerId?: string): Promise<Account>
  /** Added and verified, not yet read. */
  add(
    owner: Owner,
    account: Account,
    more?: { repairOf?: string; providerId?: string; credentials?: NewCredentials },
  ): Promise<AddResult>
  /** Finds the reference of a connection that was added. */
  toRef(owner: Owner, connectionId: string): Promise<ConnectionRef>
  /** Connects at Kraken unless another provider is named. */
  connect(owner: Owner, scenario: string, providerId?: string): Promise<ConnectionRef & Account>
  /**
   * Runs jobs that are due until none is left, or until `enough`. `delayed` includes jobs that back off, but not the
   * next regular run. A check of a key that has to wait is waited for: its request waits, too.
   */
  drain(choices?: { delayed?: boolean; enough?: () => Promise<boolean> }): Promise<void>
  control<T>(path: string, body?: object): Promise<T>
  /**
   * Calls that reached the provider, by endpoint; without those refused as too many. By such a refusal the account's
   * tier is learned, and whether there is one before the history ends depends on the machine's speed.
   */
  listCalls(account: Account): Promise<Record<string, number>>
  moveClock(ms: number): Promise<void>
}

interface Job {
  id: string
  task_identifier: string
  payload: unknown
}

const jobsMax = 500
const pagesPerJobMax = 200

/**
 * Call it in an async `describe`. `simulated` are providers that simulate themselves, in addition to those of the
 * sandbox. With `isStill`, time passes only where the test moves the clock.
 */
export async function openEngine(
  settings: Record<string, string> = {},
  simulated: Partial<Pick<Providers, 'providerUrls' | 'providerClients'>> &
    Pick<EngineDeps, 'registry' | 'metrics'> & { isStill?: true } = {},
  t: Parameters<typeof testDatabase>[0] = ownedBySuite(),
): Promise<TestEngine> {
  const { db: running, connection } = await testDatabase(t)
  const db = simulated.isStill === true ? createStillClock().of(running) : running
  await markInstallation(db, 'sandbox')
  const offsetMs = await db.clock.advance(msUntilNoon(db.clock.now()))
  const log = createLog({ level: 'silent' })
  await installQueue({ url: toDatabaseUrl(connection) }, log)
  const { pace } = parseConfig({ ASSAY_MODE: 'sandbox', ...settings }).sandbox
  const sandbox = await startSandbox({ seed: 'test', pace, log: () => undefined })
  t.after(() => sandbox.close())
  const { clock } = db
  const keyring = testKeyring('test')
  const config = parseConfig({
    ASSAY_MODE: 'sandbox',
    ASSAY_SANDBOX_URL: sandbox.controlUrl,
    ASSAY_KEY_CHECK_TIMEOUT: String(patienceMs),
    ...settings,
  })
  const providers = {
    catalog: listCatalog(),
    providerClients: { ...listSandboxClients(), ...simulated.providerClients },
    providerUrls: { ...sandbox.urls, ...simulated.providerUrls },
  }
  const { registry, metrics } = simulated
  const more = { ...(registry && { registry }), ...(metrics && { metrics }) }
  const engine = createEngine({ config, db, clock, keyring, log, providers, pagesPerJobMax, ...more })
  const tenants = createTenants({ db })
  const tenant = await tenants.ensureSandboxTenant()
  await control('clock', { offset_ms: offsetMs })

  async function control<T>(path: string, body?: object): Promise<T> {
    const init = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(`${sandbox.controlUrl}/control/${path}`, init)
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }

  const drain: TestEngine['drain'] = async ({ delayed = false, enough = async () => false } = {}) => {
    const tasks: Record<string, (payload: unknown, signal: AbortSignal) => Promise<void>> = {
      verify: (payload, of) => engine.connections.verifyTask(parseStored('verify', payload), of),
      sync: (payload, of) => engine.sync.runTask(parseStored('sync', payload), of),
      destroy: (payload, of) => engine.connections.destroyTask(parseStored('destroy', payload), of),
    }
    const horizon = delayed ? '5 minutes' : '0'
    const { signal } = new AbortController()
    const takeJob = (): Promise<Job | undefined> =>
      db.maybeRow<Job>(
        `delete from graphile_worker._private_jobs j using graphile_worker.jobs v
         where v.id = j.id and j.id = (
           select id from graphile_worker.jobs
           where run_at <= clock_timestamp() + case task_identifier when 'verify' then '0' else $1::interval end
             and task_identifier = any($2) order by priority, run_at, id limit 1)
         returning j.id, v.task_identifier, j.payload`,
        [horizon, Object.keys(tasks)],
      )
    const hasCheck = async (): Promise<boolean> =>
      (await db.rows("select from graphile_worker.jobs where task_identifier = 'verify'")).length > 0
    for (let count = 0; count < jobsMax; count += 1) {
      if (await enough()) return
      let job = await takeJob()
      if (job === undefined && (await hasCheck())) job = await until('a check that waits', takeJob)
      if (job === undefined) return
      await clock.refresh()
      await tasks[job.task_identifier]?.(job.payload, signal)
    }
    throw new Error(`more than ${jobsMax} jobs`)
  }

  const add: TestEngine['add'] = async (owner, { apiKey, secretKey }, more = {}) => {
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'kraken', displayLabel: null, credentials, connectSessionId: null, ...more }
    const adding = engine.connections.add(owner, request)
    const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
    await until('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
    await drain({ enough: async () => (await db.rows(verifying)).length === 0 })
    return adding
  }

  const newAccount: TestEngine['newAccount'] = async (scenario, providerId = 'kraken') => {
    const body = { provider_id: providerId, scenario, account: randomUUID() }
    const made = await control<{ account_id: string; credentials: { api_key: string; secret_key: string } }>(
      'accounts',
      body,
    )
    return { accountId: made.account_id, apiKey: made.credentials.api_key, secretKey: made.credentials.secret_key }
  }

  const toRef: TestEngine['toRef'] = async (owner, connectionId) => {
    const { connection_key: connectionKey } = await db.row<{ connection_key: number }>(
      'select connection_key from connections where user_key = $1 and id = $2',
      [owner.userKey, connectionId],
    )
    return { ...owner, connectionKey, connectionId }
  }

  return {
    ...engine,
    db,
    clock,
    sandbox,
    drain,
    control,
    add,
    newAccount,
    toRef,
    async newOwner() {
      const owner = await tenants.ensureUser({ ...tenant, externalUserId: randomUUID() })
      await db.execute(
        `insert into grants (user_key, tenant_key, tenant_id, user_id, client_id, id, scopes, consent, granted_at,
           expires_at)
         values ($1, $2, $3, $4, 'cli_demo', 'grt_' || $4, '{providers:read,assets:read,transactions:read}', '{}', $5,
           $5::timestamptz + interval '30 years')`,
        [owner.userKey, owner.tenantKey, owner.tenantId, owner.userId, db.now()],
      )
      return owner
    },
    async connect(owner, scenario, providerId = 'kraken') {
      const account = await newAccount(scenario, providerId)
      const { connectionId, errors } = await add(owner, account, { providerId })
      if (connectionId === null) throw new Error(JSON.stringify(errors))
      return { ...(await toRef(owner, connectionId)), ...account }
    },
    async listCalls({ accountId }) {
      const { requests } = await control<{ requests: { endpoint: string; error: string | null; count: number }[] }>(
        `log?account_id=${accountId}`,
      )
      const calls: Record<string, number> = {}
      for (const { endpoint, error, count } of requests) {
        if (error === 'EAPI:Rate limit exceeded') continue
        const name = endpoint.split('/').at(-1) ?? ''
        calls[name] = (calls[name] ?? 0) + count
      }
      return calls
    },
    async moveClock(ms) {
      await control('clock', { offset_ms: await clock.advance(ms) })
    },
  }
}
