/** What the webhook receiver got, newest first. */
import { html } from '../html.ts'
import type { ReceivedEvent } from '../webhooks.ts'
import { layout } from './layout.ts'

export function eventsPage(events: readonly ReceivedEvent[]): string {
  return layout({
    title: 'Events · Northwind',
    body: html`<section class="panel">
      <h1>Events</h1>
      <p class="quiet">
        What was posted to <code>/webhooks</code> with a signature that holds, newest first. Anything else is refused.
      </p>
      ${events.length === 0 && html`<p class="empty">Nothing has arrived yet.</p>`}
      ${events.map(
        ({ receivedAt, type, body }) =>
          html`<details>
            <summary>${type} <time class="quiet">${receivedAt}</time></summary>
            <pre tabindex="0">${body}</pre>
          </details>`,
      )}
    </section>`,
  })
}
