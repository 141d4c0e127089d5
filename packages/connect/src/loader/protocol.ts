/**
 * What the widget and the page that opened it say to each other by postMessage. Every message names its exact target
 * origin, and every receiver checks origin, source window and this marker.
 *
 *   widget → page  loaded               the page is there; says nothing else
 *   widget → page  error {code}         the flow could not begin
 *   widget → page  hello {nonce}        only in a frame, to exactly the registered origin
 *   page → widget  welcome {nonce}      until it comes, the frame shows nothing
 *   widget → page  ready                the first screen is shown
 *   widget → page  step, connected      to follow along
 *   widget → page  height, escape       only in a frame, which cannot do either by itself
 *   widget → page  result               the answer of the authorization request
 *
 * `loaded` and `error` go to the origin that the address claims, before the service has checked it: they carry nothing
 * that the page around could not find out by itself.
 */
const marker = 'assay-connect'

export type AuthorizationResult =
  | { code: string; state: string; iss: string }
  | { error: string; error_description: string | null; state: string | null; iss: string | null }

export type StepName =
  | 'consent'
  | 'sign_in'
  | 'choose'
  | 'credentials'
  | 'checking'
  | 'trouble'
  | 'repaired'
  | 'summary'

/** Why the widget cannot be shown. The reasons that the loader finds by itself come first. */
export type ErrorCode =
  | 'popup_blocked'
  | 'blocked'
  | 'origin_not_registered'
  | 'invalid_request'
  | 'unreachable'
  | 'busy'
  | 'failed'
  | 'not_configured'

export type WidgetMessage =
  | { type: 'loaded' }
  | { type: 'error'; code: ErrorCode; message: string }
  | { type: 'ready' }
  | { type: 'height'; height: number }
  | { type: 'escape' }
  | { type: 'hello'; nonce: string }
  | { type: 'step'; step: StepName }
  | { type: 'connected'; providerId: string; connectionId: string }
  | { type: 'result'; result: AuthorizationResult }

export type PageMessage = { type: 'welcome'; nonce: string; fitsContent: boolean }

export function wrap<M extends WidgetMessage | PageMessage>(message: M): M & { marker: string } {
  return { ...message, marker }
}

export function unwrap<M extends WidgetMessage | PageMessage>(
  data: unknown,
  types: readonly M['type'][],
): M | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const { marker: mark, type } = data as { marker?: unknown; type?: unknown }
  if (mark !== marker || !types.some((known) => known === type)) return undefined
  return data as M
}
