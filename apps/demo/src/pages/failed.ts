/** Shown when the service does not answer or the address is wrong, with one next step. */
import { html } from '../html.ts'
import { layout } from './layout.ts'

export function failedPage(): string {
  return layout({
    title: 'Try again in a minute · Northwind',
    body: html`<section class="welcome">
      <h1>Your accounts cannot be read at the moment</h1>
      <p class="lead">Nothing is lost, and you are still connected. Try again in a minute.</p>
      <a class="button" href="/">Try again</a>
    </section>`,
  })
}

export function missingPage(): string {
  return layout({
    title: 'No such page · Northwind',
    body: html`<section class="welcome">
      <h1>There is no such page</h1>
      <p class="lead">The address may be old or misspelled.</p>
      <a class="button" href="/">Go to your portfolio</a>
    </section>`,
  })
}
