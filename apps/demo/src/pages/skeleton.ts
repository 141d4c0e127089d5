/** The placeholder for a part that is still being read, as large as its content so that nothing jumps. */
import { html, type Html } from '../html.ts'

export function skeletonRows(words: string, count: number): Html {
  return html`<div class="skeleton" role="status">
    <p class="quiet small">${words}</p>
    ${Array.from({ length: count }, () => html`<div class="bone" aria-hidden="true"><i></i><i></i><i></i></div>`)}
  </div>`
}
