/** Holdings as a ring and a ranked list with share bars, over all accounts: by asset or by where they are. */
import type { AssetPosition } from '@assay/sdk'
import { toAmount, toDecimal, toDollars, toScaled, toShare } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'
import { toAddress, type View } from '../view.ts'
import { chip } from './value-chart.ts'

interface Holding {
  symbol: string
  name: string | null
  /** Null where several assets are one row. */
  quantity: string | null
  value: bigint | undefined
}

const rowsMax = 40
/** Slices that can still be told apart; the rest is one. */
const slicesMax = 6

export function holdings(
  assets: readonly AssetPosition[],
  names: ReadonlyMap<string, string>,
  view: View,
  reading: boolean,
): Html {
  const listed = assets.filter(({ spam }) => !spam)
  const ranked = (view.by === 'asset' ? rankByAsset(listed) : rankBySource(listed, names)).toSorted((a, b) =>
    (a.value ?? -1n) < (b.value ?? -1n) ? 1 : -1,
  )
  return html`<section class="panel" id="holdings" aria-labelledby="holdings-title">
    <div class="head">
      <h2 id="holdings-title">Holdings</h2>
      <nav class="chips" aria-label="Holdings by">
        ${chip('Assets', toAddress(view, { by: 'asset' }, 'holdings'), view.by === 'asset')}
        ${chip('Accounts', toAddress(view, { by: 'source' }, 'holdings'), view.by === 'source')}
      </nav>
    </div>
    ${ranked.length === 0 ? nothing(reading) : html`${ring(ranked)}${list(ranked)}`}
  </section>`
}

function nothing(reading: boolean): Html {
  return html`<p class="empty">${reading ? 'Reading your balances …' : 'No assets in the connected accounts.'}</p>`
}

const wholeOf = (ranked: readonly Holding[]): bigint => ranked.reduce((sum, { value }) => sum + (value ?? 0n), 0n)

/** Circumference 1000, so that a slice's length is its share in thousandths. */
function ring(ranked: readonly Holding[]): Html {
  const whole = wholeOf(ranked)
  if (whole <= 0n) return html``
  const shares = ranked.map(({ value }) => Math.round(1000 * toShare(value ?? 0n, whole)))
  const slices = [...shares.slice(0, slicesMax), shares.slice(slicesMax).reduce((sum, share) => sum + share, 0)]
  let begin = 0
  const circles = slices.map((share, index) => {
    const offset = 250 - begin
    begin += share
    return html`<circle
      class="slice slice-${index}"
      r="159.155"
      cx="210"
      cy="210"
      stroke-dasharray="${share} ${1000 - share}"
      stroke-dashoffset="${offset}"
    />`
  })
  return html`<svg class="ring" viewBox="0 0 420 420" aria-hidden="true">${circles}</svg>`
}

function list(ranked: readonly Holding[]): Html {
  const whole = wholeOf(ranked)
  const rows = ranked.slice(0, rowsMax).map(
    ({ symbol, name, quantity, value }, index) =>
      html`<tr>
        <th scope="row">
          <span class="dot slice-${Math.min(index, slicesMax)}" aria-hidden="true"></span
          ><span class="symbol">${symbol}</span><span class="quiet name">${name}</span>
        </th>
        <td class="share">
          <meter min="0" max="1" value="${value === undefined ? 0 : toShare(value, whole)}">${symbol}</meter>
        </td>
        <td class="number">
          <span class="money"
            >${value === undefined ? html`<span class="quiet">no price</span>` : toDollars(value)}</span
          >
          ${quantity !== null && html`<span class="quiet small">${toAmount(quantity)}</span>`}
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

function rankByAsset(assets: readonly AssetPosition[]): Holding[] {
  return [...Map.groupBy(assets, ({ asset_id }) => asset_id).values()].map((rows): Holding => ({
    symbol: rows[0]?.asset_symbol ?? '',
    name: rows[0]?.asset_name ?? null,
    quantity: toDecimal(rows.reduce((sum, { exact }) => sum + toScaled(exact.total_holdings), 0n)),
    value: valueOf(rows),
  }))
}

function rankBySource(assets: readonly AssetPosition[], names: ReadonlyMap<string, string>): Holding[] {
  return [...Map.groupBy(assets, ({ connection_id }) => connection_id)].map(([id, rows]): Holding => ({
    symbol: names.get(id) ?? rows[0]?.provider_id ?? '',
    name: `${rows.length} ${rows.length === 1 ? 'asset' : 'assets'}`,
    quantity: null,
    value: valueOf(rows),
  }))
}

function valueOf(rows: readonly AssetPosition[]): bigint | undefined {
  const priced = rows.flatMap(({ value_in_usd }) => (value_in_usd === null ? [] : [toScaled(value_in_usd)]))
  return priced.length === 0 ? undefined : priced.reduce((sum, value) => sum + value, 0n)
}
