/**
 * Moves between the user's own wallets at Kraken. Nothing entered or left the account, so both sides show equal amounts
 * and none of it is income. The Earn products put both halves under one reference. The older staking transfers do not
 * (see linkKeys in families.ts), so their halves are paired by amount and time.
 */
import { isNegative, isPositive, type Category, type TransactionDraft } from '@assay/core'
import { toDraft, toUnknownDraft } from './draft.ts'
import { lockSubtypes, unlockSubtypes } from './families.ts'
import { grossLegs } from './legs.ts'
import type { LedgerRow } from '../records.ts'

// The halves are usually booked seconds apart; the longest gap that others have seen is five days.
const pairingMaxMs = 7 * 24 * 3_600_000

type Rows = readonly [LedgerRow, ...LedgerRow[]]

/** Rows of one reference. */
export function toMoveDraft(rows: Rows, special: Partial<TransactionDraft> = {}): TransactionDraft {
  const legs = grossLegs(rows, 'staking')
  const kind = { type: 'input_and_output', category: categoryOf(rows) } as const
  if (legs.inputs.length > 0 && legs.outputs.length > 0) return toDraft(rows, legs, kind, special)
  return toUnknownDraft(rows, legs, {
    ...special,
    category: kind.category,
    incomplete: [legs.inputs.length > 0 ? 'outputs' : 'inputs'],
  })
}

/** Rows of one `move:` group, oldest first: halves of transfers of the same amount of the same asset. */
export function pairMoves(rows: readonly LedgerRow[]): TransactionDraft[] {
  const drafts: TransactionDraft[] = []
  const arrivals = new Set(rows.filter((row) => isPositive(row.amount)))
  for (const departure of rows) {
    if (isPositive(departure.amount)) continue
    const arrival = isNegative(departure.amount) ? findNearest(departure, arrivals) : undefined
    if (arrival === undefined) {
      drafts.push(toMoveDraft([departure], { naturalKey: `move:${departure.id}` }))
      continue
    }
    arrivals.delete(arrival)
    drafts.push(
      toMoveDraft([departure, arrival], { naturalKey: `move:${departure.id}`, method: 'rule', confidence: 0.9 }),
    )
  }
  for (const arrival of arrivals) drafts.push(toMoveDraft([arrival], { naturalKey: `move:${arrival.id}` }))
  return drafts
}

/** `arrivals` are in the order of time. A story may have tens of thousands of equal moves, so the search ends early. */
function findNearest(departure: LedgerRow, arrivals: Iterable<LedgerRow>): LedgerRow | undefined {
  const isUnlock = unlockSubtypes.has(departure.subtype)
  let nearest: LedgerRow | undefined
  let leastMs = pairingMaxMs + 1
  for (const arrival of arrivals) {
    if (arrival.timeMs - departure.timeMs >= leastMs) break
    const gapMs = Math.abs(arrival.timeMs - departure.timeMs)
    if (gapMs < leastMs && unlockSubtypes.has(arrival.subtype) === isUnlock) [nearest, leastMs] = [arrival, gapMs]
  }
  return nearest
}

/**
 * Decides by the wallets that lost and gained, and by the subtype only where the codes do not distinguish the wallets.
 */
function categoryOf(rows: Rows): Category {
  // An Earn wallet may be moved and converted in one step.
  if (new Set(rows.map((row) => row.asset.assetId)).size > 1) return 'convert'
  const from = rows.find((row) => isNegative(row.amount))?.walletKind
  const to = rows.find((row) => isPositive(row.amount))?.walletKind
  if (to === 'staked' && from !== 'staked') return 'staking_lock'
  if (from === 'staked' && to !== 'staked') return 'staking_unlock'
  // X to X.F and back: the asset can be spent at any time.
  if (from === 'earning' || to === 'earning') return 'transfer'
  if (rows.some((row) => lockSubtypes.has(row.subtype))) return 'staking_lock'
  return rows.some((row) => unlockSubtypes.has(row.subtype)) ? 'staking_unlock' : 'transfer'
}
