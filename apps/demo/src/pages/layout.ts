/** What the Northwind pages share: the frame, placeholders, aligned amounts, and the two pages for errors. */
import { html, type Html } from '../html.ts'

export interface PageParts {
  title: string
  body: Html
  /** The header's right side. */
  actions?: Html
  /** Reloads automatically while data is being read. */
  live?: boolean
}

export function layout({ title, body, actions, live = false }: PageParts): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
<link rel="stylesheet" href="/lists.css">
<link rel="stylesheet" href="/transactions.css">
<link rel="stylesheet" href="/charts.css">
<script type="module" src="/page.mjs"></script>
</head>
<body${live && html` data-live`}>
<header class="top"><a class="brand" href="/"><img src="/icon.svg" alt="" width="24" height="24">Northwind</a>${actions}</header>
<main>${body}</main>
</body>
</html>
`.html
}

/** The placeholder for a part that is still being read, as large as its content so that nothing jumps. */
export function skeletonRows(words: string, count: number): Html {
  return html`<div class="skeleton" role="status">
    <p class="quiet small">${words}</p>
    ${Array.from({ length: count }, () => html`<div class="bone" aria-hidden="true"><i></i><i></i><i></i></div>`)}
  </div>`
}

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
      <h1>Page not found</h1>
      <p class="lead">The address may be old or misspelled.</p>
      <a class="button" href="/">Go to your portfolio</a>
    </section>`,
  })
}

/** Longer amounts are rare, and may be broken into two lines on a small screen. */
const lengthMax = 14

/** It does not break, and does not vanish when no digits come before it. */
const firmSpace = '\u00a0'

/**
 * An amount in two parts, so that a column of amounts lines up at the decimal point. `symbol` follows the last digit
 * and does not move the point.
 */
export function figure(amount: string, { sign = '', symbol = '' } = {}): Html {
  const [whole = '', fraction = ''] = amount.split('.')
  const digits = fraction === '' ? '' : `.${fraction}`
  const code = symbol === '' ? '' : html`${firmSpace}<span class="symbol">${symbol}</span>`
  const kind = amount.length > lengthMax ? 'figure long' : 'figure'
  return html`<span class="${kind}">${sign}${whole}<span class="rest-of">${digits}${code}</span></span>`
}
