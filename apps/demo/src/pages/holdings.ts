/** Holdings as a ring and a ranked list with share bars, over all accounts: by asset or by account. */
import type { AssetPosition } from '@assay/sdk'
import { toAmount, toDecimal, toDollars, toScaled, toShortAmount, toThousandths, toValue } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'
import type { Icons } from '../icons.ts'
import { toAddress, type View } from '../view.ts'
import { figure, skeletonRows } from './layout.ts'
import { chip } from './value-chart.ts'

interface Holding {
  icon: Html
  symbol: string
  name: string | null
  /** Null where several assets are one row. */
  quantity: string | null
  /** How many digits of the fraction are shown; undefined for as many as a person reads. */
  digits: number | undefined
  value: bigint | undefined
}

/** The rest is folded. */
const rowsShown = 10
/** Slices that can still be distinguished; the rest is one slice. */
const slicesMax = 6

export interface HoldingsPart {
  assets: readonly AssetPosition[]
  /** The names of the accounts, by connection. */
  names: ReadonlyMap<string, string>
  icons: Icons
  view: View
  reading: boolean
}

export function holdings(part: HoldingsPart): Html {
  const { view } = part
  const listed = part.assets.filter(({ spam }) => !spam)
  const ranked = (view.by === 'asset' ? rankByAsset(listed, part) : rankBySource(listed, part)).toSorted((a, b) =>
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
    ${ranked.length === 0 ? nothing(part.reading) : html`${ring(ranked)}${list(ranked)}`}
  </section>`
}

function nothing(reading: boolean): Html {
  if (reading) return skeletonRows('Reading your balances', 5)
  return html`<p class="empty">Your accounts hold nothing yet. What arrives there appears here.</p>`
}

const wholeOf = (ranked: readonly Holding[]): bigint => ranked.reduce((sum, { value }) => sum + (value ?? 0n), 0n)

const sharesOf = (ranked: readonly Holding[]): number[] => toThousandths(ranked.map(({ value }) => value ?? 0n))

/** Circumference 1000, so that a slice's length is its share in thousandths. */
function ring(ranked: readonly Holding[]): Html {
  const shares = sharesOf(ranked)
  if (shares.every((share) => share === 0)) return html``
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
  const shares = sharesOf(ranked)
  const rows = ranked.map((holding, index) => rowOf(holding, index, shares[index] ?? 0))
  const folded = ranked.slice(rowsShown)
  const words = `${folded.length} more, ${toDollars(wholeOf(folded))}`
  return html`${table(rows.slice(0, rowsShown))}
  ${
    folded.length > 0 &&
    html`<details class="rest">
      <summary>${words}</summary>
      ${table(rows.slice(rowsShown))}
    </details>`
  }`
}

function table(rows: readonly Html[]): Html {
  return html`<table class="holdings">
    <thead class="visually-hidden">
      <tr>
        <th>Name</th>
        <th>Share</th>
        <th>Value and quantity</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`
}

function rowOf({ icon, symbol, name, quantity, digits, value }: Holding, index: number, share: number): Html {
  return html`<tr>
    <th scope="row">
      <span class="named"
        >${icon}<span><span class="symbol">${symbol}</span><span class="quiet name">${name}</span></span></span
      >
    </th>
    <td class="share">
      <span class="bar" aria-hidden="true">${shareBar(share, Math.min(index, slicesMax))}</span>
      <span class="quiet small">${toShareWords(share, value ?? 0n)}</span>
    </td>
    <td class="number">
      <span class="money">${value === undefined ? html`<span class="quiet">no price</span>` : toValue(value)}</span>
      ${quantity !== null && html`<span class="quiet small" title="${toAmount(quantity)}">${figure(toShortAmount(quantity, digits))}</span>`}
    </td>
  </tr>`
}

/** In thousandths. Drawn as SVG, because the page's content security policy forbids inline styles. */
function shareBar(share: number, slice: number): Html {
  return html`<svg viewBox="0 0 100 8" preserveAspectRatio="none">
    <rect class="fill-${slice}" width="${Math.max(0.5, share / 10)}" height="8" />
  </svg>`
}

function toShareWords(share: number, value: bigint): string {
  if (share === 0) return value > 0n ? 'under 0.1%' : ''
  return new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 }).format(share / 1_000)
}

function rankByAsset(assets: readonly AssetPosition[], { icons }: HoldingsPart): Holding[] {
  return [...Map.groupBy(assets, ({ asset_id }) => asset_id)].map(([assetId, rows]): Holding => ({
    icon: icons.asset(assetId),
    symbol: rows[0]?.asset_symbol ?? '',
    name: rows[0]?.asset_name ?? null,
    quantity: toDecimal(rows.reduce((sum, { exact }) => sum + toScaled(exact.total_holdings), 0n)),
    digits: assetId.startsWith('fiat:') ? 2 : undefined,
    value: valueOf(rows),
  }))
}

function rankBySource(assets: readonly AssetPosition[], { icons, names }: HoldingsPart): Holding[] {
  return [...Map.groupBy(assets, ({ connection_id }) => connection_id)].map(([id, rows]): Holding => ({
    icon: icons.provider(rows[0]?.provider_id ?? ''),
    symbol: names.get(id) ?? rows[0]?.provider_id ?? '',
    name: `${rows.length} ${rows.length === 1 ? 'asset' : 'assets'}`,
    quantity: null,
    digits: undefined,
    value: valueOf(rows),
  }))
}

function valueOf(rows: readonly AssetPosition[]): bigint | undefined {
  const priced = rows.flatMap(({ value_in_usd }) => (value_in_usd === null ? [] : [toScaled(value_in_usd)]))
  return priced.length === 0 ? undefined : priced.reduce((sum, value) => sum + value, 0n)
}
