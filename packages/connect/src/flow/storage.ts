/**
 * What survives a reload: the session's secret and where the person was. sessionStorage only: it is deleted with the
 * tab, and other tabs do not see it. Credentials are never stored here.
 */
import type { Client } from '../api/session-api.ts'
import type { View } from './view.ts'

export interface Kept {
  secret: string
  /** Kept to find the way back when the session is gone. */
  client: Client | null
  /** Consent is asked for first, and recorded once it is known whose it is. */
  agreed: boolean
  codeSentTo: string | null
  view: View | null
  /** The application's request, to begin it again with another email address; null if a login token was in it. */
  request: string | null
  /** How the session ended, for a person who comes back to its pages with the browser's Back. */
  ended?: Ended
}

export interface Ended {
  outcome: 'finished' | 'declined'
  /** The application's own origin, where it has no homepage; without the answer that it was given. */
  home: string | null
}

const key = 'assay-connect'
/** A frame in a browser that refuses it storage still works, until it is reloaded. */
let memory: string | null = null

export function readKept(): Kept | undefined {
  const text = read()
  if (text === null) return undefined
  try {
    return JSON.parse(text) as Kept
  } catch {
    return undefined
  }
}

export function writeKept(kept: Kept): void {
  const text = JSON.stringify(kept)
  memory = text
  try {
    sessionStorage.setItem(key, text)
  } catch {
    // The browser refuses storage, so only memory holds it.
  }
}

/** The client stays, so that "Back to Northwind" still knows where. */
export function forgetSecret(ended?: Ended): void {
  const kept = readKept()
  if (kept !== undefined) writeKept({ ...kept, secret: '', view: null, request: null, ...(ended && { ended }) })
}

export function toEnded(redirectTo: string): Ended {
  const { protocol, origin, searchParams } = new URL(redirectTo)
  return {
    outcome: searchParams.has('code') ? 'finished' : 'declined',
    // An application on the device has an address that no page can lead to.
    home: /^https?:$/.test(protocol) ? `${origin}/` : null,
  }
}

function read(): string | null {
  try {
    return sessionStorage.getItem(key) ?? memory
  } catch {
    return memory
  }
}
