/** Before anything is connected, and when a connection did not come about. */
import { html, type Html } from '../html.ts'
import { layout } from './layout.ts'

export function welcomePage(notice: string | undefined): string {
  return layout({
    title: 'Northwind',
    body: html`<section class="welcome">
      ${notice !== undefined && html`<p class="notice" role="status">${notice}</p>`}
      <h1>Everything you own, on one page</h1>
      <p class="lead">Connect your exchanges and wallets. Northwind can look, and nothing else.</p>
      ${connectButton('Connect your accounts')}
    </section>`,
  })
}

/** A link, so that it works without a script; the script may open it in a window or on this page instead. */
export function connectButton(text: string): Html {
  return html`<div class="connect">
    <a class="button" href="/connect">${text}</a>
    <p class="ways">
      or <button type="button" data-open="popup">in a window</button>,
      <button type="button" data-open="iframe">on this page</button>
    </p>
  </div>`
}
