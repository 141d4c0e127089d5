/** Runs one action at a time and handles its errors: a notice at the top of the screen, or the end of the flow. */
import { useCallback, useState } from 'preact/hooks'
import { Problem, Unreachable } from '../api/http.ts'
import { toStopReason, type StopReason } from './stop-reason.ts'
import { forgetSecret } from './storage.ts'

export type Notice = 'unreachable' | 'busy' | null

export interface Running {
  busy: boolean
  /** The service could not be reached, or asked to wait; the screen stays. */
  notice: Notice
  stopped: StopReason | null
  run: (work: () => Promise<void>) => void
  stop: (reason: StopReason) => void
  handleError: (error: unknown) => void
}

export function useRun(): Running {
  const [busy, setBusy] = useState(false)
  const [notice, setNotice] = useState<Notice>(null)
  const [stopped, setStopped] = useState<StopReason | null>(null)

  const handleError = useCallback((error: unknown): void => {
    if (error instanceof Unreachable) return setNotice('unreachable')
    if (!(error instanceof Problem)) throw error
    if (error.status === 429) return setNotice('busy')
    if (error.status === 401) forgetSecret()
    setStopped(toStopReason(error))
  }, [])
  const run = useCallback(
    (work: () => Promise<void>): void => {
      setBusy(true)
      setNotice(null)
      void work()
        .catch(handleError)
        .finally(() => setBusy(false))
    },
    [handleError],
  )
  return { busy, notice, stopped, run, stop: setStopped, handleError }
}
