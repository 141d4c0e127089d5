/**
 * Whether an asset of a connection adds up: opening + posted = observed, or the difference, where it appeared and why.
 * Pure. The code never adds an entry to make a sum match.
 */
import {
  absolute,
  add,
  compare,
  isPositive,
  isZero,
  multiply,
  negate,
  parseDecimal,
  subtract,
  sum,
  zero,
  type Decimal,
} from '@assay/core'
import type { Grade } from '../connections/index.ts'
import type { Break, Interval } from './running.ts'

export type { Grade } from '../connections/index.ts'

/** From worst to best. */
export const grades = ['open', 'unprovable', 'explained', 'proved'] as const satisfies readonly Grade[]

/** In the order in which they are tried. */
export const proofCauses = [
  'coverage_hole',
  'pending',
  'unreadable_record',
  'unknown_type',
  'rounding',
  'accrual',
  'provider_correction',
  'unlisted_credit',
  'unexplained',
] as const
export type ProofCause = (typeof proofCauses)[number]

/** These differences come without any record of them, so none is missing. */
export const causesWithoutRecords: readonly ProofCause[] = ['rounding', 'accrual', 'unlisted_credit']

export interface Cause extends Interval {
  cause: ProofCause
  amount: Decimal
}

/** One asset at the moment of an observation. */
export interface Weighed {
  opening: Decimal
  /** Sum of the postings since the opening. */
  posted: Decimal
  observed: Decimal
}

/** What one transaction moved of the asset. */
export interface Moved {
  amount: Decimal
  atMs: number
}

/** What is known of the time in which a difference appeared. */
export interface Circumstances {
  /** Holes of the required lists. */
  holes: readonly Interval[]
  /** Signed amounts of transactions that are not final yet. */
  pending: readonly Moved[]
  /** Where records lie that could not be understood. */
  unreadable: readonly Interval[]
  /** Signed amounts of transactions whose meaning is not known. */
  unknown: readonly Moved[]
  /** Where records lie that the provider withdrew, or no longer shows. */
  corrected: readonly Interval[]
  /** Balances are given in units of this; null when they have every digit. */
  unit: Decimal | null
  /** The amount of the asset that grows before the provider books it. */
  earning: Decimal
  /** True for a token whose balance grows as a whole, without a record. */
  rebases: boolean
  /** True for the coin of a network that credits it without a record: anyone can do that to any wallet. */
  credits: boolean
}

export interface Judgement {
  grade: Grade
  difference: Decimal
  causes: Cause[]
  firstBad: Interval | null
}

/** With more pending transactions than this, only each alone and all together are tried. */
const subsetMax = 10

/** The most that accrues, as a share of the amount that earns it. */
const accruedShareMax = parseDecimal('0.01')

/** Whether this asset needs no further check. `running` is the first break in any of its wallets. */
export function isExact(weighed: Weighed, running: Break | undefined): boolean {
  return isZero(toDifference(weighed)) && running === undefined
}

export function toDifference({ opening, posted, observed }: Weighed): Decimal {
  return subtract(observed, add(opening, posted))
}

/**
 * `where`: the interval between the observations where the difference appeared, for an asset without a running balance
 * that broke.
 */
export function judge(weighed: Weighed, running: Break | undefined, where: Interval, around: Circumstances): Judgement {
  const difference = toDifference(weighed)
  const at = running === undefined ? where : { startMs: running.startMs, endMs: running.endMs }
  if (isExact(weighed, running)) {
    const [hole] = around.holes
    if (hole === undefined) return { grade: 'proved', difference, causes: [], firstBad: null }
    return {
      grade: 'explained',
      difference,
      causes: [{ cause: 'coverage_hole', amount: zero, ...hole }],
      firstBad: null,
    }
  }
  // Records that do not follow from each other are a fault even where two faults cancel each other.
  const amount = isZero(difference) ? (running?.amount ?? zero) : difference
  const found = findCause(amount, at, around)
  const grade = found.cause === 'unexplained' ? 'open' : 'explained'
  // A cause may name a transaction, and that is where to look first. It is still a guess: another fault may have moved
  // the same amount. So the interval in which the difference appeared stays as wide as it is known.
  return { grade, difference, causes: [{ amount, ...found }], firstBad: at }
}

