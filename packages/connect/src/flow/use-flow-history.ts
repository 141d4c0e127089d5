/**
 * Where the person is, kept in the browser's history: Back leads to the screen before, a reload to the same one. The
 * history belongs to the tab and not to a session, so each entry names its session, and counts for no other.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ConnectSession } from '../api/session-api.ts'
import { toScreen, type Screen, type View } from './view.ts'

export interface FlowEntry {
  sessionId: string
  /** Consent is asked for first, and recorded once it is known whose it is. */
  agreed: boolean
  view: View | null
  /** How many of our own steps the browser's Back can undo. */
  depth: number
}

type Place = Pick<FlowEntry, 'agreed' | 'view'>

export interface FlowHistory {
  entry: FlowEntry
  screen: Screen
  move: (to: Place) => void
  go: (view: View) => void
  back: () => void
}

/** Screens that the browser's Back may return to; the others replace the screen before. */
const stops = new Set<Screen['name']>(['sign_in', 'credentials', 'choose'])

export function useFlowHistory(session: ConnectSession, firstView: View | null): FlowHistory {
  const { session_id: sessionId } = session
  const [entry, setEntry] = useState(() => readEntry(history.state, sessionId) ?? toFirst(sessionId, firstView))
  const screen = useMemo(() => toScreen(session, entry.agreed, entry.view), [session, entry])
  // An answer must continue from where the person is by then, not from where they asked.
  const latest = useRef({ session, entry })
  latest.current = { session, entry }

  const move = useCallback((to: Place): void => {
    const { session: now, entry: from } = latest.current
    const before = toScreen(now, from.agreed, from.view).name
    const after = toScreen(now, to.agreed, to.view).name
    const deeper = before !== after && stops.has(after)
    const next = { sessionId: now.session_id, ...to, depth: from.depth + (deeper ? 1 : 0) }
    if (deeper) history.pushState(next, '')
    else history.replaceState(next, '')
    setEntry(next)
  }, [])
  const go = useCallback((view: View): void => move({ agreed: true, view }), [move])
  const back = useCallback((): void => {
    const { session: now, entry: from } = latest.current
    if (from.depth > 0) history.back()
    else move(now.user === null ? { agreed: false, view: null } : { agreed: true, view: { name: 'choose' } })
  }, [move])

  useEffect(() => {
    if (readEntry(history.state, sessionId) === undefined) history.replaceState(entry, '')
    const hear = (event: PopStateEvent): void => {
      setEntry(readEntry(event.state, sessionId) ?? toFirst(sessionId, null))
    }
    addEventListener('popstate', hear)
    return () => removeEventListener('popstate', hear)
  }, [])
  return { entry, screen, move, go, back }
}

/** The session of the page that the browser shows again; undefined for a page that the flow was not on yet. */
export function findEntrySession(): string | undefined {
  return (history.state as Partial<FlowEntry> | null)?.sessionId
}

function readEntry(state: unknown, sessionId: string): FlowEntry | undefined {
  const entry = state as FlowEntry | null
  return entry?.sessionId === sessionId ? entry : undefined
}

function toFirst(sessionId: string, view: View | null): FlowEntry {
  return { sessionId, agreed: false, view, depth: 0 }
}
