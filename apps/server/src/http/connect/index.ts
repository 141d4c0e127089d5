/** The connect and manage APIs on the wire, for the configured widget origins alone. */
import type { FastifyInstance } from 'fastify'
import type { ConnectRoutesDeps } from './deps.ts'
import { createStreams } from './events.ts'
import { registerManage } from './manage.ts'
import { registerSandboxHelp } from './sandbox.ts'
import { registerSession } from './session.ts'

export function registerConnect(app: FastifyInstance, given: Omit<ConnectRoutesDeps, 'streams'>): void {
  const stopping = new AbortController()
  app.addHook('preClose', (done) => {
    stopping.abort()
    done()
  })
  const deps = { ...given, streams: createStreams(stopping.signal) }
  registerSession(app, deps)
  registerManage(app, deps)
  if (deps.sandbox !== undefined) registerSandboxHelp(app, deps, deps.sandbox)
}
