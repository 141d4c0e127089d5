/**
 * Identifies visitors between requests: a random cookie, with everything else in memory. Tokens never reach the
 * browser. A real product keeps this in its database beside its own users.
 */
import type { Client } from '@assay/sdk'
import { randomBytes } from 'node:crypto'
import type { Authorization } from './service.ts'

export interface DemoSession {
  id: string
  /** Flows that were begun and are not answered yet; a person may have two tabs open. */
  pending: Map<string, Authorization>
  client: Client | undefined
}

export const cookieName = 'northwind'
const sessionsMax = 10_000
const pendingMax = 10

const newId = (): string => randomBytes(32).toString('base64url')

export function createSessions() {
  const sessions = new Map<string, DemoSession>()

  return {
    find(cookies: string | undefined): DemoSession | undefined {
      const id = new RegExp(`(?:^|; )${cookieName}=([\\w-]{43})(?:;|$)`).exec(cookies ?? '')?.[1]
      return id === undefined ? undefined : sessions.get(id)
    },

    create(): DemoSession {
      const session = { id: newId(), pending: new Map(), client: undefined }
      const oldest = sessions.keys().next()
      if (sessions.size >= sessionsMax && oldest.done !== true) sessions.delete(oldest.value)
      sessions.set(session.id, session)
      return session
    },

    /** Called at sign-in, because another person may have planted the old id in this browser and knows it. */
    renew(session: DemoSession): void {
      sessions.delete(session.id)
      session.id = newId()
      sessions.set(session.id, session)
    },

    end(session: DemoSession): void {
      sessions.delete(session.id)
    },

    remember(session: DemoSession, authorization: Authorization): void {
      const oldest = session.pending.keys().next()
      if (session.pending.size >= pendingMax && oldest.done !== true) session.pending.delete(oldest.value)
      session.pending.set(authorization.state, authorization)
    },

    /** Works once: a second answer with the same state finds nothing. */
    take(session: DemoSession, state: string): Authorization | undefined {
      const authorization = session.pending.get(state)
      session.pending.delete(state)
      return authorization
    },
  }
}

export type Sessions = ReturnType<typeof createSessions>
