/**
 * The composition root: everything is wired here, by plain arguments. One program, three roles: `api` serves requests,
 * `worker` talks to providers, `all` does both.
 */
import { startAtAddresses, type Addresses } from './compose/addresses.ts'
import { createAuthorization, openMail } from './compose/authorization.ts'
import { createEngine } from './compose/engine.ts'
import { startHttp, startStatus } from './compose/http.ts'
import { findKeyring, prepareDatabase } from './compose/installation.ts'
import { startJobs } from './compose/jobs.ts'
import type { Build } from './compose/parts.ts'
import { describeProviders, openSandbox } from './compose/providers.ts'
import type { Config, Role } from './config/config.ts'
import { openDatabase, whenAnswering, type OpenedDatabase } from './db/index.ts'
import type { Log } from './http/index.ts'
import type { Parent } from './processes/index.ts'
import { readFleet } from './operations/index.ts'
import { collectProcess, createFleetMetrics, createMetrics, type Metrics } from './telemetry/index.ts'
import type { Tracer, Tracing } from './tracing/index.ts'
import { createTenants } from './tenants/index.ts'

export type { Role } from './config/config.ts'

/** The sandbox's clock is moved through one process, and the others follow. */
const clockLookMs = { sandbox: 1_000, live: 60_000, production: 60_000 } as const

export interface Service {
  /** Undefined for a worker. */
  url: string | undefined
  stop(): Promise<void>
}

/** For one of several processes: how it reaches the one that started it, which reads its metrics. */
export type FindParent = (readOwnMetrics: () => Promise<readonly object[]>) => Parent | undefined

interface Seen {
  metrics: Metrics
  tracer: Tracer | undefined
  parent: Parent | undefined
}

/** The database may die at any statement of a start: it waits until the database is back. `signal` ends the wait. */
export async function startService(
  config: Config,
  role: Role,
  log: Log,
  build: Build,
  signal?: AbortSignal,
  findParent: FindParent = () => undefined,
): Promise<Service> {
  const metrics = createMetrics()
  collectProcess(metrics)
  const onWaited = (seconds: number): void => metrics.poolWaitSeconds.observe(seconds)
  const tracing = await openTracing(config, role, log, build)
  const opened = await openDatabase({ ...config.database, onWaited, signal }, log)
  metrics.watchPool(() => opened.db.usage())
  const parent = findParent(() => metrics.registry.getMetricsAsJSON())
  const seen = { metrics, tracer: tracing?.tracer, parent }
  const close = async (): Promise<void> => {
    await opened.close()
    await tracing?.stop()
  }
  try {
    return await whenAnswering({ db: opened.db, log, signal }, async () => {
      await prepareDatabase(config, opened, log, signal)
      return startAtAddresses(config, (addresses) =>
        startParts(config, role, log, build, { ...opened, close }, addresses, seen),
      )
    })
  } catch (error) {
    await close()
    throw error
  }
}

/** Loaded only when traces are on, because most installations never use them. */
async function openTracing({ traces }: Config, role: Role, log: Log, { version }: Build): Promise<Tracing | undefined> {
  if (traces === undefined) return undefined
  const { startTracing } = await import('./tracing/index.ts')
  const onFailure = (reason: string, dropped: number): void => log.warn({ reason, dropped }, 'traces were dropped')
  return startTracing({ ...traces, fetch, resource: { version, role }, onFailure })
}

/** All or nothing: what was started is stopped again when a later part fails, so that the start can be repeated. */
async function startParts(
  config: Config,
  role: Role,
  log: Log,
  build: Build,
  opened: OpenedDatabase,
  addresses: Addresses,
  { metrics, tracer, parent }: Seen,
): Promise<Service> {
  const { db } = opened
  const { clock } = db
  const keyring = findKeyring(config)
  const tenants = createTenants({ db })
  const sandbox = await openSandbox(config, clock, tenants)
  const providers = describeProviders(config, sandbox)
  const engine = createEngine({ config, db, clock, keyring, log, providers, metrics, tracer })
  const mail = openMail(config, db)
  const authorization = createAuthorization({ config, db, clock, keyring, log, tenants, ...engine, addresses, mail })

  const parts = {
    config,
    db,
    clock,
    keyring,
    log,
    metrics,
    tracer,
    fleetMetrics: createFleetMetrics(() => readFleet(db, config.worker)),
    build,
    tenants,
    engine,
    sandbox,
    addresses,
    mail,
    providers,
    parent,
    ...authorization,
  }
  const worker = role === 'api' ? undefined : await startJobs(opened, parts)
  // A port in use is the commonest failure of a start, and must not leave a worker running.
  const http = await (role === 'worker' ? startStatus(parts) : startHttp(parts)).catch(async (error: unknown) => {
    await worker?.stop()
    throw error
  })
  // A process that only answers requests runs no jobs, and jobs are what keeps the clock up to date elsewhere.
  const clockTimer = setInterval(() => void clock.refresh().catch(() => undefined), clockLookMs[config.mode])
  return {
    url: role === 'worker' ? undefined : http?.url,
    async stop() {
      clearInterval(clockTimer)
      try {
        await http?.stop()
        await worker?.stop()
      } finally {
        await opened.close()
      }
    },
  }
}
