/**
 * Deposits and withdrawals. The ledger says what changed; the funding lists add hash, address and network, and tell of
 * deposits that are still on their way. The two are joined by reference.
 */
import { isZero, type Leg, type TransactionDraft, type TransactionStatus } from '@assay/core'
import { toDraft, toUnknownDraft } from './draft.ts'
import { netLegs, type Legs } from './legs.ts'
import type { FundingRecord, LedgerRow } from '../records.ts'

type FundingKind = 'deposit' | 'withdrawal'

const kinds = {
  deposit: { type: 'receive', category: 'deposit' },
  withdrawal: { type: 'send', category: 'withdrawal' },
} as const

export function toFundingDraft(
  kind: FundingKind,
  rows: readonly [LedgerRow, ...LedgerRow[]],
  record: FundingRecord | undefined,
): TransactionDraft {
  const legs = netLegs(rows, kind)
  // A deposit that takes, or a withdrawal that gives, is neither.
  const backwards = kind === 'deposit' ? legs.outputs : legs.inputs
  if (backwards.length > 0) return toUnknownDraft(rows, legs)
  const status = statusOf(kind, legs, record)
  return toDraft(rows, legs, kinds[kind], {
    status,
    // Its row is in the ledger, whose running balance went down with it: also while it is on hold.
    ...(status === 'pending' ? { isDebited: true } : {}),
    ...detailsOf(kind, rows[0].asset.kind === 'crypto', record),
  })
}

/**
 * A record that has no ledger row (yet). One that succeeded tells nothing: its row is on the next page or in the next
 * run, and without the row the amount would be counted twice if Kraken ever filed it under another reference.
 */
export function findAnnouncedDraft(kind: FundingKind, record: FundingRecord): TransactionDraft | undefined {
  if (record.status === 'success') return undefined
  const failed = record.status === 'failure'
  const leg: Leg = { assetId: record.asset.assetId, symbol: record.asset.symbol, amount: record.amount }
  const legs = failed || isZero(record.amount) ? [] : [leg]
  return {
    naturalKey: `${kind}:${record.refid}`,
    ...kinds[kind],
    method: 'venue',
    confidence: 1,
    status: failed ? 'failed' : 'pending',
    occurredAtMs: record.timeMs,
    inputs: kind === 'deposit' ? legs : [],
    outputs: kind === 'withdrawal' ? legs : [],
    fees: failed || isZero(record.fee) ? [] : [{ ...leg, amount: record.fee, kind }],
    spam: false,
    providerReference: record.refid,
    ...detailsOf(kind, record.asset.kind === 'crypto', record),
  }
}

function statusOf(kind: FundingKind, legs: Legs, record: FundingRecord | undefined): TransactionStatus {
  // The ledger took the money and gave it back.
  if (legs.inputs.length === 0 && legs.outputs.length === 0) return 'failed'
  // A deposit in the ledger is in the balance, whatever the other list still says. A withdrawal leaves the balance
  // when it is asked for, and one that failed is not over before its money is back.
  if (kind === 'deposit' || record === undefined) return 'confirmed'
  return record.status === 'success' ? 'confirmed' : 'pending'
}

type Details = Pick<TransactionDraft, 'network' | 'hash' | 'fromAddress' | 'toAddress' | 'description' | 'incomplete'>

function detailsOf(kind: FundingKind, onChain: boolean, record: FundingRecord | undefined): Details {
  const description = record?.method ?? null
  // Money by bank has no hash and no network, so nothing is missing there. Kraken's `txid` is then a bank's reference.
  if (!onChain) return { network: null, hash: null, fromAddress: null, toAddress: null, description, incomplete: [] }
  const network = record?.network ?? null
  const hash = record?.txid ?? null
  const toAddress = record?.address ?? null
  // Several originators cannot be one sender; Kraken does not report which of its own addresses a withdrawal left.
  const [originator, ...others] = record?.originators ?? []
  const fromAddress = kind === 'deposit' && others.length === 0 ? (originator ?? null) : null
  const members = { network, hash, to_address: toAddress, from_address: fromAddress }
  const incomplete = Object.entries(members).flatMap(([name, value]) => (value === null ? [name] : []))
  return { network, hash, fromAddress, toAddress, description, incomplete }
}
