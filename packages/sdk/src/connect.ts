/**
 * The widget's embedding loader, typed. The loader itself comes from the widget's own host, so that it always fits the
 * widget; this file only fetches it. A test compares the types with the loader.
 */

export interface ConnectRequest {
  /** {widget_url}, such as https://connect.example */
  widgetUrl: string
  clientId: string
  codeChallenge: string
  codeChallengeMethod?: 'S256' | 'plain'
  /** A UUID that the application's server remembers. */
  state: string
  redirectUri?: string
  scope?: string
  /** Opens at this provider. */
  providerId?: string
  /** Repairs this connection. */
  connectionId?: string
  /** Works once and for a minute: make it for each click. */
  loginToken?: string
  lang?: string
  theme?: 'light' | 'dark'
}

/** An element of a page, declared so that programs without the DOM types compile too. */
interface PageElement {
  appendChild: (child: never) => unknown
}

export interface ConnectOptions {
  display?: 'redirect' | 'popup' | 'iframe'
  onEvent?: (event: ConnectEvent) => void
  /** The element that gets the iframe, as high as its content. Without it, a dialog opens over the page. */
  container?: PageElement
}

/** The answer of the authorization request. Send it to your server, which checks `state` and `iss`. */
export type ConnectResult =
  | { code: string; state: string; iss: string }
  | { error: string; error_description: string | null; state: string | null; iss: string | null }

export type ConnectStep =
  | 'consent'
  | 'sign_in'
  | 'choose'
  | 'credentials'
  | 'checking'
  | 'trouble'
  | 'repaired'
  | 'summary'

/** Why the widget could not be shown. */
export type ConnectErrorCode =
  | 'popup_blocked'
  | 'blocked'
  | 'origin_not_registered'
  | 'invalid_request'
  | 'unreachable'
  | 'busy'
  | 'failed'
  | 'not_configured'

export type ConnectLastEvent =
  | { type: 'result'; result: ConnectResult }
  | { type: 'error'; code: ConnectErrorCode; message: string }
  /** The person closed the widget, `close()` was called, or a later call took the window over. */
  | { type: 'closed' }

export type ConnectEvent =
  | { type: 'ready' }
  | { type: 'step'; step: ConnectStep }
  | { type: 'connected'; providerId: string; connectionId: string }
  | ConnectLastEvent

export interface ConnectHandle {
  /** Never settles for a redirect. */
  finished: Promise<ConnectLastEvent>
  close(): void
}

export type OpenConnect = (request: ConnectRequest, options?: ConnectOptions) => ConnectHandle

/**
 * `openConnect` of the widget at this address. Load it when the page opens, and call `openConnect` directly from a
 * click: a browser that has to wait in between blocks the window.
 */
export async function loadConnect(widgetUrl: string): Promise<{ openConnect: OpenConnect }> {
  const address = `${widgetUrl.replace(/\/+$/, '')}/loader.js`
  return (await import(/* @vite-ignore */ /* webpackIgnore: true */ address)) as { openConnect: OpenConnect }
}
