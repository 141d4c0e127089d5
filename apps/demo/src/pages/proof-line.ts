/** Whether an account adds up, in a sentence that a person understands. */
import type { AssetProof, ConnectedProvider } from '@assay/sdk'
import { toAmount } from '../decimal-text.ts'
import { html, type Html } from '../html.ts'

/** The worst thing that does not add up, by connection. */
export type Differences = ReadonlyMap<string, AssetProof>

export function proofLine(connection: ConnectedProvider, found: Differences): Html {
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

export function toMonth(time: string): string {
  return new Intl.DateTimeFormat('en', { year: 'numeric', month: 'long', timeZone: 'UTC' }).format(new Date(time))
}
