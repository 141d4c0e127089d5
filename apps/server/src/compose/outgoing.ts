/**
 * The `fetch` for every call to a host that we do not trust: providers, and receivers of webhooks. Before its answer a
 * host may send any number of interim responses (RFC 9110 §15.2), and Node handles each of them without a limit: a host
 * that sends nothing else would keep the process busy until the call runs out of time. After a few the call is ended.
 *
 * Node's `fetch` does not show interim responses to its caller. Its diagnostics channels do, for all calls of the process.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'

/** Honest hosts send one: 103 with early hints. */
const interimMax = 10

interface Call {
  end: AbortController
  interim: number
}

const begun = new AsyncLocalStorage<Call>()
const calls = new WeakMap<object, Call>()

subscribe('undici:request:create', (message) => {
  const call = begun.getStore()
  if (call !== undefined) calls.set((message as { request: object }).request, call)
})

subscribe('undici:request:headers', (message) => {
  const { request, response } = message as { request: object; response: { statusCode: number } }
  if (response.statusCode >= 200) return
  const call = calls.get(request)
  if (call === undefined) return
  call.interim += 1
  if (call.interim > interimMax) call.end.abort(new TypeError('fetch failed', { cause: new TooManyInterim() }))
})

class TooManyInterim extends Error {
  readonly code = 'INTERIM_RESPONSES'

  constructor() {
    super(`more than ${interimMax} interim responses`)
  }
}

export const fetchUntrusted: typeof globalThis.fetch = (input, init) => {
  const end = new AbortController()
  const signals = [init?.signal, end.signal].filter((signal) => signal !== undefined && signal !== null)
  return begun.run({ end, interim: 0 }, () => fetch(input, { ...init, signal: AbortSignal.any(signals) }))
}
