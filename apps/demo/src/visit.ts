/** A request of a visitor, what the handlers need to answer it, and the answers that they share. */
import type { IncomingMessage } from 'node:http'
import type { Service } from './service.ts'
import { cookieName, type DemoSession, type Sessions } from './sessions.ts'
import type { WebhookBox } from './webhooks.ts'

export interface DemoDeps {
  /** Our own address. */
  url: string
  authUrl: string
  baseUrl: string
  widgetUrl: string
  clientId: string
  service: Service
  sessions: Sessions
  webhooks: WebhookBox
  /** The owner of the sandbox's sample accounts; undefined where there are none. */
  sampleUser: string | undefined
}

export interface Visit {
  request: IncomingMessage
  url: URL
  session: DemoSession | undefined
}

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string | Buffer
}

export class BodyTooLarge extends Error {}
/** The caller went away before the body had ended. */
export class BodyBroken extends Error {}

const bodyBytesMax = 64 * 1024

export function page(html: string, status = 200): Answer {
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' }, body: html }
}

export function goTo(location: string, session?: DemoSession): Answer {
  return {
    status: 303,
    headers: { Location: location, ...(session === undefined ? {} : setCookie(session)) },
    body: '',
  }
}

export function setCookie(session: DemoSession): Record<string, string> {
  return { 'Set-Cookie': `${cookieName}=${session.id}; Path=/; HttpOnly; SameSite=Lax` }
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > bodyBytesMax) throw new BodyTooLarge(`a body of more than ${bodyBytesMax} bytes`)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof BodyTooLarge) throw error
    throw new BodyBroken('the request ended before its body did', { cause: error })
  }
  return Buffer.concat(chunks).toString('utf8')
}