function findCause(amount: Decimal, at: Interval, around: Circumstances): Omit<Cause, 'amount'> {
  const hole = around.holes.find((one) => overlaps(one, at))
  if (hole !== undefined) return { cause: 'coverage_hole', ...hole }
  const pending = findSumOfSome(around.pending, amount)
  if (pending !== undefined) return { cause: 'pending', ...toSpan(pending) }
  // A rebasing token grows whether or not there is such a record, which strangers can send to any wallet at any time.
  const isGrowth = around.rebases && isPositive(amount)
  const unreadable = isGrowth ? undefined : around.unreadable.find((one) => overlaps(one, at))
  if (unreadable !== undefined) return { cause: 'unreadable_record', ...unreadable }
  // A movement of unknown meaning may not have moved anything at all.
  const unknown = around.unknown.find((one) => compare(absolute(one.amount), absolute(amount)) === 0)
  if (unknown !== undefined) return { cause: 'unknown_type', ...toSpan([unknown]) }
  if (around.unit !== null && compare(absolute(amount), around.unit) < 0) return { cause: 'rounding', ...at }
  if (isAccrual(amount, around)) return { cause: 'accrual', ...at }
  const corrected = around.corrected.find((one) => overlaps(one, at))
  if (corrected !== undefined) return { cause: 'provider_correction', ...corrected }
  if (around.credits && isPositive(amount)) return { cause: 'unlisted_credit', ...at }
  return { cause: 'unexplained', ...at }
}

/**
 * Providers book what accrues once a day or once an epoch, and even 100 % a year is a hundredth in four days. More than
 * that is something else, such as a deposit that is missing. A rebasing token is never booked, so its growth has no
 * bound.
 */
function isAccrual(amount: Decimal, { earning, rebases }: Circumstances): boolean {
  return isPositive(amount) && (rebases || compare(amount, multiply(earning, accruedShareMax)) <= 0)
}

function overlaps(a: Interval, b: Interval): boolean {
  return a.startMs < b.endMs && b.startMs < a.endMs
}

function toSpan(moved: readonly Moved[]): Interval {
  const times = moved.map(({ atMs }) => atMs)
  return { startMs: Math.min(...times), endMs: Math.max(...times) + 1 }
}

/** The provider does not say which of the pending movements a balance already contains. */
function findSumOfSome(moved: readonly Moved[], wanted: Decimal): readonly Moved[] | undefined {
  const isWanted = (some: readonly Moved[]): boolean =>
    some.length > 0 && compare(sum(some.map(({ amount }) => amount)), wanted) === 0
  if (moved.length > subsetMax) return [moved, ...moved.map((one) => [one])].find(isWanted)
  let subsets: Moved[][] = [[]]
  for (const one of moved) subsets = [...subsets, ...subsets.map((some) => [...some, one])]
  return subsets.find(isWanted)
}

/** A reading of the balances that can be judged. */
export interface Observation {
  atMs: number
  difference: Decimal
}

/**
 * The interval between two observations in which the difference appeared. `observations` are in the order of time and
 * end with the one that is judged; `beginningMs` is where the history begins.
 */
export function locate(observations: readonly Observation[], beginningMs: number): Interval {
  const lastGood = observations.findLastIndex(({ difference }) => isZero(difference))
  const first = observations[lastGood + 1] ?? observations.at(-1)
  return { startMs: observations[lastGood]?.atMs ?? beginningMs, endMs: (first?.atMs ?? beginningMs) + 1 }
}

/** The worst grade of a connection's assets; undefined when it has none. */
export function worstOf(all: readonly Grade[]): Grade | undefined {
  return grades.find((grade) => all.includes(grade))
}

/**
 * A balance is taken somewhere between our question and the provider's answer, and its records have times of their own:
 * a record of these moments may be in it or not. `near` are the postings around the observation, in the order of time
 * and signed; those before it are in the sum already.
 */
export function fitsNearby(
  difference: Decimal,
  near: { before: readonly Decimal[]; after: readonly Decimal[] },
): boolean {
  let open = difference
  for (const amount of near.before.toReversed()) {
    open = add(open, amount)
    if (isZero(open)) return true
  }
  open = difference
  for (const amount of near.after) {
    open = add(open, negate(amount))
    if (isZero(open)) return true
  }
  return false
}
