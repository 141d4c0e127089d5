/**
 * Turns a group of Coinbase rows into transactions. families.ts decides which rows belong together. Pure: the order of
 * the records does not matter, and the same records always give the same drafts.
 */
import {
  add,
  compare,
  isNegative,
  isPositive,
  zero,
  type Category,
  type Decimal,
  type TransactionDraft,
} from '@assay/core'
import type { AccountFacts, StoredRecord } from '../../kit/connector.ts'
import { toDraft, toHalfDraft, toLegs, withCommission, withIncludedFee, type Entries, type Entry } from './draft.ts'
import { familyOf, isEcho, moveKey, pairingMaxMs, swapKey } from './families.ts'
import { parseTransaction } from '../records.ts'
import { toSingleDraft } from './singles.ts'
import { readState } from '../state.ts'

export function toTransactions(
  records: readonly StoredRecord[],
  { state }: Pick<AccountFacts, 'state'>,
): TransactionDraft[] {
  const { staked } = readState(state)
  const entries = records
    .map(({ body, partition }) => toEntry(body, partition, staked))
    .toSorted((a, b) => a.timeMs - b.timeMs || (a.id < b.id ? -1 : 1))
  const of = (family: string): Entry[] => entries.filter((entry) => familyOf(entry) === family)
  return [
    ...groups(of('fill'), ({ fill }) => fill?.orderId ?? '').flatMap(toFillDrafts),
    ...groups(of('deal'), ({ dealId }) => dealId ?? '').map(toDealDraft),
    ...groups(of('swap'), swapKey).map(toSwapDraft),
    ...groups(of('move'), moveKey).flatMap(toMoveDrafts),
    ...withoutEchoes(of('send')).map(toSingleDraft),
    ...of('single').map(toSingleDraft),
  ]
}

function toEntry(body: string, partition: string, staked: ReadonlySet<string>): Entry & { partition: string } {
  const transaction = parseTransaction(body)
  const { type, amount } = transaction
  const isStaked =
    staked.has(partition) ||
    transaction.isStakedCode ||
    (type === 'staking_transfer' && isPositive(amount)) ||
    (type === 'unstaking_transfer' && isNegative(amount))
  return { ...transaction, partition, place: isStaked ? 'staked' : 'liquid' }
}

function groups(entries: readonly Entry[], keyOf: (entry: Entry) => string): Entries[] {
  return [...Map.groupBy(entries, keyOf).values()].flatMap(([first, ...rest]) =>
    first === undefined ? [] : [[first, ...rest] as const],
  )
}

/** Coinbase books both rows of a fill in the same second. We allow a few seconds. */
const fillSpanMs = 5_000

/** One transaction for the fills of an order at one time, because an order may fill over weeks. */
function toFillDrafts(rows: Entries): TransactionDraft[] {
  const clusters: [Entry, ...Entry[]][] = []
  for (const row of rows) {
    const open = clusters.at(-1)
    if (open === undefined || row.timeMs - open[0].timeMs > fillSpanMs) clusters.push([row])
    else open.push(row)
  }
  return clusters.map(toFillDraft)
}

function toFillDraft(rows: Entries): TransactionDraft {
  const [{ fill, timeMs }] = rows
  const orderId = fill?.orderId ?? ''
  const special = { naturalKey: `order:${orderId}@${timeMs}`, providerReference: orderId }
  const quoteRows = rows.filter(({ code, fill: own }) => code === own?.quoteCode)
  const baseRows = rows.filter((row) => !quoteRows.includes(row))
  const [quote] = quoteRows
  if (quote === undefined || baseRows.length === 0) return toHalfDraft(rows, 'trade', special)
  const legs = withCommission(toLegs(rows), commissionOf(baseRows, quoteRows), quote)
  return toDraft(rows, legs, { type: 'input_and_output', category: 'trade' }, special)
}

/** One row of a fill or both may carry the commission. It is charged once. */
function commissionOf(baseRows: readonly Entry[], quoteRows: readonly Entry[]): Decimal {
  const total = (rows: readonly Entry[]): Decimal =>
    rows.reduce((sum, { fill }) => add(sum, fill?.commission ?? zero), zero)
  const [base, quote] = [total(baseRows), total(quoteRows)]
  return compare(base, zero) === 0 ? quote : base
}

