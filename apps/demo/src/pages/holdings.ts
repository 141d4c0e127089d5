/** Holdings as a ranked list with share bars; one row for each asset, over all accounts. */
import { toAmount, toDollars, toScaled, toShare } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'
import type { Asset } from '../service.ts'

interface Holding {
  symbol: string
  name: string | null
  /** As text where one account holds it all; added up otherwise. */
  quantity: string
  value: bigint | undefined
}

const rowsMax = 40

export function holdings(assets: readonly Asset[], reading: boolean): Html {
  if (assets.length === 0) {
    return html`<p class="empty">${reading ? 'Reading your balances …' : 'No assets in the connected accounts.'}</p>`
  }
  const ranked = rankHoldings(assets)
  const whole = ranked.reduce((sum, { value }) => sum + (value ?? 0n), 0n)
  const rows = ranked.slice(0, rowsMax).map(
    ({ symbol, name, quantity, value }) =>
      html`<tr>
        <th scope="row"><span class="symbol">${symbol}</span><span class="quiet name">${name}</span></th>
        <td class="share">
          <meter min="0" max="1" value="${value === undefined ? 0 : toShare(value, whole)}">${symbol}</meter>
        </td>
        <td class="number">
          <span class="money"
            >${value === undefined ? html`<span class="quiet">no price</span>` : toDollars(value)}</span
          >
          <span class="quiet small">${toAmount(quantity)}</span>
        </td>
      </tr>`,
  )
  return html`<table class="holdings">
    <thead class="visually-hidden">
      <tr>
        <th>Asset</th>
        <th>Share</th>
        <th>Value and quantity</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`
}

function rankHoldings(assets: readonly Asset[]): Holding[] {
  const byAsset = Map.groupBy(assets, ({ asset_id }) => asset_id)
  const list = [...byAsset.values()].map((rows): Holding => {
    const [first] = rows
    const priced = rows.flatMap(({ value_in_usd }) => (value_in_usd === null ? [] : [toScaled(value_in_usd)]))
    return {
      symbol: first?.asset_symbol ?? '',
      name: first?.asset_name ?? null,
      quantity: rows.length === 1 ? (first?.exact.total_holdings ?? '0') : addUp(rows),
      value: priced.length === 0 ? undefined : priced.reduce((sum, value) => sum + value, 0n),
    }
  })
  return list.toSorted((a, b) => ((a.value ?? -1n) < (b.value ?? -1n) ? 1 : -1))
}

function addUp(rows: readonly Asset[]): string {
  const sum = rows.reduce((whole, { exact }) => whole + toScaled(exact.total_holdings), 0n)
  const digits = String(sum).padStart(31, '0')
  const fraction = digits.slice(-30).replace(/0+$/, '')
  return `${digits.slice(0, -30)}${fraction === '' ? '' : `.${fraction}`}`
}
