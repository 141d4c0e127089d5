/**
 * The widget's side of a popup or a frame. In a frame nothing is shown until the page around it has proved that it has
 * the origin which the client registered and the service has checked (contract §4, Embedding): otherwise any page could
 * lay the consent button under something harmless.
 */
import type { Session } from '../api/session-api.ts'
import { unwrap, wrap, type AuthorizationResult, type PageMessage, type WidgetMessage } from '../loader/protocol.ts'

type Place = Pick<Session, 'display' | 'web_message_origin'>

export function isFramed(): boolean {
  return window.parent !== window
}

/** Never settles for a parent that is not the registered one. */
export async function proveParent({ display, web_message_origin: origin }: Place): Promise<void> {
  if (!isFramed()) return
  if (display !== 'iframe' || origin === null || !areAncestors(origin)) return new Promise(() => undefined)
  const nonce = crypto.randomUUID()
  await new Promise<void>((resolve) => {
    addEventListener('message', function hear(event: MessageEvent<unknown>) {
      if (event.source !== window.parent || event.origin !== origin) return
      if (unwrap<PageMessage>(event.data, ['welcome'])?.nonce !== nonce) return
      removeEventListener('message', hear)
      resolve()
    })
    // Delivered only if the parent really has this origin.
    window.parent.postMessage(wrap({ type: 'hello', nonce }), origin)
  })
}

/** Also not inside a stranger's page that frames the registered one. Not every browser tells. */
function areAncestors(origin: string): boolean {
  const { ancestorOrigins } = location as { ancestorOrigins?: DOMStringList }
  return ancestorOrigins === undefined || [...ancestorOrigins].every((ancestor) => ancestor === origin)
}

export function tell(place: Place, message: Exclude<WidgetMessage, { type: 'hello' }>): boolean {
  const { display, web_message_origin: origin } = place
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

/** Back to the application, by whichever way it opened us. */
export function leave(place: Place, redirectTo: string): void {
  if (tell(place, { type: 'result', result: toResult(redirectTo) })) {
    if (place.display === 'popup') window.close()
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
