/** What the webhook receiver got, newest first. */
import { html } from '../html.ts'
import type { ReceivedEvent } from '../webhooks.ts'
import { layout } from './layout.ts'

export function eventsPage(events: readonly ReceivedEvent[]): string {
  return layout({
    title: 'Events · Northwind',
    body: html`<section class="panel events">
      <h1>Events</h1>
      <p class="quiet">
        What was posted to <code>/webhooks</code> with a signature that holds, newest first. Anything else is refused.
      </p>
      ${events.length === 0 && html`<p class="empty">Nothing has arrived yet.</p>`}
      ${events.map(
        ({ receivedAt, type, body }) =>
          html`<details>
            <summary>
              <span>${type}${toChange(body)}</span>
              <time class="quiet" datetime="${receivedAt}">${toMoment(receivedAt)}</time>
            </summary>
            <pre tabindex="0">${body}</pre>
          </details>`,
      )}
    </section>`,
  })
}

/** What changed, where the message says it in a word. The body was verified before it was kept. */
function toChange(body: string): string {
  const { data } = JSON.parse(body) as { data?: { change?: unknown } }
  return typeof data?.change === 'string' ? `: ${data.change}` : ''
}

function toMoment(time: string): string {
  const format = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' })
  return `${format.format(new Date(time))} UTC`
}
