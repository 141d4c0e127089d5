/** The api role: every route over the parts it serves. */
import { randomUUID } from 'node:crypto'
import { createAccessLog } from '../connect/index.ts'
import { createEnterprise } from '../enterprise/index.ts'
import { createAdmit, createCursors, createHttpServer, createMetrics, createServe, findUnready } from '../http/index.ts'
import { connectRoutes, oauthRoutes, resourceRoutes, sandboxRoutes } from '../http/routes.ts'
import { findWidgetDirectory, widgetRoutes } from '../http/widget.ts'
import { createLimits } from '../limits/index.ts'
import type { Parts } from './parts.ts'

export async function startHttp(parts: Parts): Promise<{ url: string; stop(): Promise<void> }> {
  const { config, db, clock, keyring, log, build, tenants, engine, sandbox, addresses, post, oauth, connect } = parts
  const { catalog } = parts.providers
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
    resourceRoutes({ serve, cursors, catalog, connections, connect, ledger, sync, enterprise }),
    connectRoutes({ connect, admit, sandbox: helped }),
    widgetRoutes({ ...addresses, directory: findWidgetDirectory(), findClient: tenants.findClient }),
  ]
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
    widgetUrl: () => widgetUrl,
    widgetOrigins: () => [new URL(widgetUrl).origin],
    v1SunsetMs: config.v1SunsetMs,
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
