/** Before anything is connected, and when a connection failed. */
import { html, type Html } from '../html.ts'
import { layout } from './layout.ts'

export interface Welcome {
  notice: string | undefined
  /** There are sample accounts to look at. */
  hasSample: boolean
}

export function welcomePage({ notice, hasSample }: Welcome): string {
  return layout({
    title: 'Northwind',
    body: html`<section class="welcome">
      ${notice !== undefined && html`<p class="notice" role="status">${notice}</p>`}
      <h1>Everything you own, on one page</h1>
      <p class="lead">Connect your exchanges and wallets. Northwind can read them, but can never move anything.</p>
      ${connectButton('Connect your accounts')}
      <p class="ways">
        You can also connect <button type="button" data-open="popup">in a window</button> or
        <button type="button" data-open="iframe">on this page</button>.
      </p>
      ${hasSample && sample}
    </section>`,
  })
}

const sample = html`<form class="sample" method="post" action="/sample">
  <button class="button quiet-button">Look around with sample accounts</button>
</form>`

/** A link, so that it works without a script. */
export function connectButton(text: string): Html {
  return html`<p class="connect"><a class="button" href="/connect">${text}</a></p>`
}
