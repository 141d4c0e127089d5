/**
 * The addresses of icons of accounts and assets in the service. They need no token, so the browser fetches them itself.
 */
import { html, type Html } from './html.ts'

export interface Icons {
  asset(assetId: string): Html
  provider(providerId: string): Html
}

export function createIcons(baseUrl: string): Icons {
  const origin = baseUrl.replace(/\/+$/, '')
  const toImage = (kind: 'assets' | 'providers', id: string): Html => {
    const address = `${origin}/icons/${kind}/${encodeURIComponent(id)}.svg`
    // The name stands beside it, so screen readers skip the picture.
    return html`<img class="icon" src="${address}" alt="" width="32" height="32" loading="lazy" />`
  }
  return { asset: (id) => toImage('assets', id), provider: (id) => toImage('providers', id) }
}
