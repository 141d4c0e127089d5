/** Drafts of migrations and of forced conversions. isMigration in families.ts says which rows these are. */
import { absolute, isNegative, isPositive, isZero, type TransactionDraft } from '@assay/core'
import { labelOf, toDraft, toLeglessDraft } from './draft.ts'
import { netLegs } from './legs.ts'
import { toMoveDraft } from './moves.ts'
import type { LedgerRow } from '../records.ts'
import { hasSuccessor, migrationKey } from './families.ts'

type Rows = readonly [LedgerRow, ...LedgerRow[]]

interface Keyed {
  draft: TransactionDraft
  /** The ledger id of its first row, which distinguishes drafts with the same reference. */
  id: string
}

/** Rows of one group, oldest first. A reference that has both halves needs no partner. */
export function toMigrationDrafts(rows: readonly LedgerRow[], toLoneDraft: (rows: Rows) => TransactionDraft): Keyed[] {
  const byReference = Map.groupBy(rows, (row) => (row.refid === '' ? row.id : row.refid))
  const whole: Keyed[] = []
  const halves: LedgerRow[] = []
  for (const [first, ...rest] of byReference.values()) {
    if (first === undefined) continue
    const group: Rows = [first, ...rest]
    const isWhole = group.some((row) => isNegative(row.amount)) && group.some((row) => isPositive(row.amount))
    if (isWhole) whole.push({ draft: toWholeDraft(group), id: first.id })
    else halves.push(...group)
  }
  return [...whole, ...pairHalves(halves, toLoneDraft)]
}

function toWholeDraft(rows: Rows): TransactionDraft {
  const legs = netLegs(rows, 'conversion')
  if (legs.inputs.length === 0 || legs.outputs.length === 0) return toMoveDraft(rows)
  return toDraft(rows, legs, { type: 'input_and_output', category: 'convert' }, { description: labelOf(rows[0]) })
}

function pairHalves(halves: readonly LedgerRow[], toLoneDraft: (rows: Rows) => TransactionDraft): Keyed[] {
  const arrivals = new Set(halves.filter((row) => isPositive(row.amount)))
  const drafts: Keyed[] = []
  const alone: LedgerRow[] = halves.filter((row) => isZero(row.amount))
  for (const departure of halves) {
    if (!isNegative(departure.amount)) continue
    const arrival = findArrival(departure, arrivals)
    if (arrival === undefined) {
      alone.push(departure)
      continue
    }
    arrivals.delete(arrival)
    drafts.push({ draft: toPairDraft([departure, arrival]), id: departure.id })
  }
  const lone = [...alone, ...arrivals]
  return [...drafts, ...lone.map((row) => ({ draft: toHalfDraft(row, toLoneDraft), id: row.id }))]
}

/** Both are in the order of time, so the search ends behind the nearest: a story may have tens of thousands of them. */
function findArrival(departure: LedgerRow, arrivals: Iterable<LedgerRow>): LedgerRow | undefined {
  const [key, amount] = [migrationKey(departure), absolute(departure.amount)]
  let nearest: LedgerRow | undefined
  let leastMs = Infinity
  for (const arrival of arrivals) {
    if (arrival.timeMs - departure.timeMs >= leastMs) break
    const gapMs = Math.abs(arrival.timeMs - departure.timeMs)
    if (gapMs >= leastMs || arrival.asset.assetId === departure.asset.assetId || arrival.amount !== amount) continue
    if (migrationKey(arrival) === key) [nearest, leastMs] = [arrival, gapMs]
  }
  return nearest
}

function toPairDraft(rows: readonly [LedgerRow, LedgerRow]): TransactionDraft {
  const [departure] = rows
  // Without a known successor, an equal amount may be a coincidence.
  const confidence = hasSuccessor(departure) ? 0.9 : 0.7
  const guess = { method: 'rule', confidence, description: labelOf(departure) } as const
  return toDraft(rows, netLegs(rows, 'conversion'), { type: 'input_and_output', category: 'convert' }, guess)
}

/** A single half: Kraken says that it was a conversion, but the other side has another amount and reference. */
function toHalfDraft(row: LedgerRow, toLoneDraft: (rows: Rows) => TransactionDraft): TransactionDraft {
  if (row.subtype !== 'delistingconversion') return toLoneDraft([row])
  const legs = netLegs([row], 'conversion')
  const [incoming, outgoing] = [legs.inputs.length > 0, legs.outputs.length > 0]
  if (!incoming && !outgoing) return toLeglessDraft([row], legs)
  const kind = incoming ? (outgoing ? 'input_and_output' : 'input_only') : 'output_only'
  return toDraft(
    [row],
    legs,
    { type: kind, category: 'convert' },
    { description: labelOf(row), incomplete: [isPositive(row.amount) ? 'outputs' : 'inputs'] },
  )
}
