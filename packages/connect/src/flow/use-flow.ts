/**
 * The flow as one hook: the session, the screen, and everything a person can do. Screens hold only what is typed; what
 * happened is here, and in the session on the server.
 */
import { toConsentLanguage } from '@assay/core/consent'
import { useCallback, useEffect, useState, useMemo, useRef } from 'preact/hooks'
import { followSession } from '../api/events.ts'
import { Problem, Unreachable, type ErrorItem } from '../api/http.ts'
import type { AddAnswer, AddRequest, ProviderAnswer, ConnectSession, SessionApi } from '../api/session-api.ts'
import { useSpeech } from '../texts/index.ts'
import { leave, sendMessage } from './embedding.ts'
import { onProviderAnswer, openProviderPage } from './provider-page.ts'
import { forgetSecret, keepAsked, toEnded, writeKept, type Ended } from './storage.ts'
import { useFlowHistory, type FlowHistory } from './use-flow-history.ts'
import { isConsentComplete, type Screen, type View } from './view.ts'
import { toStopReason, type StopReason } from './stop-reason.ts'

export interface Start {
  session: ConnectSession
  codeSentTo: string | null
  view: View | null
  request: string | null
  hasAsked: boolean
  /** The answer of a provider's sign-in page, on /callback. */
  answer: ProviderAnswer | undefined
}

export interface Flow extends Pick<FlowHistory, 'screen' | 'go' | 'back'>, Omit<Running, 'run' | 'stop'>, Actions {
  api: SessionApi
  session: ConnectSession
  draft: Draft
  codeSentTo: string | null
  setCodeSentTo: (email: string | null) => void
}

interface Actions {
  agree: () => void
  signedIn: (session: ConnectSession) => void
  add: (request: AddRequest) => void
  remove: (connectionId: string) => void
  resume: (sessionId: string) => void
  finish: () => void
  decline: () => void
}

