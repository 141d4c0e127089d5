/**
 * The widget's side of a popup or a frame. In a frame nothing is shown until the page around it has proved that it has
 * the origin which the client registered and the service has checked (docs/guides/connect.md): otherwise any page could
 * lay the consent button under something harmless.
 */
import type { ConnectSession } from '../api/session-api.ts'
import {
  unwrap,
  wrap,
  type AuthorizationResult,
  type ErrorCode,
  type PageMessage,
  type WidgetMessage,
} from '../loader/protocol.ts'
import type { StopReason } from './stop-reason.ts'

/** How the application shows the widget, and the origin that its messages go to. */
type Embedding = Pick<ConnectSession, 'display' | 'web_message_origin'>

export function isFramed(): boolean {
  return window.parent !== window
}

/** Never settles for a parent that is not the registered one. */
export async function proveParent({
  display,
  web_message_origin: origin,
}: Embedding): Promise<{ fitsContent: boolean }> {
  if (!isFramed()) return { fitsContent: false }
  if (display !== 'iframe' || origin === null || !areAncestors(origin)) return new Promise(() => undefined)
  const nonce = crypto.randomUUID()
  return new Promise((resolve) => {
    addEventListener('message', function hear(event: MessageEvent<unknown>) {
      if (event.source !== window.parent || event.origin !== origin) return
      const welcome = unwrap<PageMessage>(event.data, ['welcome'])
      if (welcome?.nonce !== nonce) return
      removeEventListener('message', hear)
      resolve({ fitsContent: welcome.fitsContent })
    })
    // Delivered only if the parent really has this origin.
    window.parent.postMessage(wrap({ type: 'hello', nonce }), origin)
  })
}

/** Refuses a stranger's page that frames the registered one, in browsers that report it. */
function areAncestors(origin: string): boolean {
  const { ancestorOrigins } = location as { ancestorOrigins?: DOMStringList }
  return ancestorOrigins === undefined || [...ancestorOrigins].every((ancestor) => ancestor === origin)
}

/**
 * Sent to the origin that the URL claims, before the service has checked it, so the message contains nothing sensitive.
 * False when no window can receive it.
 */
export function sendToClaimedOrigin(
  query: string,
  message: Extract<WidgetMessage, { type: 'loaded' | 'error' }>,
): boolean {
  const origin = new URLSearchParams(query).get('web_message_origin')
  const target = isFramed() ? window.parent : openerWindow()
  if (target === null || origin === null || !URL.canParse(origin)) return false
  target.postMessage(wrap(message), origin)
  return true
}

/** The request was refused in a way that goes back to the application. */
export function toRefusal(redirectTo: string): Extract<WidgetMessage, { type: 'error' }> {
  const { searchParams } = new URL(redirectTo)
  const message = searchParams.get('error_description') ?? searchParams.get('error') ?? ''
  return {
    type: 'error',
    code: message.includes('web_message_origin') ? 'origin_not_registered' : 'invalid_request',
    message,
  }
}

const codes: Record<StopReason['name'], ErrorCode> = {
  bad_request: 'invalid_request',
  nothing: 'invalid_request',
  expired: 'invalid_request',
  finished: 'invalid_request',
  declined: 'invalid_request',
  unreachable: 'unreachable',
  busy: 'busy',
  failed: 'failed',
  config: 'not_configured',
}

export function toError({ name, detail }: StopReason): Extract<WidgetMessage, { type: 'error' }> {
  return { type: 'error', code: codes[name], message: detail ?? name }
}

/** What a frame cannot do by itself: be as high as its content, and close the dialog that it is in. */
export function followFrame(embedding: Embedding, root: HTMLElement, fitsContent: boolean): void {
  if (!isFramed()) return
  document.documentElement.toggleAttribute('data-fits', fitsContent)
  new ResizeObserver(() => {
    sendMessage(embedding, { type: 'height', height: Math.ceil(root.getBoundingClientRect().height) })
  }).observe(root)
  addEventListener('keydown', (event) => {
    // A list that is open, or a question that is asked, takes the key for itself.
    const isTaken = event.defaultPrevented || document.querySelector('dialog[open]') !== null
    if (event.key === 'Escape' && !isTaken) sendMessage(embedding, { type: 'escape' })
  })
}

/** To the page that opened the widget; false when there is none, and the browser has to be redirected. */
export function sendMessage(
  embedding: Embedding,
  message: Exclude<WidgetMessage, { type: 'hello' | 'loaded' | 'error' }>,
): boolean {
  const { display, web_message_origin: origin } = embedding
  const target =
    display === 'iframe' ? (isFramed() ? window.parent : null) : display === 'popup' ? openerWindow() : null
  if (target === null || origin === null) return false
  target.postMessage(wrap(message), origin)
  return true
}

function openerWindow(): Window | null {
  const opener: unknown = window.opener
  return opener === null || opener === undefined ? null : (opener as Window)
}

/** Returns to the application in the way in which it opened us. */
export function leave(embedding: Embedding, redirectTo: string): void {
  if (sendMessage(embedding, { type: 'result', result: toResult(redirectTo) })) {
    if (embedding.display === 'popup') window.close()
    return
  }
  // Replaced, so that the browser's Back does not lead into a session that is over.
  location.replace(redirectTo)
}

export function toResult(redirectTo: string): AuthorizationResult {
  const { searchParams } = new URL(redirectTo)
  const [code, state, iss] = [searchParams.get('code'), searchParams.get('state'), searchParams.get('iss')]
  if (code !== null && state !== null && iss !== null) return { code, state, iss }
  return {
    error: searchParams.get('error') ?? 'server_error',
    error_description: searchParams.get('error_description'),
    state,
    iss,
  }
}
