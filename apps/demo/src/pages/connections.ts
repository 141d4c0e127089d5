/** The connected accounts, and the strips for those that need their owner or show old data. */
import type { ConnectedProvider, AssetProof } from '@assay/sdk'
import { html, type Html } from '../html.ts'
import type { Icons } from '../icons.ts'
import { toAmount } from '../decimal-text.ts'

const words: Readonly<Record<string, string>> = {
  pending: 'being checked',
  syncing: 'reading your history',
  active: 'up to date',
  degraded: 'not up to date',
  needs_reauth: 'needs a new key',
}

export function connectionList(connections: readonly ConnectedProvider[], icons: Icons, found: Differences): Html {
  if (connections.length === 0) return html`<p class="empty">No account is connected.</p>`
  return html`<ul class="connections">
    ${connections.map((connection) => accountOf(connection, icons, found))}
  </ul>`
}

function accountOf(connection: ConnectedProvider, icons: Icons, found: Differences): Html {
  const { connection_id, provider_id, name, display_label, status } = connection
  return html`<li>
    ${icons.provider(provider_id)}
    <div class="about">
      <div class="line">
        <p><strong>${name}</strong>${display_label !== null && html` <span class="quiet">${display_label}</span>`}</p>
        <form method="post" action="/disconnect">
          <input type="hidden" name="connection_id" value="${connection_id}" />
          <button class="plain" aria-label="Disconnect ${name}">Disconnect</button>
        </form>
      </div>
      <p class="quiet small">${words[status] ?? status} · ${toCounts(connection)}</p>
      ${proofLine(connection, found)}
    </div>
  </li>`
}

/**
 * Transactions are made when a list was read to its end. In a long history that takes minutes, in which only the count
 * of the provider's own entries moves. How many will come is not known, so the page shows what was read and no share.
 */
function toCounts({ status, transaction_count, record_count, history_from }: ConnectedProvider): string {
  const transactions = toCount(transaction_count, 'transaction', 'transactions')
  if (status !== 'syncing' || record_count === 0) return transactions
  const since = history_from === null ? '' : ` since ${toMonth(history_from)}`
  return `${toCount(record_count, 'entry', 'entries')} read so far · ${transactions}${since}`
}

const toCount = (count: number, one: string, other: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : other}`

export function strips(connections: readonly ConnectedProvider[]): Html {
  return html`${connections.map((connection) => {
    if (connection.status === 'needs_reauth') return repairStrip(connection)
    return connection.status === 'degraded' ? staleStrip(connection) : html``
  })}`
}

function repairStrip({ connection_id, name, status_message }: ConnectedProvider): Html {
  return html`<div class="strip" role="status">
    <p>${toSentence(name, status_message ?? 'needs a new key.')}</p>
    <a class="button" href="/connect?connection_id=${encodeURIComponent(connection_id)}">Repair</a>
  </div>`
}

function staleStrip({ name, last_synced_at: readAt, status_message }: ConnectedProvider): Html {
  const since = readAt === null ? '' : ` You see what it held on ${toMoment(readAt)}.`
  return html`<div class="strip" role="status">
    <p>${toSentence(name, status_message ?? 'cannot be read at the moment.')}${since}</p>
  </div>`
}

/** Most messages of the service name the provider, and some speak of the key alone. */
function toSentence(name: string, message: string): Html {
  return message.includes(name) ? html`${message}` : html`<strong>${name}</strong> ${message}`
}

function toMoment(time: string): string {
  const format = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  return `${format.format(new Date(time))} UTC`
}

// Whether an account adds up, in a sentence that a person understands.

/** The worst thing that does not add up, by connection. */
export type Differences = ReadonlyMap<string, AssetProof>

function proofLine(connection: ConnectedProvider, found: Differences): Html {
  const { connection_id: id, name, proof, status, transaction_count: count } = connection
  // There is nothing to compare while the history is being read, and none in an empty account.
  if (status === 'pending' || status === 'syncing' || count === 0) return html``
  if (proof === null) return html`<p class="proof quiet small">Still checking whether everything adds up</p>`
  if (proof.grade === 'proved') {
    const since = proof.proved_since === null ? '' : ` since ${toMonth(proof.proved_since)}`
    return html`<p class="proof rose small"><span aria-hidden="true">✓ </span>Everything adds up${since}</p>`
  }
  if (proof.grade === 'unprovable') {
    return html`<p class="proof quiet small">
      We cannot check the balances yet, because ${name} does not give its whole history.
    </p>`
  }
  return html`<p class="proof small ${proof.grade === 'open' ? 'caution' : 'quiet'}">
    ${toDifference(found.get(id)) ?? 'Everything adds up, with differences that are explained.'}
  </p>`
}

function toDifference(row: AssetProof | undefined): string | undefined {
  const [first] = row?.causes ?? []
  if (row === undefined || first === undefined) return undefined
  const amount = `${toAmount(first.amount).replace('−', '')} ${row.asset_symbol}`
  if (first.cause === 'unexplained') return `${amount} since ${toMonth(first.start_time)} cannot be explained.`
  const isExact = /^-?0(\.0+)?$/.test(first.amount)
  return isExact ? `Everything adds up. ${first.message}` : `${amount} differs. ${first.message}`
}

function toMonth(time: string): string {
  return new Intl.DateTimeFormat('en', { year: 'numeric', month: 'long', timeZone: 'UTC' }).format(new Date(time))
}
