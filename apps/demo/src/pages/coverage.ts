/**
 * What was read: one bar for each list of each account over the years. The bar is solid where it was read, open where a
 * hole is, and hatched where the provider itself keeps nothing. The remedy is shown beside it.
 */
import type { ConnectedProvider, StreamCoverage } from '@assay/sdk'
import { html, type Html } from '../html.ts'
import { dayMs } from '../view.ts'
import { layout } from './layout.ts'

export interface ReadConnection {
  connection: ConnectedProvider
  streams: readonly StreamCoverage[]
}

interface Span {
  startMs: number
  endMs: number
  /** The beginning is not known yet: the bar's first part stands for whatever comes before. */
  hasOlder?: boolean
}

const barWidth = 1000
const barHeight = 14

export function coveragePage(connections: readonly ReadConnection[]): string {
  return layout({
    title: 'What we have read · Northwind',
    live: connections.some(({ connection: { status } }) => status === 'syncing'),
    body: html`<p><a class="plain" href="/">Back to your portfolio</a></p>
      <h1>What we have read</h1>
      <p class="quiet legend">
        <span><span class="swatch read"></span> read</span>
        <span><span class="swatch reading"></span> still being read</span>
        <span><span class="swatch hole"></span> missing</span>
        <span><span class="swatch limit"></span> the provider keeps no records</span>
      </p>
      ${connections.length === 0 && html`<p class="empty">No account is connected.</p>`} ${connections.map(account)}`,
  })
}

function account({ connection, streams }: ReadConnection): Html {
  const { name, display_label, history_from, transaction_count, record_count, status } = connection
  const sofar = status === 'syncing' ? `${record_count.toLocaleString('en')} entries read so far · ` : ''
  const since = history_from === null ? '' : `, the first on ${toDay(Date.parse(history_from))}`
  return html`<section class="panel">
    <h2>${name}${display_label !== null && html` <span class="quiet">${display_label}</span>`}</h2>
    <p class="quiet">${sofar}${transaction_count.toLocaleString('en')} transactions${since}</p>
    ${streams.map((stream) => bar(stream, spanOf(streams, history_from)))}
  </section>`
}

/**
 * The years worth drawing: from a little before the first transaction to the end of what was read. While older entries
 * are being read their beginning is not known, so a fifth of the bar stands for them.
 */
function spanOf(streams: readonly StreamCoverage[], historyFrom: string | null): Span {
  const edges = streams.flatMap(({ windows, holes }) => [...windows, ...holes].map(toSpan))
  const endMs = Math.max(...edges.map((edge) => edge.endMs), 0)
  const readFromMs = Math.min(...streams.flatMap(({ windows }) => windows.map((window) => toSpan(window).startMs)))
  if (readFromMs < endMs && streams.some(({ holes }) => holes.some((hole) => isOlder(hole, readFromMs)))) {
    return { startMs: readFromMs - (endMs - readFromMs) / 4, endMs, hasOlder: true }
  }
  const firstMs = historyFrom === null ? endMs - 365 * dayMs : Date.parse(historyFrom)
  return { startMs: firstMs - (endMs - firstMs) * 0.04 - dayMs, endMs }
}

const isReading = ({ cause }: StreamCoverage['holes'][number]): boolean => cause === 'sync_in_progress'
const isOlder = (hole: StreamCoverage['holes'][number], thanMs: number): boolean =>
  isReading(hole) && toSpan(hole).endMs <= thanMs

const toSpan = ({ start_time, end_time }: { start_time: string; end_time: string }): Span => ({
  startMs: Date.parse(start_time),
  endMs: Date.parse(end_time),
})

function bar({ stream, windows, holes, provider_limit, remedy }: StreamCoverage, span: Span): Html {
  const from = span.hasOlder === true ? 'earlier' : toDay(span.startMs)
  const missing = holes.filter((hole) => !isReading(hole)).length
  const words = `${windows.length === 0 ? 'nothing read yet' : 'read'}${missing > 0 ? `, ${missing} missing` : ''}`
  return html`<div class="stream">
    <h3>${stream.replaceAll('_', ' ')}</h3>
    <svg
      viewBox="0 0 ${barWidth} ${barHeight}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${stream}: ${words}, from ${from} to ${toDay(span.endMs)}"
    >
      ${windows.map((window) => piece(toSpan(window), span, 'read'))}
      ${holes.map((hole) => piece(toSpan(hole), span, isReading(hole) ? 'reading' : 'hole'))}
    </svg>
    <p class="axis quiet small"><span>${from}</span><span>${toDay(span.endMs)}</span></p>
    ${holes.map((hole) => html`<p class="small ${isReading(hole) ? 'quiet' : 'fell'}">${hole.message}</p>`)}
    ${provider_limit !== null && html`<p class="small quiet">${provider_limit}</p>`}
    ${remedy !== null && html`<p class="small">${remedy}</p>`}
  </div>`
}

function piece(of: Span, within: Span, kind: 'read' | 'reading' | 'hole'): Html {
  const scale = barWidth / Math.max(1, within.endMs - within.startMs)
  const from = Math.max(0, (of.startMs - within.startMs) * scale)
  const to = Math.min(barWidth, (of.endMs - within.startMs) * scale)
  if (to <= from) return html``
  // A hole of a minute in ten years would be invisible.
  return html`<rect
    class="${kind}"
    x="${Math.round(from)}"
    width="${Math.max(3, Math.round(to - from))}"
    height="${barHeight}"
  />`
}

function toDay(ms: number): string {
  return new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(ms)
}
