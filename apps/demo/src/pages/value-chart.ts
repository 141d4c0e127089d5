/**
 * Value over time as an area. Drawn on the server, so that it is there before any script; the script only says which
 * day the pointer is on. Screen positions are the one place where an amount may become a float.
 */
import type { AssetHistoryPoint } from '@assay/sdk'
import { toDollars, toScaled, toShare } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'
import { ranges, toAddress, type View } from '../view.ts'

const width = 1000
const height = 220
/** Space above the highest and below the lowest point. */
const margin = 12

export function valueChart(values: readonly AssetHistoryPoint[], view: View, reading: boolean): Html {
  return html`<section class="panel value" id="value" aria-labelledby="value-title">
    <div class="head">
      <h2 id="value-title">Value over time</h2>
      <nav class="chips" aria-label="Time">
        ${ranges.map(({ days, words }) => chip(words, toAddress(view, { days }, 'value'), days === view.days))}
      </nav>
    </div>
    ${changeOf(values) === undefined ? nothingYet(reading) : area(values)}
  </section>`
}

export function chip(words: string, address: string, chosen: boolean): Html {
  return html`<a class="chip" href="${address}" ${chosen && html` aria-current="true"`}>${words}</a>`
}

/**
 * The change from the first day to the last, in dollars; undefined with fewer than two days, or when nothing was ever
 * held.
 */
export function changeOf(values: readonly AssetHistoryPoint[]): bigint | undefined {
  const [first] = values
  const last = values.at(-1)
  if (first === undefined || last === undefined || first === last) return undefined
  if (values.every(({ value_in_usd }) => toScaled(value_in_usd) === 0n)) return undefined
  return toScaled(last.value_in_usd) - toScaled(first.value_in_usd)
}

function nothingYet(reading: boolean): Html {
  if (!reading) return html`<p class="empty">The chart begins when your accounts hold something.</p>`
  return html`<div class="skeleton" role="status">
    <p class="quiet small">Reading your history</p>
    <div class="bone tall" aria-hidden="true"><i></i></div>
  </div>`
}

function area(values: readonly AssetHistoryPoint[]): Html {
  const amounts = values.map(({ value_in_usd }) => toScaled(value_in_usd))
  const lowest = amounts.reduce((low, amount) => (amount < low ? amount : low))
  const highest = amounts.reduce((high, amount) => (amount > high ? amount : high))
  const points = amounts.map((amount, index) => {
    const x = Math.round((index / (amounts.length - 1)) * width)
    const rise = highest === lowest ? 0.5 : toShare(amount - lowest, highest - lowest)
    return `${x},${height - margin - Math.round(rise * (height - 2 * margin))}`
  })
  const line = points.join(' L')
  const lacks = (what: 'price' | 'coverage'): boolean => values.some(({ incomplete }) => incomplete.includes(what))
  const days = values.map(({ date }, index) => [toDay(date), toDollars(amounts[index] ?? 0n)])
  const summary = `From ${days[0]?.join(': ')} to ${days.at(-1)?.join(': ')}`
  return html`<figure class="chart" data-days="${JSON.stringify(days)}">
    <svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${summary}">
      <path class="area" d="M0,${height} L${line} L${width},${height} Z" />
      <path class="line" d="M${line}" />
    </svg>
    <p class="axis quiet small"><span>${days[0]?.[0]}</span><output></output><span>${days.at(-1)?.[0]}</span></p>
    <figcaption class="quiet small">
      Between ${toDollars(lowest)} and ${toDollars(highest)}.
      ${lacks('price') && 'On some days the price of an asset you held is not known.'}
      ${lacks('coverage') && 'On some days your transactions do not explain everything you held.'}
    </figcaption>
  </figure>`
}

export function toDay(date: string): string {
  return new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(`${date}T00:00:00Z`))
}
