/** The page after connecting: total, value over time, holdings, accounts, transactions. */
import type { AssetHistoryPoint, AssetPosition, ConnectedProvider, Page, Transaction } from '@assay/sdk'
import { toDollars, toPercent, toScaled } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'
import type { Icons } from '../icons.ts'
import { ranges, type View } from '../view.ts'
import { connectionList, strips, type Differences } from './connections.ts'
import { holdings } from './holdings.ts'
import { layout } from './layout.ts'
import { transactions } from './transactions.ts'
import { changeOf, toDay, valueChart } from './value-chart.ts'
import { connectButton } from './welcome.ts'

export interface Portfolio {
  view: View
  connections: readonly ConnectedProvider[]
  assets: readonly AssetPosition[]
  values: readonly AssetHistoryPoint[]
  transactions: Page<Transaction>
  differences: Differences
  icons: Icons
  /** The user's own page, where the consent can be ended. */
  manageUrl: string
  notice: string | undefined
}

export function portfolioPage(portfolio: Portfolio): string {
  const { view, connections, assets, values, transactions: rows, differences, icons, manageUrl, notice } = portfolio
  const names = new Map(connections.map((one) => [one.connection_id, one.display_label ?? one.name]))
  const reading = connections.some(({ status }) => status === 'syncing' || status === 'pending')
  const proving = connections.some(({ status, proof }) => status === 'active' && proof === null)
  return layout({
    title: 'Your portfolio · Northwind',
    live: reading || proving,
    actions: html`<nav class="actions">
      <a class="plain" href="/coverage">What we have read</a>
      <a class="plain" href="${manageUrl}">Manage access</a>
      <form method="post" action="/sign-out"><button class="plain">Sign out</button></form>
    </nav>`,
    body: html`${notice !== undefined && html`<p class="notice" role="status">${notice}</p>`} ${strips(connections)}
      ${total(assets, values, view, reading)} ${valueChart(values, view, reading)}
      <div class="grid">
        ${holdings({ assets, names, icons, view, reading })}
        <section class="panel" aria-labelledby="accounts">
          <h2 id="accounts">Accounts</h2>
          ${connectionList(connections, icons, differences)}${connectButton('Connect another')}
        </section>
      </div>
      ${transactions({ page: rows, connections, icons, view, reading })}`,
  })
}

/** The sum is unknown until the first balances are read, and "$0.00" would be wrong. */
const noSumYet = html`<span class="sum bone"><i></i><span class="visually-hidden">not read yet</span></span>`

function total(
  assets: readonly AssetPosition[],
  values: readonly AssetHistoryPoint[],
  view: View,
  reading: boolean,
): Html {
  const counted = assets.filter(({ spam }) => !spam)
  const priced = counted.filter(({ value_in_usd }) => value_in_usd !== null)
  const sum = priced.reduce((whole, { value_in_usd }) => whole + toScaled(value_in_usd ?? '0'), 0n)
  const unpriced = counted.length - priced.length
  const remarks = [
    ...(unpriced > 0
      ? [`${unpriced} ${unpriced === 1 ? 'asset without a price is' : 'assets without a price are'} not counted`]
      : []),
    ...(reading ? ['your history is still being read'] : []),
  ]
  return html`<section class="total">
    <h1>
      <span class="quiet">Total value</span>
      ${reading && assets.length === 0 ? noSumYet : html`<span class="sum">${toDollars(sum)}</span>`}
    </h1>
    ${reading ? null : change(values, view)}
    <p class="quiet">${remarks.join(' · ')}</p>
  </section>`
}

function change(values: readonly AssetHistoryPoint[], { days }: View): Html | null {
  const [first] = values
  const difference = changeOf(values)
  if (first === undefined || difference === undefined) return null
  const words = ranges.find((range) => range.days === days)?.words ?? `${days} days`
  // The days before the first record have no value. A day more or less is due to when today begins.
  const isWhole = values.length >= days - 1
  const percent = toPercent(difference, toScaled(first.value_in_usd))
  return html`<p class="${difference < 0n ? 'fell' : 'rose'} figures">
    ${difference < 0n ? '' : '+'}${toDollars(difference)} ${percent !== undefined && html`(${percent})`}
    <span class="quiet">${isWhole ? `in ${words}` : `since ${toDay(first.date)}`}</span>
  </p>`
}
