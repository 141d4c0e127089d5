/** Why the flow cannot continue. Each reason has its own texts (`stopped.*`) and a way out. */
import { Problem, Unreachable } from '../api/http.ts'
import { ConfigMissing } from '../config.ts'

export interface StopReason {
  name: 'bad_request' | 'expired' | 'finished' | 'declined' | 'unreachable' | 'busy' | 'failed' | 'nothing' | 'config'
  requestId?: string
  /** For the people who run the application. */
  detail?: string
}

export function toStopReason(error: unknown): StopReason {
  if (error instanceof ConfigMissing) return { name: 'config' }
  if (error instanceof Unreachable) return { name: 'unreachable' }
  if (!(error instanceof Problem)) throw error
  return {
    name: toName(error),
    detail: error.message,
    ...(error.requestId === undefined ? {} : { requestId: error.requestId }),
  }
}

function toName({ status, items }: Problem): StopReason['name'] {
  // The session is not where this page was: it has ended, or went on in another tab.
  if (status === 401 || items.some(({ cause }) => cause === 'invalid_state')) return 'expired'
  if (status === 429) return 'busy'
  return status >= 500 ? 'failed' : 'bad_request'
}
