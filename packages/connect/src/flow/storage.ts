/**
 * What survives a reload: the session's secret and where the person was. sessionStorage only: it is deleted with the
 * tab, and other tabs do not see it. Credentials are never stored here.
 *
 * A tab can have several sessions: Back leads from one application's request to the pages of the one before, and the
 * frames of a page share the storage. So each session has its own record, and a page reads only that of its session.
 */
import type { Client } from '../api/session-api.ts'
import type { View } from './view.ts'

export interface Kept {
  sessionId: string
  secret: string
  /** Kept to find the way back when the session is gone. */
  client: Client | null
  codeSentTo: string | null
  view: View | null
  /** The application's request, to begin it again with another email address; null if a login token was in it. */
  request: string | null
  /** Whether this tab has asked for the end of the session: then a lost answer is asked for again. */
  hasAsked: boolean
  /** How the session ended, for a person who comes back to its pages with the browser's Back. */
  ended?: Ended
}

export interface Ended {
  outcome: 'finished' | 'declined'
  /** The application's own origin, where it has no homepage; without the answer that it was given. */
  home: string | null
}

const key = 'assay-connect'
/** More than a person goes back through; older sessions have mostly expired. */
const sessionsMax = 8
/** A frame in a browser that refuses it storage still works, until it is reloaded. */
let memory: string | null = null

/** Without a session, the record that was written last: a provider's page does not say which session left for it. */
export function readKept(sessionId: string | undefined): Kept | undefined {
  const all = readAll()
  return sessionId === undefined ? all[0] : all.find((kept) => kept.sessionId === sessionId)
}

export function writeKept(kept: Kept): void {
  const others = readAll().filter(({ sessionId }) => sessionId !== kept.sessionId)
  const text = JSON.stringify([kept, ...others].slice(0, sessionsMax))
  memory = text
  try {
    sessionStorage.setItem(key, text)
  } catch {
    // The browser refuses storage, so only memory holds it.
  }
}

/** The client stays, so that "Back to Northwind" still knows where. */
export function forgetSecret(sessionId: string, ended?: Ended): void {
  const kept = readKept(sessionId)
  if (kept === undefined) return
  // The first end is the tab's own, and knows the way back.
  writeKept({ ...kept, secret: '', view: null, request: null, ...(ended && { ended: kept.ended ?? ended }) })
}

export function keepAsked(sessionId: string): void {
  const kept = readKept(sessionId)
  if (kept !== undefined) writeKept({ ...kept, hasAsked: true })
}

export function toEnded(redirectTo: string): Ended {
  const { protocol, origin, searchParams } = new URL(redirectTo)
  return {
    outcome: searchParams.has('code') ? 'finished' : 'declined',
    // An application on the device has an address that no page can lead to.
    home: /^https?:$/.test(protocol) ? `${origin}/` : null,
  }
}

function readAll(): Kept[] {
  try {
    const all: unknown = JSON.parse(read() ?? '[]')
    return Array.isArray(all) ? (all as Kept[]) : []
  } catch {
    return []
  }
}

function read(): string | null {
  try {
    return sessionStorage.getItem(key) ?? memory
  } catch {
    return memory
  }
}
