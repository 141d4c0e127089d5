/**
 * What a process answers that serves no API: a worker is asked whether it is alive and what it counts. The same three
 * paths as in the API, on a port of their own, because nothing else of HTTP belongs into a worker.
 */
import { Refusal } from '@assay/core'
import { fastify } from 'fastify'
import { sendProblem } from './request/problem.ts'
import { registerHealth, type StatusOptions } from './system.ts'

export interface StatusServer {
  url: string
  stop(): Promise<void>
}

export async function startStatusServer(
  address: { host: string; port: number },
  options: StatusOptions,
): Promise<StatusServer> {
  const app = fastify({ logger: false, forceCloseConnections: true })
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply))
  app.setNotFoundHandler((request, reply) => sendProblem(new Refusal('not_found', 'not found'), request, reply))
  registerHealth(app, options)
  const url = await app.listen(address)
  return { url, stop: () => app.close() }
}
