/** Transactions as a table grouped by day: a sign for the kind, signed amounts, the counter-value in quiet ink. */
import type { ConnectedProvider, CurrencyValue, Page, Transaction } from '@assay/sdk'
import { toAmount, toDollars, toScaled } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'
import { kinds, toAddress, type View } from '../view.ts'
import { layout } from './layout.ts'
import { chip } from './value-chart.ts'

const signs: Readonly<Record<string, { sign: string; word: string }>> = {
  receive: { sign: '↓', word: 'Received' },
  input_only: { sign: '↓', word: 'Earned' },
  send: { sign: '↑', word: 'Sent' },
  output_only: { sign: '↑', word: 'Paid' },
  input_and_output: { sign: '⇄', word: 'Swapped' },
}

export function transactions(
  page: Page<Transaction>,
  connections: readonly ConnectedProvider[],
  view: View,
  reading: boolean,
): Html {
  const rows = page.data.length === 0 ? nothing(view, reading) : table(page, connections)
  return html`<section class="panel" id="transactions" aria-labelledby="transactions-title">
    <div class="head">
      <h2 id="transactions-title">Transactions</h2>
      <nav class="chips" aria-label="Kind">
        ${chip('All', toAddress(view, { kind: undefined }, 'transactions'), view.kind === undefined)}
        ${kinds.map(({ name, words }) => chip(words, toAddress(view, { kind: name }, 'transactions'), name === view.kind))}
      </nav>
    </div>
    ${rows}
  </section>`
}

function nothing(view: View, reading: boolean): Html {
  const words = view.kind === undefined ? 'No transactions yet.' : 'No transactions of this kind.'
  return html`<p class="empty">${reading ? 'Reading your history …' : words}</p>`
}

function table(page: Page<Transaction>, connections: readonly ConnectedProvider[]): Html {
  return html`<table class="transactions">
    <thead class="visually-hidden">
      <tr>
        <th>Kind</th>
        <th>Account</th>
        <th>Amount and value</th>
      </tr>
    </thead>
    ${transactionRows(page, connections)}
  </table>`
}

export function olderPage(page: Page<Transaction>, connections: readonly ConnectedProvider[]): string {
  return layout({
    title: 'Older transactions · Northwind',
    body: html`<p><a class="plain" href="/">Back to your portfolio</a></p>
      <section class="panel">${table(page, connections)}</section>`,
  })
}

/** Days with their rows, and at their end where more can be had: a link, which the script follows by itself. */
function transactionRows(page: Page<Transaction>, connections: readonly ConnectedProvider[]): Html {
  const names = new Map(connections.map(({ connection_id, name }) => [connection_id, name]))
  const days = [...Map.groupBy(page.data, ({ timestamp }) => timestamp.slice(0, 10))]
  return html`${days.map(([day, rows]) => dayOf(day, rows, names))}${
    page.next !== undefined &&
    html`<tbody class="more">
      <tr>
        <td colspan="3">
          <a class="button quiet-button" href="/transactions?cursor=${encodeURIComponent(page.next)}">Older</a>
        </td>
      </tr>
    </tbody>`
  }`
}

function dayOf(day: string, rows: readonly Transaction[], names: ReadonlyMap<string, string>): Html {
  return html`<tbody data-day="${day}">
    <tr class="day">
      <th colspan="3" scope="rowgroup"><time datetime="${day}">${toDay(day)}</time></th>
    </tr>
    ${rows.map((row) => rowOf(row, names))}
  </tbody>`
}

function rowOf(transaction: Transaction, names: ReadonlyMap<string, string>): Html {
  const { type, status, categorization, provider_id, connection_id, inputs, outputs, spam } = transaction
  const { sign, word } = signs[type] ?? { sign: '·', word: 'Other' }
  const value = [...inputs, ...outputs].find(({ value_in_usd }) => value_in_usd !== null)?.value_in_usd ?? null
  const marks = [
    categorization.category.replaceAll('_', ' '),
    ...(status === 'confirmed' ? [] : [status]),
    ...(spam ? ['likely spam'] : []),
  ]
  return html`<tr>
    <td>
      <span class="sign" aria-hidden="true">${sign}</span> ${word} <span class="quiet">${marks.join(' · ')}</span>
      ${feeOf(transaction)}
    </td>
    <td class="quiet">${names.get(connection_id) ?? provider_id}</td>
    <td class="number">
      ${inputs.map((leg) => legOf(leg, '+'))}${outputs.map((leg) => legOf(leg, '−'))}
      ${value !== null && html`<span class="quiet small">${toDollars(toScaled(value))}</span>`}
    </td>
  </tr>`
}

function feeOf({ fees }: Transaction): Html {
  if (fees.items.length === 0) return html``
  const amounts = fees.items.map(({ amount, asset_symbol }) => `${toAmount(amount)} ${asset_symbol}`).join(', ')
  const value = fees.total_in_usd === null ? '' : ` (${toDollars(toScaled(fees.total_in_usd))})`
  return html`<details class="fee small quiet">
    <summary>Fee</summary>
    ${amounts}${value}
  </details>`
}

function legOf({ amount, asset_symbol }: CurrencyValue, sign: '+' | '−'): Html {
  return html`<span class="leg ${sign === '+' ? 'in' : 'out'}"
    >${sign}${toAmount(amount)} <span class="symbol">${asset_symbol}</span></span
  >`
}

function toDay(day: string): string {
  return new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))
}
