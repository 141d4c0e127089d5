/** Where the person is, kept in the browser's history: Back leads to the screen before, a reload to the same one. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Session } from '../api/session-api.ts'
import { toScreen, type Screen, type View } from './view.ts'

export interface Place {
  agreed: boolean
  view: View | null
  /** How many of our own steps the browser's Back can undo. */
  depth: number
}

export interface Places {
  place: Place
  screen: Screen
  move: (to: Omit<Place, 'depth'>) => void
  go: (view: View) => void
  back: () => void
}

/** Screens that the browser's Back may return to; the others replace the screen before. */
const stops = new Set<Screen['name']>(['sign_in', 'credentials', 'choose'])

export function usePlace(session: Session, start: Omit<Place, 'depth'>): Places {
  const [place, setPlace] = useState<Place>({ agreed: start.agreed, view: start.view, depth: depthNow() })
  const screen = useMemo(() => toScreen(session, place.agreed, place.view), [session, place])
  // An answer must continue from where the person is by then, not from where they asked.
  const latest = useRef({ session, place })
  latest.current = { session, place }

  const move = useCallback((to: Omit<Place, 'depth'>): void => {
    const { session: now, place: from } = latest.current
    const before = toScreen(now, from.agreed, from.view).name
    const after = toScreen(now, to.agreed, to.view).name
    const deeper = before !== after && stops.has(after)
    const next = { ...to, depth: from.depth + (deeper ? 1 : 0) }
    if (deeper) history.pushState(next, '')
    else history.replaceState(next, '')
    setPlace(next)
  }, [])
  const go = useCallback((view: View): void => move({ agreed: true, view }), [move])
  const back = useCallback((): void => {
    const { session: now, place: from } = latest.current
    if (from.depth > 0) history.back()
    else move(now.user === null ? { agreed: false, view: null } : { agreed: true, view: { name: 'choose' } })
  }, [move])

  useEffect(() => {
    if (history.state === null) history.replaceState(place, '')
    const hear = (event: PopStateEvent): void => {
      setPlace((event.state as Place | null) ?? { agreed: false, view: null, depth: 0 })
    }
    addEventListener('popstate', hear)
    return () => removeEventListener('popstate', hear)
  }, [])
  return { place, screen, move, go, back }
}

function depthNow(): number {
  return (history.state as Place | null)?.depth ?? 0
}
