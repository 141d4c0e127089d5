/**
 * Northwind, a small portfolio product of an imagined integrator: the sample application of the sandbox, and the
 * shortest complete example of the long-term flow. Node's own HTTP, pages from the server, tokens on the server.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRoutes } from './routes.ts'
import { createService } from './service.ts'
import { createSessions } from './sessions.ts'
import { page } from './visit.ts'
import { createWebhookBox } from './webhooks.ts'

export interface DemoOptions {
  port: number
  authUrl: string
  baseUrl: string
  widgetUrl: string
  clientId: string
  clientSecret: string
  /** Receives every unexpected error of a request. */
  onBug: (error: unknown) => void
  /** In the sandbox: a user whose accounts a visitor may look at without connecting any. */
  sampleUser?: string
}

export interface Demo {
  url: string
  /** Where events are posted. */
  webhookUrl: string
  /** Events signed with this secret are accepted. */
  trustWebhooks(secret: string): void
  stop(): Promise<void>
}

const host = '127.0.0.1'

export async function startDemo(options: DemoOptions): Promise<Demo> {
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, host, resolve)
  })
  const url = `http://${host}:${(server.address() as AddressInfo).port}`
  // The redirect URI must be exact, so the port has to be known first.
  const service = createService({ ...options, redirectUri: `${url}/callback` })
  const webhooks = createWebhookBox(Date.now)
  const { sampleUser } = options
  const answer = createRoutes({ ...options, url, service, sessions: createSessions(), webhooks, sampleUser })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { status, headers, body } = await answer(request)
      response.writeHead(status, headers).end(body)
    } catch (error) {
      // Without this, an error in one answer would end the process, and with it everything that `assay start` runs.
      options.onBug(error)
      if (response.headersSent) return void response.destroy()
      const { status, headers, body } = page('Northwind failed to answer. Try again in a minute.', 500)
      response.writeHead(status, headers).end(body)
    }
  }
  return {
    url,
    webhookUrl: `${url}/webhooks`,
    trustWebhooks: (secret) => webhooks.trust(secret),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
