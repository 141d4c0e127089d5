/**
 * Deposits and withdrawals. The ledger says what changed. The funding lists add hash, address and network, and show
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
  // A deposit with an output, or a withdrawal with an input, is neither.
  const backwards = kind === 'deposit' ? legs.outputs : legs.inputs
  if (backwards.length > 0) return toUnknownDraft(rows, legs)
  const status = statusOf(kind, legs, record)
  return toDraft(rows, legs, kinds[kind], {
    status,
    // Its ledger row has reduced the running balance, even while it is on hold.
    ...(status === 'pending' ? { isDebited: true } : {}),
    ...detailsOf(kind, rows[0].asset.kind === 'crypto', record),
  })
}

/**
 * A record without a ledger row. If it succeeded, we wait for its row, which is on the next page or in the next run:
 * otherwise the amount would count twice if Kraken ever filed the row under another reference.
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
  // The ledger debited the amount and credited it again.
  if (legs.inputs.length === 0 && legs.outputs.length === 0) return 'failed'
  // A deposit in the ledger is in the balance, whatever the other list says. A withdrawal leaves the balance when it is
  // requested, and a failed one stays pending until the amount is credited again.
  if (kind === 'deposit' || record === undefined) return 'confirmed'
  return record.status === 'success' ? 'confirmed' : 'pending'
}

type Details = Pick<TransactionDraft, 'network' | 'hash' | 'fromAddress' | 'toAddress' | 'description' | 'incomplete'>

function detailsOf(kind: FundingKind, onChain: boolean, record: FundingRecord | undefined): Details {
  const description = record?.method ?? null
  // Bank transfers have no hash and no network, so nothing is missing. Kraken's `txid` is then a bank reference.
  if (!onChain) return { network: null, hash: null, fromAddress: null, toAddress: null, description, incomplete: [] }
  const network = record?.network ?? null
  const hash = record?.txid ?? null
  const toAddress = record?.address ?? null
  // Several originators cannot be one sender. Kraken does not report from which of its addresses a withdrawal was sent.
  const [originator, ...others] = record?.originators ?? []
  const fromAddress = kind === 'deposit' && others.length === 0 ? (originator ?? null) : null
  const members = { network, hash, to_address: toAddress, from_address: fromAddress }
  const incomplete = Object.entries(members).flatMap(([name, value]) => (value === null ? [name] : []))
  return { network, hash, fromAddress, toAddress, description, incomplete }
}
