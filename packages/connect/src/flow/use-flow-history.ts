/** Where the person is, kept in the browser's history: Back leads to the screen before, a reload to the same one. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ConnectSession } from '../api/session-api.ts'
import { toScreen, type Screen, type View } from './view.ts'

export interface FlowEntry {
  agreed: boolean
  view: View | null
  /** How many of our own steps the browser's Back can undo. */
  depth: number
}

export interface FlowHistory {
  entry: FlowEntry
  screen: Screen
  move: (to: Omit<FlowEntry, 'depth'>) => void
  go: (view: View) => void
  back: () => void
}

/** Screens that the browser's Back may return to; the others replace the screen before. */
const stops = new Set<Screen['name']>(['sign_in', 'credentials', 'choose'])

export function useFlowHistory(session: ConnectSession, start: Omit<FlowEntry, 'depth'>): FlowHistory {
  const [entry, setEntry] = useState<FlowEntry>({ agreed: start.agreed, view: start.view, depth: depthNow() })
  const screen = useMemo(() => toScreen(session, entry.agreed, entry.view), [session, entry])
  // An answer must continue from where the person is by then, not from where they asked.
  const latest = useRef({ session, entry })
  latest.current = { session, entry }

  const move = useCallback((to: Omit<FlowEntry, 'depth'>): void => {
    const { session: now, entry: from } = latest.current
    const before = toScreen(now, from.agreed, from.view).name
    const after = toScreen(now, to.agreed, to.view).name
    const deeper = before !== after && stops.has(after)
    const next = { ...to, depth: from.depth + (deeper ? 1 : 0) }
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
    if (history.state === null) history.replaceState(entry, '')
    const hear = (event: PopStateEvent): void => {
      setEntry((event.state as FlowEntry | null) ?? { agreed: false, view: null, depth: 0 })
    }
    addEventListener('popstate', hear)
    return () => removeEventListener('popstate', hear)
  }, [])
  return { entry, screen, move, go, back }
}

function depthNow(): number {
  return (history.state as FlowEntry | null)?.depth ?? 0
}
