/** Transactions as a table grouped by day: a sign for the kind, signed amounts, the counter-value in quiet ink. */
import { toAmount, toDollars, toScaled } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'
import type { Leg, Page, Transaction } from '../service.ts'

const signs: Readonly<Record<string, { sign: string; word: string }>> = {
  receive: { sign: '↓', word: 'Received' },
  input_only: { sign: '↓', word: 'Earned' },
  send: { sign: '↑', word: 'Sent' },
  output_only: { sign: '↑', word: 'Paid' },
  input_and_output: { sign: '⇄', word: 'Swapped' },
}

export function transactions(page: Page<Transaction>, names: ReadonlyMap<string, string>, reading: boolean): Html {
  if (page.data.length === 0) {
    return html`<p class="empty">${reading ? 'Reading your history …' : 'No transactions yet.'}</p>`
  }
  const days = [...Map.groupBy(page.data, ({ timestamp }) => timestamp.slice(0, 10))]
  const cursor = page.page.next === '' ? null : new URLSearchParams(page.page.next.split('?')[1]).get('cursor')
  return html`<table class="transactions">
      <thead class="visually-hidden">
        <tr>
          <th>Kind</th>
          <th>Account</th>
          <th>Amount and value</th>
        </tr>
      </thead>
      ${days.map(([day, rows]) => dayOf(day, rows, names))}
    </table>
    ${cursor !== null && html`<p><a class="button quiet-button" href="/?cursor=${encodeURIComponent(cursor)}#transactions">Older</a></p>`}`
}

function dayOf(day: string, rows: readonly Transaction[], names: ReadonlyMap<string, string>): Html {
  return html`<tbody>
    <tr class="day">
      <th colspan="3" scope="rowgroup"><time datetime="${day}">${toDay(day)}</time></th>
    </tr>
    ${rows.map((row) => rowOf(row, names))}
  </tbody>`
}

function rowOf(
  { type, categorization, provider_id, inputs, outputs, fees }: Transaction,
  names: ReadonlyMap<string, string>,
): Html {
  const { sign, word } = signs[type] ?? { sign: '·', word: 'Other' }
  const value = [...inputs, ...outputs].find(({ value_in_usd }) => value_in_usd !== null)?.value_in_usd ?? null
  const fee = fees.items.map(({ amount, asset_symbol }) => `${toAmount(amount)} ${asset_symbol}`).join(', ')
  return html`<tr${fee !== '' && html` title="Fee ${fee}"`}>
<td><span class="sign" aria-hidden="true">${sign}</span> ${word} <span class="quiet">${categorization.category.replaceAll('_', ' ')}</span></td>
<td class="quiet">${names.get(provider_id) ?? provider_id}</td>
<td class="number">${inputs.map((leg) => legOf(leg, '+'))}${outputs.map((leg) => legOf(leg, '−'))}${value !== null && html`<span class="quiet small">${toDollars(toScaled(value))}</span>`}</td></tr>`
}

function legOf({ amount, asset_symbol }: Leg, sign: '+' | '−'): Html {
  return html`<span class="leg ${sign === '+' ? 'in' : 'out'}"
    >${sign}${toAmount(amount)} <span class="symbol">${asset_symbol}</span></span
  >`
}

function toDay(day: string): string {
  return new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))
}
