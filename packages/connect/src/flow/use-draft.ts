/**
 * What was typed into the key fields, for as long as it may have to be sent again. A provider that cannot be reached
 * says nothing about the key, and most exchanges show its secret only once. In memory only: a reload forgets it, and so
 * does everything that leads away from the provider.
 */
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Screen } from './view.ts'

type Values = Readonly<Record<string, string>>

export interface Draft {
  keep: (providerId: string, values: Values) => void
  find: (providerId: string) => Values | undefined
  drop: () => void
}

/** Causes that say nothing about the key itself. */
const passing = new Set(['venue_down', 'rate_limited', 'unreadable_answer', 'internal'])
const about = new Set<Screen['name']>(['credentials', 'checking', 'trouble'])

export function isPassing(cause: string): boolean {
  return passing.has(cause)
}

export function useDraft(screen: Screen): Draft {
  const kept = useRef<{ providerId: string; values: Values } | undefined>(undefined)
  useEffect(() => {
    if (!about.has(screen.name)) kept.current = undefined
  }, [screen.name])
  return useMemo(
    () => ({
      keep: (providerId, values) => void (kept.current = { providerId, values }),
      find: (providerId) => (kept.current?.providerId === providerId ? kept.current.values : undefined),
      drop: () => void (kept.current = undefined),
    }),
    [],
  )
}
