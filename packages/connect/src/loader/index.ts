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
import { openPopup } from './popup.ts'
import type { ConnectEvent, ConnectHandle, ConnectRequest } from './events.ts'

export type { ConnectEvent, ConnectHandle, ConnectRequest, LastEvent } from './events.ts'
export type { AuthorizationResult, ErrorCode, StepName } from './protocol.ts'

export interface ConnectOptions {
  display?: 'redirect' | 'popup' | 'iframe'
  onEvent?: (event: ConnectEvent) => void
  /** For an iframe: where it goes, as high as its content. Without it, a dialog over the page. */
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
