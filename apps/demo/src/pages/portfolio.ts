/** The page after connecting: total, holdings, connections, latest transactions. */
import { toDollars, toScaled } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'
import type { Asset, Connection, Page, Transaction } from '../service.ts'
import { connectionList, repairStrip } from './connections.ts'
import { holdings } from './holdings.ts'
import { layout } from './layout.ts'
import { transactions } from './transactions.ts'
import { connectButton } from './welcome.ts'

export interface Portfolio {
  connections: readonly Connection[]
  assets: readonly Asset[]
  transactions: Page<Transaction>
  notice: string | undefined
}

export function portfolioPage({ connections, assets, transactions: page, notice }: Portfolio): string {
  const names = new Map(connections.map(({ provider_id, name }) => [provider_id, name]))
  const reading = connections.some(({ status }) => status === 'syncing' || status === 'pending')
  return layout({
    title: 'Your portfolio · Northwind',
    live: reading,
    actions: html`<form method="post" action="/sign-out"><button class="plain">Disconnect everything</button></form>`,
    body: html`${notice !== undefined && html`<p class="notice" role="status">${notice}</p>`}
      ${repairStrip(connections)} ${total(assets, reading)}
      <div class="grid">
        <section class="panel" aria-labelledby="holdings">
          <h2 id="holdings">Holdings</h2>
          ${holdings(assets, reading)}
        </section>
        <section class="panel" aria-labelledby="accounts">
          <h2 id="accounts">Accounts</h2>
          ${connectionList(connections)}${connectButton('Connect another')}
        </section>
      </div>
      <section class="panel" aria-labelledby="transactions">
        <h2 id="transactions">Transactions</h2>
        ${transactions(page, names, reading)}
      </section>`,
  })
}

function total(assets: readonly Asset[], reading: boolean): Html {
  const priced = assets.filter(({ value_in_usd }) => value_in_usd !== null)
  const sum = priced.reduce((whole, { value_in_usd }) => whole + toScaled(value_in_usd ?? '0'), 0n)
  const unpriced = assets.length - priced.length
  const remarks = [
    ...(unpriced > 0
      ? [`${unpriced} ${unpriced === 1 ? 'asset without a price is' : 'assets without a price are'} not counted`]
      : []),
    ...(reading ? ['your history is still being read'] : []),
  ]
  return html`<section class="total">
    <h1><span class="quiet">Total</span> <span class="sum">${toDollars(sum)}</span></h1>
    <p class="quiet">${remarks.join(' · ')}</p>
  </section>`
}
