/**
 * How a page begins: with the application's request in the address (then it makes a session and cleans the address
 * bar), or with the session that this tab already has.
 */
import { Problem } from '../api/http.ts'
import {
  beginConnectSession,
  createSessionApi,
  findAsker,
  forwardAnswer,
  type Asker,
  type Client,
  type ConnectSession,
  type ProviderAnswer,
  type SessionApi,
} from '../api/session-api.ts'
import type { WidgetConfig } from '../config.ts'
import { isFramed, leave, sendToClaimedOrigin, toError, toRefusal } from './embedding.ts'
import { handToOpener, readProviderAnswer } from './provider-page.ts'
import { toStopReason, type StopReason } from './stop-reason.ts'
import { forgetSecret, readKept, toEnded } from './storage.ts'
import { findEntrySession } from './use-flow-history.ts'
import type { Start } from './use-flow.ts'

export type Opening =
  | { kind: 'flow'; api: SessionApi; start: Start }
  | { kind: 'stopped'; reason: StopReason; client: Client | null }
  /** An application began the sign-in at a provider, and waits for the answer. */
  | { kind: 'asked'; asker: Asker; decide: (agreed: boolean) => Promise<boolean> }
  /** The browser is on its way elsewhere. */
  | { kind: 'left' }

export async function openFlow({ auth_url: authUrl }: WidgetConfig): Promise<Opening> {
  const { search } = location
  const page = document.documentElement.dataset['page']
  if (page !== 'callback' && new URLSearchParams(search).has('client_id')) return beginFlow(authUrl, search.slice(1))
  const answer = page === 'callback' ? readProviderAnswer() : undefined
  const asker = answer === undefined ? null : await findAsker(authUrl, answer.state)
  if (answer !== undefined && asker !== null) {
    if ('code' in answer) return { kind: 'asked', asker, decide: (agreed) => decide(authUrl, answer, agreed) }
    await handOn(authUrl, answer)
    return { kind: 'left' }
  }
  const opening = await resume(authUrl, answer)
  if (answer !== undefined && isFramesOwn(opening) && handToOpener(answer)) return { kind: 'left' }
  return opening
}

/** The provider has given its permission either way, so a refusal is told to the application as one. */
function decide(authUrl: string, answer: ProviderAnswer, agreed: boolean): Promise<boolean> {
  return handOn(authUrl, agreed ? answer : { state: answer.state, error: 'access_denied' })
}

/** False when the application no longer waits for the answer. */
async function handOn(authUrl: string, answer: ProviderAnswer): Promise<boolean> {
  const redirectTo = await forwardAnswer(authUrl, answer)
  if (redirectTo !== null) location.replace(redirectTo)
  return redirectTo !== null
}

/**
 * Whether a frame opened this tab for the provider's page. Across sites the tab then has no session. On one site the
 * browser copies the frame's session into the tab, and the flow would end here while the frame waits.
 */
function isFramesOwn(opening: Opening): boolean {
  return opening.kind === 'stopped' || (opening.kind === 'flow' && opening.start.session.display === 'iframe')
}

async function beginFlow(authUrl: string, query: string): Promise<Opening> {
  try {
    // Passes on the text unchanged: a repeated parameter must be refused, not tidied up.
    const begun = await beginConnectSession(authUrl, query)
    if (begun.redirect_to !== null) {
      await leaveRefused(query, begun.redirect_to)
      return { kind: 'left' }
    }
    // The request, with its login token, is spent; it must not stay in the history or appear on a screenshot.
    history.replaceState(null, '', location.pathname + frameAddress(begun.session))
    const api = createSessionApi(authUrl, begun.session_secret)
    // A login token works once, and the application chose the user.
    const request = new URLSearchParams(query).has('login_token') ? null : query
    const start = { session: begun.session, codeSentTo: null, view: null, request, hasAsked: false, answer: undefined }
    return { kind: 'flow', api, start }
  } catch (error) {
    const reason = toStopReason(error)
    sendToClaimedOrigin(query, toError(reason))
    return { kind: 'stopped', reason, client: null }
  }
}

/** How long a loader may take to close the window of a refused request. */
const closesWithinMs = 5_000

/** A loader that listens gets the reason and closes the window. Without one, the redirect carries the reason. */
async function leaveRefused(query: string, redirectTo: string): Promise<void> {
  const isSent = sendToClaimedOrigin(query, toRefusal(redirectTo))
  // In a frame nothing may be shown, and the application's own page belongs at the top.
  if (isFramed()) return
  if (isSent) await new Promise((resolve) => setTimeout(resolve, closesWithinMs))
  location.replace(redirectTo)
}

async function resume(authUrl: string, answer: Start['answer']): Promise<Opening> {
  const entrySession = findEntrySession()
  const kept = readKept(entrySession)
  const client = kept?.client ?? null
  if (kept?.secret === '' && kept.ended !== undefined && client !== null) {
    const { outcome, home } = kept.ended
    const known = { ...client, homepage_uri: client.homepage_uri ?? home }
    return { kind: 'stopped', reason: { name: outcome }, client: known }
  }
  if (kept === undefined || kept.secret === '')
    return {
      kind: 'stopped',
      reason: { name: client === null && entrySession === undefined ? 'nothing' : 'expired' },
      client,
    }
  const api = createSessionApi(authUrl, kept.secret)
  try {
    const { session } = await api.read()
    if (answer !== undefined) history.replaceState(null, '', location.pathname)
    if (session.ended === 'finished') return { kind: 'stopped', reason: await finishAgain(api, session), client }
    if (session.ended !== null) return { kind: 'stopped', reason: { name: session.ended }, client }
    return {
      kind: 'flow',
      api,
      start: {
        ...{ session, answer, codeSentTo: kept.codeSentTo, view: kept.view },
        ...{ request: kept.request, hasAsked: kept.hasAsked },
      },
    }
  } catch (error) {
    if (error instanceof Problem && error.status === 401) forgetSecret(kept.sessionId)
    return { kind: 'stopped', reason: toStopReason(error), client }
  }
}

/**
 * The page forgets the secret with the answer to "finish", so this answer was lost. Without it, the application waits in
 * vain, and what was connected is removed again.
 */
async function finishAgain(api: SessionApi, session: ConnectSession): Promise<StopReason> {
  try {
    const { redirect_to: redirectTo } = await api.finish()
    forgetSecret(session.session_id, toEnded(redirectTo))
    leave(session, redirectTo)
    return { name: 'finished' }
  } catch (error) {
    return toStopReason(error)
  }
}

/** In a frame, what the page's host must know to let a reload in again; none of it is secret. */
function frameAddress({ display, client, web_message_origin: origin }: ConnectSession): string {
  if (display !== 'iframe' || origin === null) return ''
  return `?${new URLSearchParams({ embedded_by: client.client_id, web_message_origin: origin }).toString()}`
}
