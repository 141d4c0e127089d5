/**
 * The detour over a provider's own sign-in page, for providers with OAuth2. It ends at `{widget_url}/callback`, which
 * completes nothing by itself: the page with the session's secret does. Top-level that is this tab; from a frame the
 * provider's page opens in a tab of its own, which hands code and state back to the frame and closes.
 */
import { isFramed } from './embedding.ts'

export interface ProviderAnswer {
  code: string
  state: string
}

const type = 'assay-provider-answer'

export function openProviderPage(url: string): void {
  if (isFramed()) window.open(url, '_blank')
  else location.assign(url)
}

/** On the callback page. */
export function readProviderAnswer(): ProviderAnswer | undefined {
  const query = new URLSearchParams(location.search)
  const [code, state] = [query.get('code') ?? query.get('error'), query.get('state')]
  return code === null || state === null ? undefined : { code, state }
}

/** True when another window of ours took it. */
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
    const data = event.data as Partial<ProviderAnswer> & { type?: unknown }
    if (data.type === type && typeof data.code === 'string' && typeof data.state === 'string') {
      handle({ code: data.code, state: data.state })
    }
  }
  addEventListener('message', hear)
  return () => removeEventListener('message', hear)
}
