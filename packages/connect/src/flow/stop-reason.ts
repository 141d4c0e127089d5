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
  const name =
    error.status === 401 ? 'expired' : error.status === 429 ? 'busy' : error.status >= 500 ? 'failed' : 'bad_request'
  return {
    name,
    detail: error.message,
    ...(error.requestId === undefined ? {} : { requestId: error.requestId }),
  }
}
