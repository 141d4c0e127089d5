/**
 * What the widget and the page that opened it say to each other by postMessage. Every message names its exact target
 * origin, and every receiver checks origin, source window and this marker.
 *
 *   widget → page  hello {nonce}        only in a frame, to exactly the registered origin
 *   page → widget  welcome {nonce}      until it comes, the frame shows nothing
 *   widget → page  step, connected      to follow along
 *   widget → page  result               the answer of the authorization request (contract §4)
 */
const marker = 'assay-connect'

export type AuthorizationResult =
  | { code: string; state: string; iss: string }
  | { error: string; error_description: string | null; state: string | null; iss: string | null }

export type StepName =
  'consent' | 'sign_in' | 'choose' | 'credentials' | 'checking' | 'trouble' | 'repaired' | 'summary'

export type WidgetMessage =
  | { type: 'hello'; nonce: string }
  | { type: 'step'; step: StepName }
  | { type: 'connected'; providerId: string; connectionId: string }
  | { type: 'result'; result: AuthorizationResult }

export type PageMessage = { type: 'welcome'; nonce: string }

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