export function useFlow(api: SessionApi, start: Start): Flow {
  const [session, setSession] = useState(start.session)
  const { session_id: sessionId } = start.session
  const [codeSentTo, setCodeSentTo] = useState(start.codeSentTo)
  const flowHistory = useFlowHistory(session, start.view)
  const { run, stop, ...running } = useRun(() => forgetSecret(sessionId))
  const { entry, screen, go, back } = flowHistory
  const draft = useDraft(screen)
  const showAdded = useAdded(api, setSession, go, draft)
  const { language } = useSpeech()

  const conclude = useConclusion(session, start.hasAsked, { run, stop })
  useEffect(() => {
    const kept = { sessionId, secret: api.secret, client: session.client, codeSentTo, request: start.request }
    if (running.stopped === null) writeKept({ ...kept, view: entry.view, hasAsked: conclude.hasAsked() })
  }, [api, session.client, entry, codeSentTo, running.stopped])
  const finish = (): void => conclude(() => api.finish())
  const decline = (): void => conclude(() => api.decline())
  const onSession = useTaking(setSession, (ended) => conclude.noteEnded(ended, { finished: finish, declined: decline }))
  const isOver = running.stopped !== null
  useFollowing(api, { session, screen, isOver }, onSession, running.handleError)
  useProviderAnswer(start.answer, (answer) =>
    run(async () => {
      const added = await api.complete(answer)
      await showAdded({ providerId: added.data.provider_id, connectionId: null }, added)
    }),
  )
  useEffect(() => {
    if (screen.name !== 'sign_in_off') sendMessage(session, { type: 'step', step: screen.name })
  }, [screen.name, session.session_id])

  const consent = (agreedIn: string, shown: ConnectSession) => api.consent(agreedIn, toConsentLanguage(language), shown)

  const actions: Actions = {
    agree() {
      if (session.user === null) flowHistory.move({ agreed: true, view: null })
      else run(async () => setSession((await consent(session.session_id, session)).session))
    },
    signedIn: (signedIn) =>
      run(async () => {
        // The consent can be recorded now, because the user is known. A user who had connections before has to be
        // shown them first.
        const now = isConsentComplete(signedIn, entry.agreed)
          ? (await consent(entry.sessionId, signedIn)).session
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
    finish,
    decline,
  }
  return { api, session, draft, screen, go, back, codeSentTo, setCodeSentTo, ...running, ...actions }
}

type Outcome = Ended['outcome']

interface Conclude {
  (ask: () => Promise<{ redirect_to: string }>): void
  /** The service says how the session has ended; `askAgain` asks for that answer again. */
  noteEnded: (ended: Outcome, askAgain: Readonly<Record<Outcome, () => void>>) => void
  hasAsked: () => boolean
}

/** How a session ends: the browser, or the page around a frame, takes the answer to the application. */
function useConclusion(
  session: ConnectSession,
  hadAsked: boolean,
  { run, stop }: Pick<Running, 'run' | 'stop'>,
): Conclude {
  /** Whether this tab has asked for the end of the session, and whether the answer was lost, as by a reload. */
  const standing = useRef<'open' | 'asked' | 'lost'>(hadAsked ? 'lost' : 'open')
  const end = (ended: Ended): void => {
    forgetSecret(session.session_id, ended)
    stop({ name: ended.outcome })
  }
  const conclude = (ask: () => Promise<{ redirect_to: string }>): void =>
    run(async () => {
      standing.current = 'asked'
      keepAsked(session.session_id)
      const { redirect_to } = await ask().catch((error: unknown) => {
        standing.current = 'lost'
        throw error
      })
      // The page around a frame removes it; a window that may not close itself says that everything is done.
      end(toEnded(redirect_to))
      leave(session, redirect_to)
    })
  const noteEnded: Conclude['noteEnded'] = (outcome, askAgain) => {
    if (standing.current === 'lost') askAgain[outcome]()
    // Another tab of this session has the answer.
    else if (standing.current === 'open') end({ outcome, home: null })
  }
  return Object.assign(conclude, { noteEnded, hasAsked: () => standing.current !== 'open' })
}

/** Takes the news of a session, until it has ended. */
function useTaking(
  setSession: (session: ConnectSession) => void,
  onEnded: (ended: Outcome) => void,
): (session: ConnectSession) => void {
  const ended = useRef(onEnded)
  ended.current = onEnded
  return useCallback((now) => (now.ended === null ? setSession(now) : ended.current(now.ended)), [setSession])
}

/** What follows the answer to "add": the provider's page, the checking list, or the error. */
function useAdded(
  api: SessionApi,
  setSession: (session: ConnectSession) => void,
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
  { session, screen, isOver }: { session: ConnectSession; screen: Screen; isOver: boolean },
  onSession: (session: ConnectSession) => void,
  onError: (error: unknown) => void,
): void {
  const isShown = screen.name === 'checking' || (screen.name === 'summary' && session.connections.some(isReading))
  const reading = isShown && !isOver
  useEffect(() => (reading ? followSession(api, onSession, onError) : undefined), [api, reading, onSession, onError])
  useEffect(() => {
    if (isOver) return
    const look = (): void => {
      if (document.visibilityState === 'visible') api.read().then(({ session: now }) => onSession(now), onError)
    }
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [api, isOver, onSession, onError])
}

/** Checking what was read counts as reading, because the last screen shows the result. */
function isReading({ progress, status }: ConnectSession['connections'][number]): boolean {
  return (!progress.done || progress.proof === null) && status !== 'needs_reauth'
}

type Notice = 'unreachable' | 'busy' | null

interface Running {
  busy: boolean
  /** The service could not be reached, or asked to wait; the screen stays. */
  notice: Notice
  stopped: StopReason | null
  run: (work: () => Promise<void>) => void
  stop: (reason: StopReason) => void
  handleError: (error: unknown) => void
}

/** Runs one action at a time and handles its errors: a notice at the top of the screen, or the end of the flow. */
export function useRun(onExpired?: () => void): Running {
  const [busy, setBusy] = useState(false)
  const [notice, setNotice] = useState<Notice>(null)
  const [stopped, setStopped] = useState<StopReason | null>(null)

  const handleError = useCallback((error: unknown): void => {
    if (error instanceof Unreachable) return setNotice('unreachable')
    if (!(error instanceof Problem)) throw error
    if (error.status === 429) return setNotice('busy')
    if (error.status === 401) onExpired?.()
    setStopped(toStopReason(error))
  }, [])
  const run = useCallback(
    (work: () => Promise<void>): void => {
      setBusy(true)
      setNotice(null)
      void work()
        .catch(handleError)
        .finally(() => setBusy(false))
    },
    [handleError],
  )
  return { busy, notice, stopped, run, stop: setStopped, handleError }
}

type Values = Readonly<Record<string, string>>

/**
 * What was typed into the key fields, or pasted into the search as a wallet, for as long as it may have to be sent
 * again. A provider that cannot be reached says nothing about the key, and most exchanges show its secret only once. In
 * memory only: a reload forgets it, and so does everything that leads away from the provider.
 */
interface Draft {
  keep: (providerId: string, values: Values) => void
  find: (providerId: string) => Values | undefined
  drop: () => void
}

/** Causes that say nothing about the key itself. */
const passing = new Set(['venue_down', 'rate_limited', 'unreadable_answer', 'internal'])
const about = new Set<Screen['name']>(['credentials', 'checking', 'trouble'])

function isPassing(cause: string): boolean {
  return passing.has(cause)
}

function useDraft(screen: Screen): Draft {
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
