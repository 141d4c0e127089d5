/** The api role: every route over the parts it serves. */
import { dayMs } from '@assay/core'
import { randomUUID } from 'node:crypto'
import { listClaimable, listWholeLedgers, toExchange } from '@assay/connectors/catalog'
import { createClaims, type Claims } from '../claims/index.ts'
import type { Config } from '../config/config.ts'
import { createAccessLog } from '../connect/index.ts'
import { createEnterprise } from '../enterprise/index.ts'
import {
  answerInTime,
  createAdmission,
  createCursors,
  createHttpServer,
  createServe,
  createTurns,
  findUnready,
  shareChecks,
  startStatusServer,
  type Scraped,
  type StatusOptions,
  type StatusServer,
  type Turns,
  type TurnsOptions,
} from '../http/index.ts'
import { connectRoutes, oauthRoutes, resourceRoutes, sandboxRoutes } from '../http/routes.ts'
import { findWidgetDirectory, widgetRoutes } from '../http/widget.ts'
import { createLimits, createSlots, type AskedLimits, type Slots } from '../limits/index.ts'
import { createPortfolio, type Portfolio } from '../portfolio/index.ts'
import type { Parts } from './parts.ts'

export async function startHttp(parts: Parts): Promise<{ url: string; stop(): Promise<void> }> {
  const { config, db, clock, keyring, log, tenants, engine, addresses, oauth, connect } = parts
  const { catalog } = parts.providers
  const { connections, proof, sync } = engine
  const { host, port, baseUrl, widgetUrl } = addresses
  const now = (): number => clock.now()
  const { limits, slots } = openLimits(parts)
  const admission = createAdmission(limits)
  const accesses = createAccessLog({
    db,
    onFailure: (error) => log.warn({ err: error }, 'could not write the counts of reads; will try again'),
    onUserAccesses: (owners) => connections.onUserAccesses(owners),
    idleAfterMs: config.schedule.activeForMs,
  })
  const { turns, tenantTurns, codeTurns } = openLines(config)
  const portfolio = createPortfolio({ db })
  const claims = openClaims(parts, portfolio)
  const cursors = createCursors(keyring.derive('cursor'))
  const enterprise = createEnterprise({ db, endGrants: oauth.endGrants })
  const serve = createServe({
    authenticate: oauth.authenticate,
    ...{ cursors, admission, turns, tenantTurns },
    onServed({ userKey, grantId }, { id: endpoint }) {
      if (userKey !== null && grantId !== null) accesses.count({ userKey, grantId, endpoint })
    },
  })
  const helped = openSandboxHelp(parts)
  const groups = [
    oauthRoutes({ oauth, claims, limits, slots, turns, log }),
    resourceRoutes({
      ...{ serve, cursors, catalog, connections, connect, portfolio, claims, proof, sync, enterprise, oauth, slots },
      onTenantAccess: (clientId, userKeys, endpoint) => accesses.countForTenant({ userKeys, clientId, endpoint }),
      now,
      removalsKeptMs: config.removalsKeptMs,
      versionsKeptMs: config.versionsKeptMs,
    }),
    connectRoutes({ connect, slots, turns, codeTurns, admit: admission.admit, sandbox: helped }),
    widgetRoutes({ ...addresses, directory: findWidgetDirectory(), findClient: tenants.findClient, admission }),
  ]
  if (helped !== undefined) groups.push(sandboxRoutes({ db, connect, ...helped }))
  const server = await createHttpServer({
    log,
    groups,
    ...toStatus(parts),
    baseUrl: () => baseUrl,
    authUrl: () => addresses.authUrl,
    widgetUrl: () => widgetUrl,
    widgetOrigins: () => [new URL(widgetUrl).origin],
    v1SunsetMs: config.v1SunsetMs,
    loopbackHostsOnly: config.mode !== 'production',
    docsCanTry: config.mode === 'sandbox',
    trustedProxies: config.trustedProxies,
    tracer: parts.tracer,
  })
  const stop = async (): Promise<void> => {
    await server.stop(config.stopGraceMs)
    await accesses.stop()
  }
  try {
    if (parts.parent === undefined) await server.listen({ host, port })
    else {
      await server.app.ready()
      parts.parent.takeConnections(server.take)
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { url: baseUrl, stop }
}

/** Where several processes share a port, their parent counts. */
function openLimits({ config, clock, parent }: Parts): { limits: AskedLimits; slots: Slots } {
  const now = (): number => clock.now()
  if (parent !== undefined) return { limits: parent.limits(config.limits, now), slots: parent.slots }
  return { limits: createLimits(config.limits, now), slots: createSlots() }
}

/**
 * One caller uses less than half of the connections, so that two of them leave some for the others. The requests of one
 * application that wait are those of one token in a minute, by the default of ASSAY_LIMIT_TOKEN.
 */
const callerShare = { ofPool: 0.4, waitingMax: 3_000, waitingOfEachMax: 600 }
/**
 * The users of one tenant, however many, leave some connections to the other tenants. At most as many of their requests
 * wait as are answered within some seconds.
 */
const tenantShare = { ofPool: 0.7, waitingMax: 3_000 }

/**
 * A request for a sign-in code takes some milliseconds, so a hundred of one network are answered within about a second
 * while no other network asks. In the line of the tenant, each network has one request.
 */
const codeLines = { networkWaitingMax: 100, tenantWaitingMax: 600 }

function openLines(config: Config) {
  return {
    turns: createShare(config, callerShare),
    tenantTurns: createShare(config, tenantShare),
    codeTurns: {
      ofNetwork: createTurns({ atOnceMax: 1, waitingMax: codeLines.networkWaitingMax }),
      ofTenant: createTurns({ atOnceMax: 1, waitingMax: codeLines.tenantWaitingMax }),
    },
  }
}

interface Share extends Omit<TurnsOptions, 'atOnceMax'> {
  ofPool: number
}

function createShare({ database }: Config, { ofPool, ...waiting }: Share): Turns {
  return createTurns({ atOnceMax: Math.max(1, Math.floor(database.poolSizeMax * ofPool)), ...waiting })
}

function openClaims({ config, db, keyring, addresses }: Parts, portfolio: Portfolio): Claims {
  return createClaims({
    db,
    secrets: keyring.derive('claims'),
    issuer: addresses.authUrl,
    sandbox: config.mode === 'sandbox',
    listOwned: portfolio.listOwned,
    exchangeOf: toExchange,
    wholeLedgers: listWholeLedgers(),
    claimable: listClaimable(),
    // A judged reading is up to two runs old; four leave room for one that failed.
    freshForMs: Math.max(dayMs, 4 * config.schedule.idleEveryMs),
  })
}

/** In sandbox mode only: test keys, mailed codes that stay on this machine, and sign-ins without a person. */
function openSandboxHelp({ sandbox, mail, engine: { connections } }: Parts) {
  if (sandbox === undefined || mail.mailbox === undefined) return undefined
  const { findKey, openSignIn } = connections
  return { control: sandbox.control, mailbox: mail.mailbox, newAccount: randomUUID, findKey, openSignIn }
}

/** A worker serves no API; it answers only where it is given a port for that. */
export async function startStatus(parts: Parts): Promise<StatusServer | undefined> {
  const { host, statusPort } = parts.config.listen
  if (statusPort === undefined) return undefined
  return startStatusServer({ host, port: statusPort }, toStatus(parts))
}

type ServedMetrics = Pick<Parts['metrics'], 'observeRequest'> & { registry: Scraped }

/** Routes that report on the process itself. Every process that listens has them. */
function toStatus({
  config,
  db,
  fleetMetrics,
  build,
  parent,
  ...parts
}: Parts): StatusOptions & { metrics: ServedMetrics } {
  const { registry, observeRequest } = parts.metrics
  const read = (): Promise<string> => (parent === undefined ? registry.metrics() : parent.readMetrics())
  const metrics = { observeRequest, registry: { contentType: registry.contentType, metrics: read } }
  const metricsAccess = toMetricsAccess(config)
  return { metrics, fleetMetrics, metricsAccess, findUnready: answerInTime(shareChecks(() => findUnready(db))), build }
}

function toMetricsAccess({ metricsToken, mode }: Config): { token: string } | 'open' | 'closed' {
  if (metricsToken !== undefined) return { token: metricsToken }
  return mode === 'sandbox' ? 'open' : 'closed'
}
