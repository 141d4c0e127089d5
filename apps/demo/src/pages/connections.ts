/** The connected accounts, and the strip for one that needs its owner. */
import type { ConnectedProvider } from '@assay/sdk'
import { html, type Html } from '../html.ts'

const words: Readonly<Record<string, string>> = {
  pending: 'being checked',
  syncing: 'reading history',
  active: 'up to date',
  degraded: 'partly up to date',
  needs_reauth: 'needs a new key',
}

export function connectionList(connections: readonly ConnectedProvider[]): Html {
  if (connections.length === 0) return html`<p class="empty">No account is connected.</p>`
  return html`<ul class="connections">
    ${connections.map(
      ({ connection_id, name, display_label, status, status_message, transaction_count }) =>
        html`<li>
          <div>
            <strong>${name}</strong>${display_label !== null && html` <span class="quiet">${display_label}</span>`}
            <p class="quiet">${words[status] ?? status} · ${transaction_count} transactions</p>
            ${status === 'degraded' && html`<p class="quiet small">${status_message}</p>`}
          </div>
          <form method="post" action="/disconnect">
            <input type="hidden" name="connection_id" value="${connection_id}" />
            <button class="plain" aria-label="Disconnect ${name}">Disconnect</button>
          </form>
        </li>`,
    )}
  </ul>`
}

export function repairStrip(connections: readonly ConnectedProvider[]): Html {
  const broken = connections.filter(({ status }) => status === 'needs_reauth')
  return html`${broken.map(
    ({ connection_id, name, status_message }) =>
      html`<div class="strip" role="status">
        <p><strong>${name}</strong> ${status_message ?? 'needs a new key.'}</p>
        <a class="button" href="/connect?connection_id=${encodeURIComponent(connection_id)}">Repair</a>
      </div>`,
  )}`
}
