/** What an application sends to the widget, the events that it receives, and the handle that it holds. */
import type { AuthorizationResult, ErrorCode, StepName } from './protocol.ts'

export interface ConnectRequest {
  /** {widget_url}, such as https://connect.example.com */
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

export type ConnectEvent =
  | { type: 'ready' }
  | { type: 'step'; step: StepName }
  | { type: 'connected'; providerId: string; connectionId: string }
  | { type: 'result'; result: AuthorizationResult }
  /** The widget could not be shown. `message` is for the people who run the application. */
  | { type: 'error'; code: ErrorCode; message: string }
  /**
   * The person closed the window, `close()` was called, or a later call took the window over, before there was a
   * result.
   */
  | { type: 'closed' }

export type LastEvent = Extract<ConnectEvent, { type: 'result' | 'error' | 'closed' }>

export interface ConnectHandle {
  /** The last event: `result`, `error` or `closed`. Never settles for a redirect. */
  finished: Promise<LastEvent>
  close(): void
}