function toDealDraft(rows: Entries): TransactionDraft {
  const [{ type, dealId, dealFee, paymentMethod }] = rows
  const special = { naturalKey: `deal:${dealId ?? ''}`, providerReference: dealId ?? null }
  const category: Category = type === 'buy' || type === 'sell' ? type : 'convert'
  const legs = toLegs(rows)
  const [isIn, isOut] = [legs.inputs.length > 0, legs.outputs.length > 0]
  if (isIn && isOut) {
    const withFee = withIncludedFee(legs, dealFee, 'conversion')
    return toDraft(rows, withFee, { type: 'input_and_output', category }, special)
  }
  // Paid from or to a card or bank account: that money was never in a Coinbase wallet.
  if (type === 'buy' && isIn)
    return toDraft(rows, legs, { type: 'input_only', category }, { ...special, description: paymentMethod })
  if (type === 'sell' && isOut)
    return toDraft(rows, legs, { type: 'output_only', category }, { ...special, description: paymentMethod })
  return toHalfDraft(rows, category, special)
}

function toSwapDraft(rows: Entries): TransactionDraft {
  const special = { naturalKey: swapKey(rows[0]) }
  const legs = toLegs(rows)
  if (legs.inputs.length === 0 || legs.outputs.length === 0) return toHalfDraft(rows, 'convert', special)
  return toDraft(
    rows,
    legs,
    { type: 'input_and_output', category: 'convert' },
    { ...special, description: rows[0].type },
  )
}

/** Pairs the halves of moves of the same amount and asset: each departure with the nearest arrival. */
function toMoveDrafts(rows: Entries): TransactionDraft[] {
  const arrivals = new Set(rows.filter(({ amount }) => isPositive(amount)))
  const pairs = rows
    .filter(({ amount }) => !isPositive(amount))
    .map((departure): Entries => {
      const arrival = findNearest(departure, arrivals)
      if (arrival === undefined) return [departure]
      arrivals.delete(arrival)
      return departure.timeMs <= arrival.timeMs ? [departure, arrival] : [arrival, departure]
    })
  const taken = new Map<string, number>()
  return [...pairs, ...[...arrivals].map((arrival): Entries => [arrival])].map((pair) => {
    const key = `${moveKey(pair[0])}@${pair[0].timeMs}`
    const count = (taken.get(key) ?? 0) + 1
    taken.set(key, count)
    return toMoveDraft(pair, count === 1 ? key : `${key}#${count}`)
  })
}

/**
 * `arrivals` are in the order of time. A story may have tens of thousands of equal moves, so they are neither copied nor
 * sorted for each of them.
 */
function findNearest({ timeMs }: Entry, arrivals: Iterable<Entry>): Entry | undefined {
  let nearest: Entry | undefined
  let leastMs = pairingMaxMs + 1
  for (const arrival of arrivals) {
    if (arrival.timeMs - timeMs >= leastMs) break
    const gapMs = Math.abs(arrival.timeMs - timeMs)
    if (gapMs < leastMs) [nearest, leastMs] = [arrival, gapMs]
  }
  return nearest
}

const moveCategories: ReadonlyMap<string, Category> = new Map([
  ['staking_transfer', 'staking_lock'],
  ['unstaking_transfer', 'staking_unlock'],
])

function toMoveDraft(rows: Entries, naturalKey: string): TransactionDraft {
  const category = moveCategories.get(rows[0].type) ?? 'transfer'
  if (rows.length === 1) return toHalfDraft(rows, category, { naturalKey })
  return toDraft(rows, toLegs(rows), { type: 'input_and_output', category }, { naturalKey })
}

/** Drops each echo that repeats a transfer. An echo without such a transfer is the transfer itself. */
function withoutEchoes(rows: readonly Entry[]): Entry[] {
  const sends = rows.filter((row) => !isEcho(row))
  const byContent = Map.groupBy(sends, contentOf)
  const unmatched = new Map([...byContent].map(([content, some]) => [content, new Set(some)]))
  const alone = rows.filter(isEcho).filter((echo) => {
    const alike = unmatched.get(contentOf(echo)) ?? new Set()
    const send = findNearest(echo, alike)
    if (send !== undefined) alike.delete(send)
    return send === undefined
  })
  return [...sends, ...alone]
}

function contentOf({ amount, code, status }: Entry): string {
  return `${amount} ${code} ${status}`
}
