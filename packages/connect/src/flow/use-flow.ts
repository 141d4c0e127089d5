/**
 * The flow as one hook: the session, the screen, and everything a person can do. Screens hold only what is typed; what
 * happened is here, and in the session on the server.
 */
import { toConsentLanguage } from '@assay/core/consent'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { followSession } from '../api/events.ts'
import type { ErrorItem } from '../api/http.ts'
import type { AddAnswer, AddRequest, ProviderAnswer, Session, SessionApi } from '../api/session-api.ts'
import { useSpeech } from '../texts/index.ts'
import { leave, sendMessage } from './embedding.ts'
import { onProviderAnswer, openProviderPage } from './provider-page.ts'
import { forgetSecret, toEnded, writeKept } from './storage.ts'
import { isPassing, useDraft, type Draft } from './use-draft.ts'
import { usePlace, type Places } from './use-place.ts'
import { useRun, type Running } from './use-run.ts'
import { isConsentComplete, type Screen, type View } from './view.ts'

export interface Start {
  session: Session
  agreed: boolean
  codeSentTo: string | null
  view: View | null
  /** The answer of a provider's sign-in page, on /callback. */
  answer: ProviderAnswer | undefined
}

export interface Flow extends Pick<Places, 'screen' | 'go' | 'back'>, Omit<Running, 'run' | 'stop'>, Actions {
  api: SessionApi
  session: Session
  draft: Draft
  codeSentTo: string | null
  setCodeSentTo: (email: string | null) => void
}

interface Actions {
  agree: () => void
  signedIn: (session: Session) => void
  add: (request: AddRequest) => void
  remove: (connectionId: string) => void
  resume: (sessionId: string) => void
  finish: () => void
  decline: () => void
}

export function useFlow(api: SessionApi, start: Start): Flow {
  const [session, setSession] = useState(start.session)
  const [codeSentTo, setCodeSentTo] = useState(start.codeSentTo)
  const places = usePlace(session, start)
  const { run, stop, ...running } = useRun()
  const { place, screen, go, back } = places
  const draft = useDraft(screen)
  const showAdded = useAdded(api, setSession, go, draft)
  const { language } = useSpeech()

  useEffect(() => {
    const { agreed, view } = place
    if (running.stopped === null) writeKept({ secret: api.secret, client: session.client, agreed, view, codeSentTo })
  }, [api, session.client, place, codeSentTo, running.stopped])
  useFollowing(api, { session, screen }, setSession, running.handleError)
  useProviderAnswer(start.answer, (answer) =>
    run(async () => {
      const added = await api.complete(answer)
      await showAdded({ providerId: added.data.provider_id, connectionId: null }, added)
    }),
  )
  useEffect(() => {
    if (screen.name !== 'sign_in_off') sendMessage(session, { type: 'step', step: screen.name })
  }, [screen.name, session.session_id])

  const conclude = (ask: () => Promise<{ redirect_to: string }>): void =>
    run(async () => {
      const { redirect_to } = await ask()
      const ended = toEnded(redirect_to)
      forgetSecret(ended)
      leave(session, redirect_to)
      // The page around a frame removes it; a window that may not close itself says that everything is done.
      stop({ name: ended.outcome })
    })

  const actions: Actions = {
    agree() {
      if (session.user === null) places.move({ agreed: true, view: null })
      else run(async () => setSession((await api.consent(toConsentLanguage(language))).session))
    },
    signedIn: (signedIn) =>
      run(async () => {
        // Recorded now that it is known whose consent it is. What they had connected before has to be shown first.
        const now = isConsentComplete(signedIn, place.agreed)
          ? (await api.consent(toConsentLanguage(language))).session
          : signedIn
        setCodeSentTo(null)
        setSession(now)
      }),
    add(request) {
      const asked = {
        providerId: request.provider_id,
        connectionId: request.connection_id ?? null,
        byKey: request.connection.type === 'api_key',
      }
      go({ name: 'checking', providerId: asked.providerId, connectionId: null })
      run(async () => {
        const answer = await api.add(request).catch((error: unknown) => {
          // Shows the form again with the reason, and not a screen that waits for nothing.
          go({ name: 'credentials', ...asked })
          throw error
        })
        await showAdded(asked, answer)
      })
    },
    remove: (id) => run(async () => setSession((await api.remove(id)).session)),
    resume: (id) =>
      run(async () => {
        setSession((await api.resume(id)).session)
        go({ name: 'summary' })
      }),
    finish: () => conclude(() => api.finish()),
    decline: () => conclude(() => api.decline()),
  }
  return { api, session, draft, screen, go, back, codeSentTo, setCodeSentTo, ...running, ...actions }
}

/** What follows the answer to "add": the provider's page, the checking list, or the error. */
function useAdded(
  api: SessionApi,
  setSession: (session: Session) => void,
  go: (view: View) => void,
  draft: Draft,
): (asked: { providerId: string; connectionId: string | null; byKey?: boolean }, answer: AddAnswer) => Promise<void> {
  return useCallback(
    async (asked, { data: { added, connection_id, redirect_url }, errors }) => {
      if (redirect_url !== null) return openProviderPage(redirect_url)
      // Read before the screen changes, so that it finds its connection.
      const { session } = await api.read()
      setSession(session)
      const item: ErrorItem = errors[0] ?? { cause: 'internal', message: '' }
      if (added || !isPassing(item.cause)) draft.drop()
      if (added && connection_id !== null) {
        sendMessage(session, { type: 'connected', providerId: asked.providerId, connectionId: connection_id })
        if (session.existing.some((existing) => existing.connection_id === connection_id)) {
          return go({ name: 'repaired', providerId: asked.providerId })
        }
        return go({ name: 'checking', providerId: asked.providerId, connectionId: connection_id })
      }
      go({ name: 'trouble', ...asked, item })
    },
    [api, setSession, go, draft],
  )
}

function useProviderAnswer(first: ProviderAnswer | undefined, complete: (answer: ProviderAnswer) => void): void {
  useEffect(() => {
    if (first !== undefined) complete(first)
    return onProviderAnswer(complete)
  }, [])
}

/** Keeps the session up to date: by a stream while an account is being read, and when the tab becomes visible again. */
function useFollowing(
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

/** Checking what was read counts as reading, because the last screen shows the result. */
function isReading({ progress, status }: Session['connections'][number]): boolean {
  return (!progress.done || progress.proof === null) && status !== 'needs_reauth'
}
