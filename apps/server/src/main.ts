/**
 * The composition root: everything is wired here, by plain arguments. One program, three roles: `api` serves requests,
 * `worker` talks to providers, `all` does both.
 */
import { loadConnector } from '@assay/connectors'
import { fetchCurrentPrices, fetchDailyPrices } from '@assay/connectors'
import { randomBytes, randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { createClock, type Clock } from './clock.ts'
import type { Config } from './config.ts'
import { createAccessLog, createConnect, createMailTask, type Connect } from './connect/index.ts'
import { createConnections, type Connections } from './connections/index.ts'
import { markInstallation, migrate, openDatabase, type Database, type OpenedDatabase } from './db/index.ts'
import { createEnterprise } from './enterprise/index.ts'
import {
  createAdmit,
  createCursors,
  createHttpServer,
  createMetrics,
  createServe,
  findUnready,
  type Log,
} from './http/index.ts'
import { findWidgetDirectory, widgetRoutes } from './http/widget.ts'
import { connectRoutes, oauthRoutes, resourceRoutes, sandboxRoutes } from './http/routes.ts'
import { installQueue, startWorker, type Task, type Worker } from './jobs/index.ts'
import { ensureSandboxKeyring, parseKeyring, type Keyring } from './keys.ts'
import { createLedger, type Ledger } from './ledger/index.ts'
import { createLimits } from './limits/index.ts'
import { createSandboxMailbox, createSmtpMailer, type Mailer, type SandboxMailbox } from './mail/index.ts'
import { createOauth, type Oauth } from './oauth/index.ts'
import { createPrices } from './prices/index.ts'
import { createSandboxControl, type SandboxControl } from './sandbox/index.ts'
import { createBudgets, createSync, type Sync } from './sync/index.ts'
import { createTenants, type Tenants } from './tenants/index.ts'
import { createWebhooks, type Webhooks } from './webhooks/index.ts'
import { createUpkeep, queueUpkeep } from './upkeep.ts'

export type Role = 'api' | 'worker' | 'all'

export interface Service {
  /** Undefined for a worker. */
  url: string | undefined
  stop(): Promise<void>
}

export interface Build {
  version: string
  commit: string | undefined
}

/** Of one user, when a grant is revoked; more than anybody has. */
const connectionsToldMax = 1_000

/** In sandbox mode the time of every provider limit is divided by this, in the simulators and here alike. */
const fastPace = 100

export async function startService(config: Config, role: Role, log: Log, build: Build): Promise<Service> {
  const opened = await openDatabase({ ...config.database, url: config.database.url }, log)
  try {
    await prepareDatabase(config, opened, log)
    return await startParts(config, role, log, build, opened)
  } catch (error) {
    await opened.close()
    throw error
  }
}

export async function prepareDatabase(config: Config, opened: OpenedDatabase, log: Log): Promise<void> {
  await migrate(opened.db, { log })
  await markInstallation(opened.db, config.mode === 'sandbox')
  await installQueue(
    config.database.listenUrl === undefined ? opened.connection : { url: config.database.listenUrl },
    log,
  )
}

async function startParts(
  config: Config,
  role: Role,
  log: Log,
  build: Build,
  opened: OpenedDatabase,
): Promise<Service> {
  const { db } = opened
  const clock = createClock(db, config.mode === 'sandbox')
  await clock.refresh()
  const keyring = openKeyring(config)
  const tenants = createTenants({ db })
  const sandbox = await openSandbox(config, clock, tenants)
  const engine = createEngine({ config, db, clock, keyring, log, providerUrls: sandbox?.providerUrls ?? {} })
  const addresses = await chooseAddresses(config)
  const post = openPost(config, db)
  const door = createDoor({ db, clock, keyring, tenants, ...engine, addresses, post })

  const parts = { config, db, clock, keyring, log, build, tenants, engine, sandbox, addresses, post, ...door }
  const worker = role === 'api' ? undefined : await startJobs(opened, parts)
  // A port in use is the commonest failure of a start, and must not leave a worker that nobody stops.
  const http = await (role === 'worker' ? undefined : startHttp(parts))?.catch(async (error: unknown) => {
    await worker?.stop()
    throw error
  })
  return {
    url: http?.url,
    async stop() {
      await http?.stop()
      await worker?.stop()
      await opened.close()
    },
  }
}

export function openKeyring(config: Config): Keyring {
  return config.sealingKeys === undefined
    ? ensureSandboxKeyring(config.database.dataDirectory)
    : parseKeyring(config.sealingKeys)
}

interface OpenSandbox {
  control: SandboxControl
  providerUrls: Readonly<Record<string, string>>
}

async function openSandbox(config: Config, clock: Clock, tenants: Tenants): Promise<OpenSandbox | undefined> {
  if (config.mode !== 'sandbox' || config.sandbox.url === undefined) return undefined
  await tenants.ensureSandboxTenant(`http://127.0.0.1:${config.sandbox.demoPort}`)
  const control = createSandboxControl(config.sandbox.url, fetch)
  await control.setClock(await clock.advance(0))
  const { providers, prices_url } = await control.listProviders()
  const urls = providers.map(({ provider_id, url }): [string, string] => [provider_id, url])
  return { control, providerUrls: Object.fromEntries([...urls, ['coingecko', prices_url]]) }
}

export interface Engine {
  connections: Connections
  ledger: Ledger
  sync: Sync
  webhooks: Webhooks
}

interface EngineDeps {
  config: Config
  db: Database
  clock: Clock
  keyring: Keyring
  log: Log
  providerUrls: Readonly<Record<string, string>>
}

function paceOf(config: Config): number {
  return config.mode === 'sandbox' && config.sandbox.pace === 'fast' ? fastPace : 1
}

export function createEngine({ config, db, clock, keyring, log, providerUrls }: EngineDeps): Engine {
  const pace = paceOf(config)
  const now = (): number => clock.now()
  const budgets = createBudgets({ db, pace })
  const io = { fetch, now, baseUrl: providerUrls['coingecko'] }
  const source = {
    name: 'coingecko',
    fetchCurrent: (ids: readonly string[]) => fetchCurrentPrices(io, ids),
    fetchDaily: (id: string, fromMs: number, toMs: number) => fetchDailyPrices(io, id, fromMs, toMs),
  }
  const prices = createPrices({ db, source, now, log })
  const ledger = createLedger({ db, prices, log })
  const webhooks = openWebhooks({ config, db, clock, keyring })
  // Connections and sync know each other only through these two events.
  const connections = createConnections({
    db,
    keyring,
    loadConnector,
    fetch,
    now,
    providerUrls,
    excessPermission: config.excessPermission,
    forsakenAfterMs: config.forsakenAfterMs,
    takeBudget: (of, cost) => budgets.take(of, cost),
    pace,
    onVerified: (tx, ref, keyLane) => sync.begin(tx, ref, keyLane),
    async onRemoved(tx, ref, was) {
      await ledger.destroy(tx, ref, was)
      await sync.forget(tx, ref)
      if (was.served) await webhooks.announce(tx, { ...ref, change: 'removed' })
    },
    onChanged: (tx, ref, change) => webhooks.announce(tx, { ...ref, change }),
  })
  const sync = createSync({ db, connections, ledger, budgets, now, random: Math.random, pace, log })
  return { connections, ledger, sync, webhooks }
}

export function openWebhooks({
  config,
  db,
  clock,
  keyring,
}: Pick<EngineDeps, 'config' | 'db' | 'clock' | 'keyring'>): Webhooks {
  return createWebhooks({
    db,
    keyring,
    fetch,
    now: () => clock.now(),
    randomBytes,
    loopbackOnly: config.mode === 'sandbox',
    pace: paceOf(config),
  })
}

interface Post {
  /** Undefined: no mail leaves this installation. */
  mailer: Mailer | undefined
  mailbox: SandboxMailbox | undefined
}

function openPost({ mode, mail }: Config, db: Database): Post {
  const mailbox = mode === 'sandbox' ? createSandboxMailbox(db) : undefined
  const smtp = mail === undefined ? undefined : createSmtpMailer({ url: mail.smtpUrl, from: mail.from })
  return { mailer: mailbox ?? smtp, mailbox }
}

interface DoorDeps extends Pick<EngineDeps, 'db' | 'clock' | 'keyring'> {
  tenants: Tenants
  connections: Connections
  webhooks: Webhooks
  addresses: Addresses
  post: Post
}

/** Who may come in: the authorization server and the connect flow before it. */
function createDoor(deps: DoorDeps): { oauth: Oauth; connect: Connect } {
  const { db, clock, keyring, tenants, connections, webhooks, addresses, post } = deps
  const [tokenKey, ...olderTokenKeys] = keyring.derive('token')
  if (tokenKey === undefined) throw new Error('the keyring is empty')
  const oauth = createOauth({
    db,
    tenants,
    keys: { tokenKey, olderTokenKeys },
    issuer: addresses.authUrl,
    widgetUrl: addresses.widgetUrl,
    randomBytes,
    async onCodeRedeemed(tx, { tenantId, userId, sessionId }) {
      if (sessionId !== null) await connections.settleSession(tx, { tenantId, userId }, sessionId)
      await connections.resumeReading(tx, { tenantId, userId })
    },
    async onGrantRevoked(tx, { tenantId, userId }) {
      const owner = { tenantId, userId }
      for (const { id } of await connections.list(owner, { limit: connectionsToldMax, after: undefined })) {
        await webhooks.announce(tx, { ...owner, connectionId: id, change: 'revoked' })
      }
    },
  })
  const connect = createConnect({
    db,
    oauth,
    tenants,
    connections,
    keyring,
    issuer: addresses.authUrl,
    emailSignIn: post.mailer !== undefined,
    now: () => clock.now(),
    randomBytes,
  })
  return { oauth, connect }
}

interface Parts extends Omit<EngineDeps, 'providerUrls'> {
  build: Build
  tenants: Tenants
  engine: Engine
  sandbox: OpenSandbox | undefined
  addresses: Addresses
  post: Post
  oauth: Oauth
  connect: Connect
}

async function startJobs(opened: OpenedDatabase, parts: Parts): Promise<Worker> {
  const { config, db, keyring, clock, log, tenants, oauth } = parts
  const { connections, ledger, sync, webhooks } = parts.engine
  const { mailer } = parts.post
  const { listenUrl } = config.database
  const onTime = (task: Task): Task => {
    return async (payload, signal) => {
      await clock.refresh()
      await task(payload, signal)
    }
  }
  const tasks: Record<string, Task> = {
    verify: onTime(connections.task),
    sync: onTime(sync.task),
    webhook: onTime(webhooks.task),
    refresh: onTime(sync.refreshTask),
    upkeep: onTime(createUpkeep({ db, connections, oauth, sync, webhooks, ledger })),
  }
  if (mailer !== undefined) {
    const onRefused = (of: object): void => log.warn(of, 'the mail server refused a sign-in code for good')
    tasks['sign_in_mail'] = createMailTask({
      db,
      tenants,
      mailer,
      signInKeys: keyring.derive('sign_in'),
      randomBytes,
      onRefused,
    })
  }
  await queueUpkeep(db)
  return startWorker({
    db: opened.db,
    connection: listenUrl === undefined ? opened.connection : { url: listenUrl },
    pooler: listenUrl === undefined ? config.database.pooler : 'none',
    tasks,
    concurrency: config.worker.concurrency,
    silentAfterMs: config.worker.silentAfterMs,
    alone: config.database.url === undefined,
    log,
  })
}

async function startHttp(parts: Parts): Promise<{ url: string; stop(): Promise<void> }> {
  const { config, db, clock, keyring, log, build, tenants, engine, sandbox, addresses, post, oauth, connect } = parts
  const { connections, ledger, sync } = engine
  const { host, port, baseUrl, widgetUrl } = addresses
  const limits = createLimits(config.limits, () => clock.now())
  const admit = createAdmit(limits)
  const accesses = createAccessLog({
    db,
    onFailure: (error) => log.warn({ err: error }, 'the counts of reads could not be written; they are kept'),
  })
  const cursors = createCursors(keyring.derive('cursor'))
  const enterprise = createEnterprise({ db, endGrants: oauth.endGrants })
  const serve = createServe({
    authenticate: oauth.authenticate,
    cursors,
    admit,
    onServed({ tenantId, userId, grantId }, { id: endpoint }) {
      if (userId !== null && grantId !== null) accesses.count({ tenantId, userId, grantId, endpoint })
    },
  })
  const newAccount = randomUUID
  const helped =
    sandbox === undefined || post.mailbox === undefined
      ? undefined
      : { control: sandbox.control, mailbox: post.mailbox, newAccount }
  const groups = [
    oauthRoutes({ oauth, limits, log }),
    resourceRoutes({ serve, cursors, connections, connect, ledger, sync, enterprise }, config),
    connectRoutes({ connect, admit, sandbox: helped }),
  ]
  // An integrator may host the widget elsewhere; then its pages are not here.
  if (new URL(widgetUrl).origin === new URL(baseUrl).origin) {
    const { authUrl } = addresses
    const findClient = tenants.findClient
    groups.push(widgetRoutes({ directory: findWidgetDirectory(), authUrl, baseUrl, widgetUrl, findClient }))
  }
  if (helped !== undefined) groups.push(sandboxRoutes({ db, clock, connect, ...helped }))
  const server = await createHttpServer({
    log,
    groups,
    metrics: createMetrics(),
    metricsAccess:
      config.metricsToken !== undefined
        ? { token: config.metricsToken }
        : config.mode === 'sandbox'
          ? 'open'
          : 'closed',
    findUnready: () => findUnready(db),
    build,
    baseUrl: () => baseUrl,
    authUrl: () => addresses.authUrl,
    widgetOrigins: () => [new URL(widgetUrl).origin],
    loopbackHostsOnly: config.mode === 'sandbox',
    trustedProxies: config.trustedProxies,
  })
  await server.listen({ host, port })
  return {
    url: baseUrl,
    async stop() {
      await server.stop(config.stopGraceMs)
      await accesses.stop()
    },
  }
}

interface Addresses {
  host: string
  port: number
  baseUrl: string
  authUrl: string
  widgetUrl: string
}

async function chooseAddresses({ listen, urls }: Config): Promise<Addresses> {
  const { host } = listen
  const port = listen.port === 0 ? await findFreePort(host) : listen.port
  const baseUrl = urls.base ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  return { host, port, baseUrl, authUrl: urls.auth ?? baseUrl, widgetUrl: urls.widget ?? `${baseUrl}/connect` }
}

/** The issuer's name must be known before the port is bound; for port 0 (tests) one is looked for first. */
function findFreePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, host, () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
