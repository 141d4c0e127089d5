/**
 * Transactions as a table grouped by day: an arrow for the kind, amounts with + or −, and the dollar value in a muted
 * colour.
 */
import type { ConnectedProvider, CurrencyValue, Page, Transaction } from '@assay/sdk'
import { toAmount, toScaled, toShortAmount, toValue } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'
import type { Icons } from '../icons.ts'
import { kinds, toAddress, type View } from '../view.ts'
import { figure, layout, skeletonRows } from './layout.ts'
import { chip } from './value-chart.ts'

const signs: Readonly<Record<string, { sign: string; word: string }>> = {
  receive: { sign: '↓', word: 'Received' },
  input_only: { sign: '↓', word: 'Earned' },
  send: { sign: '↑', word: 'Sent' },
  output_only: { sign: '↑', word: 'Paid' },
  input_and_output: { sign: '⇄', word: 'Swapped' },
}

/**
 * One-sided because the provider's records have no other side, such as a purchase with a card; not income or a payment.
 */
const oneSided: Readonly<Record<string, string>> = { 'input_only buy': 'Bought', 'output_only sell': 'Sold' }

export interface TransactionRows {
  page: Page<Transaction>
  connections: readonly ConnectedProvider[]
  icons: Icons
}

export function transactions({ view, reading, ...rows }: TransactionRows & { view: View; reading: boolean }): Html {
  return html`<section class="panel" id="transactions" aria-labelledby="transactions-title">
    <div class="head">
      <h2 id="transactions-title">Transactions</h2>
      <nav class="chips" aria-label="Kind">
        ${chip('All', toAddress(view, { kind: undefined }, 'transactions'), view.kind === undefined)}
        ${kinds.map(({ name, words }) => chip(words, toAddress(view, { kind: name }, 'transactions'), name === view.kind))}
      </nav>
    </div>
    ${rows.page.data.length === 0 ? nothing(view, reading) : table(rows)}
  </section>`
}

function nothing(view: View, reading: boolean): Html {
  if (reading) return skeletonRows('Reading your history', 6)
  if (view.kind === undefined)
    return html`<p class="empty">No transactions yet. New ones appear here by themselves.</p>`
  const all = toAddress(view, { kind: undefined }, 'transactions')
  return html`<p class="empty">No transactions of this kind. <a class="plain" href="${all}">Show all</a></p>`
}

function table(rows: TransactionRows): Html {
  return html`<table class="transactions">
    <thead class="visually-hidden">
      <tr>
        <th>Kind and account</th>
        <th>Amount and value</th>
      </tr>
    </thead>
    ${transactionRows(rows)}
  </table>`
}

export function olderPage(rows: TransactionRows): string {
  return layout({
    title: 'Older transactions · Northwind',
    body: html`<p><a class="plain" href="/">Back to your portfolio</a></p>
      <h1>Older transactions</h1>
      <section class="panel">${table(rows)}</section>`,
  })
}

/** Days with their rows. A link at the end leads to more rows; the script follows it automatically. */
function transactionRows({ page, connections, icons }: TransactionRows): Html {
  const names = new Map(connections.map((one) => [one.connection_id, one.display_label ?? one.name]))
  const days = [...Map.groupBy(page.data, ({ timestamp }) => timestamp.slice(0, 10))]
  return html`${days.map(([day, rows]) => dayOf(day, rows, names, icons))}${
    page.next !== undefined &&
    html`<tbody class="more">
      <tr>
        <td colspan="2">
          <a class="button quiet-button" href="/transactions?cursor=${encodeURIComponent(page.next)}">Show older</a>
        </td>
      </tr>
    </tbody>`
  }`
}

function dayOf(day: string, rows: readonly Transaction[], names: ReadonlyMap<string, string>, icons: Icons): Html {
  return html`<tbody data-day="${day}">
    <tr class="day">
      <th colspan="2" scope="rowgroup"><time datetime="${day}">${toDay(day)}</time></th>
    </tr>
    ${rows.map((row) => rowOf(row, names, icons))}
  </tbody>`
}

function rowOf(transaction: Transaction, names: ReadonlyMap<string, string>, icons: Icons): Html {
  const { type, status, provider_id, connection_id, inputs, outputs, spam } = transaction
  const { sign, word } = signs[type] ?? { sign: '·', word: 'Other' }
  const done = oneSided[`${type} ${transaction.categorization.category}`] ?? word
  const value = [...inputs, ...outputs].find(({ value_in_usd }) => value_in_usd !== null)?.value_in_usd ?? null
  const [shown] = [...inputs, ...outputs]
  const marks = [
    names.get(connection_id) ?? provider_id,
    ...toCategory(transaction),
    ...(status === 'confirmed' ? [] : [status]),
    ...(spam ? ['likely spam'] : []),
  ]
  return html`<tr>
    <td>
      <div class="named">
        <span class="signed"
          >${shown === undefined ? html`<span class="icon"></span>` : icons.asset(shown.asset_id)}<span
            class="sign"
            aria-hidden="true"
            >${sign}</span
          ></span
        >
        <div>
          ${done}
          <div class="facts small quiet">
            <p>${marks.join(' · ')}</p>
            ${feeOf(transaction)}
          </div>
        </div>
      </div>
    </td>
    <td class="number">
      ${inputs.map((leg) => legOf(leg, '+'))}${outputs.map((leg) => legOf(leg, '−'))}
      ${value !== null && html`<span class="quiet small">${toValue(toScaled(value))}</span>`}
    </td>
  </tr>`
}

/** Shown only where it adds to the kind: "Swapped, trade" would be redundant. */
function toCategory({ type, categorization, counterpart }: Transaction): string[] {
  const { category } = categorization
  if (Object.hasOwn(oneSided, `${type} ${category}`)) return []
  if (category === 'transfer' && counterpart !== null) return ['between your accounts']
  if (['trade', 'deposit', 'withdrawal', 'other'].includes(category)) return []
  return [category.replaceAll('_', ' ')]
}

function feeOf({ fees }: Transaction): Html {
  if (fees.items.length === 0) return html``
  const amounts = fees.items.map(({ amount, asset_symbol }) => `${toAmount(amount)} ${asset_symbol}`).join(', ')
  const value = fees.total_in_usd === null ? '' : ` (${toValue(toScaled(fees.total_in_usd))})`
  return html`<details class="fee">
    <summary>Fee</summary>
    ${amounts}${value}
  </details>`
}

function legOf({ amount, asset_symbol }: CurrencyValue, sign: '+' | '−'): Html {
  return html`<span class="leg ${sign === '+' ? 'in' : 'out'}" title="${toAmount(amount)}"
    >${figure(toShortAmount(amount), { sign, symbol: asset_symbol })}</span
  >`
}

function toDay(day: string): string {
  return new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))
}
