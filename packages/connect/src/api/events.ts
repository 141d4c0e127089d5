/**
 * The session as it changes, streamed by fetch: one JSON document a line. (EventSource cannot send the Authorization
 * header, and the secret must not be in a URL.) The service ends a stream after two minutes; a lost one is opened
 * again.
 */
import { Problem, send } from './http.ts'
import type { ConnectSession, SessionApi } from './session-api.ts'

const reconnectMs = 500
const reconnectMaxMs = 8_000

export function followSession(
  api: SessionApi,
  onSession: (session: ConnectSession) => void,
  onRefused: (problem: Problem) => void,
): () => void {
  const stop = new AbortController()
  void follow(api, onSession, stop.signal).catch((error: unknown) => {
    if (stop.signal.aborted) return
    if (error instanceof Problem) onRefused(error)
    else throw error
  })
  return () => stop.abort()
}

async function follow(
  api: SessionApi,
  onSession: (session: ConnectSession) => void,
  signal: AbortSignal,
): Promise<void> {
  let waitMs = reconnectMs
  while (!signal.aborted) {
    try {
      const response = await send(api.eventsUrl, { secret: api.secret, signal })
      if (response.body !== null) await readLines(response.body, (line) => receive(line, onSession))
      waitMs = reconnectMs
    } catch (error) {
      // 401: the session is over. Anything else passes: a lost line, a restart, a limit.
      if (signal.aborted || (error instanceof Problem && error.status === 401)) throw error
      waitMs = Math.min(waitMs * 2, reconnectMaxMs)
    }
    await pause(waitMs, signal)
  }
}

function receive(line: string, onSession: (session: ConnectSession) => void): void {
  const event = JSON.parse(line) as { type: string; session?: ConnectSession }
  if (event.type === 'session' && event.session !== undefined) onSession(event.session)
}

async function readLines(body: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') onLine(line)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
