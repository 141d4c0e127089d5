/**
 * The detour over a provider's own sign-in page, for providers with OAuth2. It ends at `{widget_url}/callback`, which
 * completes nothing by itself: the page with the session's secret does. Top-level that is this tab; from a frame, the
 * provider's page opens in a new tab, which passes code and state to the frame and closes.
 */
import type { ProviderAnswer } from '../api/session-api.ts'
import { isFramed } from './embedding.ts'

const type = 'assay-provider-answer'

export function openProviderPage(url: string): void {
  if (isFramed()) window.open(url, '_blank')
  else location.assign(url)
}

/** Reads the answer on the callback page. */
export function readProviderAnswer(): ProviderAnswer | undefined {
  const query = new URLSearchParams(location.search)
  const [code, error, state] = [query.get('code'), query.get('error'), query.get('state')]
  if (state === null) return undefined
  if (code !== null) return { state, code }
  return error === null ? undefined : { state, error }
}

/** True when another window of ours received it. */
export function handToOpener(answer: ProviderAnswer): boolean {
  const opener: unknown = window.opener
  if (opener === null || opener === undefined) return false
  ;(opener as Window).postMessage({ type, ...answer }, location.origin)
  window.close()
  return true
}

export function onProviderAnswer(handle: (answer: ProviderAnswer) => void): () => void {
  const hear = (event: MessageEvent<unknown>): void => {
    if (event.origin !== location.origin || typeof event.data !== 'object' || event.data === null) return
    const { type: kind, state, code, error } = event.data as Record<string, unknown>
    if (kind !== type || typeof state !== 'string') return
    if (typeof code === 'string') handle({ state, code })
    else if (typeof error === 'string') handle({ state, error })
  }
  addEventListener('message', hear)
  return () => removeEventListener('message', hear)
}
