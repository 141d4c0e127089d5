/** What an application hears from the widget it opened, and what it holds of it. */
import type { AuthorizationResult, StepName } from './protocol.ts'

export type ConnectEvent =
  | { type: 'ready' }
  | { type: 'step'; step: StepName }
  | { type: 'connected'; providerId: string; connectionId: string }
  | { type: 'result'; result: AuthorizationResult }
  /** The person closed the window, or `close()` was called, before there was a result. */
  | { type: 'closed' }

export interface ConnectHandle {
  /** The last event: `result` or `closed`. Never settles for a redirect. */
  finished: Promise<Extract<ConnectEvent, { type: 'result' | 'closed' }>>
  close(): void
}
