/**
 * How a page begins: with the application's request in the address (then it makes a session and cleans the address
 * bar), or with the session that this tab already has.
 */
import { Problem } from '../api/http.ts'
import {
  beginSession,
  createSessionApi,
  forwardAnswer,
  type Client,
  type Session,
  type SessionApi,
} from '../api/session-api.ts'
import type { WidgetConfig } from '../config.ts'
import { isFramed, sendToClaimedOrigin, toError, toRefusal } from './embedding.ts'
import { handToOpener, readProviderAnswer } from './provider-page.ts'
import { toStopReason, type StopReason } from './stop-reason.ts'
import { forgetSecret, readKept } from './storage.ts'
import type { Start } from './use-flow.ts'

export type Opening =
  | { kind: 'flow'; api: SessionApi; start: Start }
  | { kind: 'stopped'; reason: StopReason; client: Client | null }
  /** The browser is on its way elsewhere. */
  | { kind: 'left' }

export async function openSession({ auth_url: authUrl }: WidgetConfig): Promise<Opening> {
  const { search } = location
  const page = document.documentElement.dataset['page']
  if (page !== 'callback' && new URLSearchParams(search).has('client_id')) return begin(authUrl, search.slice(1))
  const answer = page === 'callback' ? readProviderAnswer() : undefined
  if (answer !== undefined) {
    const elsewhere = await forwardAnswer(authUrl, answer)
    if (elsewhere !== null) {
      location.replace(elsewhere)
      return { kind: 'left' }
    }
  }
  const opening = await resume(authUrl, answer)
  if (answer !== undefined && isFramesOwn(opening) && handToOpener(answer)) return { kind: 'left' }
  return opening
}

/**
 * Whether a frame opened this tab for the provider's page. Across sites the tab then has no session. On one site the
 * browser copies the frame's session into the tab, and the flow would end here while the frame waits.
 */
function isFramesOwn(opening: Opening): boolean {
  return opening.kind === 'stopped' || (opening.kind === 'flow' && opening.start.session.display === 'iframe')
}

async function begin(authUrl: string, query: string): Promise<Opening> {
  try {
    // Passes on the text unchanged: a repeated parameter must be refused, not tidied up.
    const begun = await beginSession(authUrl, query)
    if (begun.redirect_to !== null) {
      // A loader that listens gets the reason; without one, the redirect carries it.
      sendToClaimedOrigin(query, toRefusal(begun.redirect_to))
      // In a frame nothing may be shown, and the application's own page belongs at the top.
      if (!isFramed()) location.replace(begun.redirect_to)
      return { kind: 'left' }
    }
    // The request, with its login token, is spent; it must not stay in the history or appear on a screenshot.
    history.replaceState(null, '', location.pathname + frameAddress(begun.session))
    const api = createSessionApi(authUrl, begun.session_secret)
    const start = { session: begun.session, agreed: false, codeSentTo: null, view: null, answer: undefined }
    return { kind: 'flow', api, start }
  } catch (error) {
    const reason = toStopReason(error)
    sendToClaimedOrigin(query, toError(reason))
    return { kind: 'stopped', reason, client: null }
  }
}

async function resume(authUrl: string, answer: Start['answer']): Promise<Opening> {
  const kept = readKept()
  const client = kept?.client ?? null
  if (kept?.secret === '' && kept.ended !== undefined && client !== null) {
    const { outcome, home } = kept.ended
    const known = { ...client, homepage_uri: client.homepage_uri ?? home }
    return { kind: 'stopped', reason: { name: outcome }, client: known }
  }
  if (kept === undefined || kept.secret === '')
    return { kind: 'stopped', reason: { name: client === null ? 'nothing' : 'expired' }, client }
  const api = createSessionApi(authUrl, kept.secret)
  try {
    const { session } = await api.read()
    if (answer !== undefined) history.replaceState(null, '', location.pathname)
    if (session.ended !== null) return { kind: 'stopped', reason: { name: session.ended }, client }
    return {
      kind: 'flow',
      api,
      start: { session, agreed: kept.agreed, codeSentTo: kept.codeSentTo, view: kept.view, answer },
    }
  } catch (error) {
    if (error instanceof Problem && error.status === 401) forgetSecret()
    return { kind: 'stopped', reason: toStopReason(error), client }
  }
}

/** In a frame, what the page's host must know to let a reload in again; none of it is secret. */
function frameAddress({ display, client, web_message_origin: origin }: Session): string {
  if (display !== 'iframe' || origin === null) return ''
  return `?${new URLSearchParams({ embedded_by: client.client_id, web_message_origin: origin }).toString()}`
}
