/**
 * `openConnect()`: sends a person to the connect widget, from any page, without a framework.
 *
 * - redirect (default): this page is left; the answer arrives at the registered redirect URI.
 * - popup, iframe: this page stays; the answer arrives here by postMessage, from exactly the widget's origin. The
 *   page's own origin must be registered as an embed origin of the client.
 *
 * The code is redeemed by the application's server. This file never sees the code verifier: pass the challenge that the
 * server made.
 */
import { openFrame } from './frame.ts'
import type { ConnectEvent, ConnectHandle, ConnectRequest } from './events.ts'
import { listenTo } from './listen.ts'

export type { ConnectEvent, ConnectHandle, ConnectRequest, LastEvent } from './events.ts'
export type { AuthorizationResult, ErrorCode, StepName } from './protocol.ts'

export interface ConnectOptions {
  display?: 'redirect' | 'popup' | 'iframe'
  onEvent?: (event: ConnectEvent) => void
  /** The element that gets the iframe, as high as its content. Without it, a dialog opens over the page. */
  container?: HTMLElement
}

export function openConnect(request: ConnectRequest, options: ConnectOptions = {}): ConnectHandle {
  const { display = 'redirect', onEvent = () => undefined } = options
  const url = toUrl(request, display)
  if (display === 'redirect') {
    location.assign(url)
    return { finished: new Promise(() => undefined), close: () => undefined }
  }
  return display === 'popup' ? openPopup(url, onEvent) : openFrame(url, onEvent, options.container)
}

function toUrl(request: ConnectRequest, display: 'redirect' | 'popup' | 'iframe'): string {
  const url = new URL(request.widgetUrl, location.href)
  const parameters = {
    client_id: request.clientId,
    code_challenge: request.codeChallenge,
    code_challenge_method: request.codeChallengeMethod ?? 'S256',
    state: request.state,
    redirect_uri: request.redirectUri,
    scope: request.scope,
    provider_id: request.providerId,
    connection_id: request.connectionId,
    login_token: request.loginToken,
    lang: request.lang,
    theme: request.theme,
    ...(display === 'redirect' ? {} : { display, web_message_origin: location.origin }),
  }
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
  return url.href
}

/** The size of the widget in a window of its own. */
const width = 480
const height = 760
const closedCheckMs = 400

/** Ends the earlier call that opened the window, and leaves the window open for the new one. */
let handOver: () => void = () => undefined

/** Has to be called from a click, or the browser blocks the window. */
function openPopup(url: string, onEvent: (event: ConnectEvent) => void): ConnectHandle {
  const left = Math.max(0, screenX + (outerWidth - width) / 2)
  const top = Math.max(0, screenY + (outerHeight - height) / 2)
  const popup = open(url, 'assay-connect', `popup,width=${width},height=${height},left=${left},top=${top}`)
  let isHandedOver = false
  // Browsers send no event when the user closes a window.
  const watch = setInterval(() => {
    if (popup?.closed === true) listening.close()
  }, closedCheckMs)
  const tidy = (): void => {
    clearInterval(watch)
    if (!isHandedOver) popup?.close()
  }
  const listening = listenTo({ target: () => popup, origin: new URL(url).origin, tidy }, onEvent)
  // The name is always the same, so a second click reloads the window that the first one opened. Both calls would hear
  // its result, and an application that redeems a code twice loses the tokens of the first time.
  if (popup !== null) {
    handOver()
    handOver = () => {
      isHandedOver = true
      listening.close()
    }
  }
  const message = 'The browser did not open a window. Call openConnect directly from a click.'
  // Deferred, so that the caller has the handle before its first event.
  if (popup === null) queueMicrotask(() => listening.end({ type: 'error', code: 'popup_blocked', message }))
  return listening
}
