/** The session as it is now: streamed while something is being read, looked at when the tab comes back to the front. */
import { useEffect } from 'preact/hooks'
import { followSession } from '../api/events.ts'
import type { Session, SessionApi } from '../api/session-api.ts'
import type { Screen } from './view.ts'

export function useFollowing(
  api: SessionApi,
  { session, screen }: { session: Session; screen: Screen },
  onSession: (session: Session) => void,
  onError: (error: unknown) => void,
): void {
  const reading = screen.name === 'checking' || (screen.name === 'summary' && session.connections.some(isReading))
  useEffect(() => (reading ? followSession(api, onSession, onError) : undefined), [api, reading, onSession, onError])
  useEffect(() => {
    const look = (): void => {
      if (document.visibilityState === 'visible') api.read().then(({ session: now }) => onSession(now), onError)
    }
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [api, onSession, onError])
}

/** Also while what was read is being checked: the last screen says what came of it. */
function isReading({ progress, status }: Session['connections'][number]): boolean {
  return (!progress.done || progress.proof === null) && status !== 'needs_reauth'
}
