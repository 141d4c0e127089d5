/**
 * What the exchange changes after the fact: it withdraws an entry that it has shown, corrects one, or ends the review
 * of a withdrawal that was on hold. Each makes another world; where a balance would become negative, it throws instead.
 */
import { createTimeline, ticksPerSecond } from '../core/timeline.ts'
import { toFixedText, toUnits } from '../core/units.ts'
import { getAsset } from './assets.ts'
import { bookReturn, newDraft } from './bookings.ts'
import { settle, toTicks, type World } from './history.ts'
import type { FundingRow, HoldEnd, LedgerRow, Reference } from './rows.ts'

export interface EntryChange {
  type?: string
  subtype?: string
  code?: string
  amount?: string
  fee?: string
  atTicks?: number
}

/**
 * The entries disappear from every list. The deposit, withdrawal or trade behind one goes with it once the ledger holds
 * no other entry of that reference.
 */
export function withoutEntries(world: World, numbers: ReadonlySet<number>): World {
  for (const number of numbers) {
    if (world.ledger.find(number) === undefined) throw new RangeError(`no entry has the number ${number}`)
  }
  const rest = world.ledger.rows.filter((row) => !numbers.has(row.number))
  const left = new Set(rest.map((row) => nameOf(row.reference)))
  const gone = new Set(world.ledger.rows.map((row) => nameOf(row.reference)).filter((name) => !left.has(name)))
  const isLeft = (row: { reference: Reference }): boolean => !gone.has(nameOf(row.reference))
  return {
    ...withLedger(world, rest),
    deposits: createTimeline(world.deposits.rows.filter(isLeft)),
    withdrawals: createTimeline(world.withdrawals.rows.filter(isLeft)),
    trades: createTimeline(world.trades.rows.filter(({ number }) => !gone.has(nameOf({ letter: 'T', number })))),
  }
}

/** The deposit or withdrawal behind the entry shows the new amount and fee too. */
export function withCorrection(world: World, number: number, change: EntryChange): World {
  const wrong = world.ledger.find(number)
  if (wrong === undefined) throw new RangeError(`no entry has the number ${number}`)
  const { decimals } = getAsset(change.code ?? wrong.code)
  const amount = toUnits(change.amount ?? wrong.amount, decimals)
  const fee = toUnits(change.fee ?? wrong.fee, decimals)
  const right: LedgerRow = {
    ...wrong,
    ...(change.type !== undefined && { type: change.type }),
    ...(change.subtype !== undefined && { subtype: change.subtype }),
    ...(change.code !== undefined && { code: change.code }),
    ...(change.atTicks !== undefined && { atTicks: change.atTicks }),
    amount: toFixedText(amount, decimals),
    fee: toFixedText(fee, decimals),
    change: amount - fee,
  }
  const shown = { code: right.code, amount: right.amount.replace('-', ''), fee: right.fee.replace('-', '') }
  const follow = (row: FundingRow): FundingRow =>
    isSame(row.reference, wrong.reference) ? { ...row, atTicks: right.atTicks, event: { ...row.event, ...shown } } : row
  const inOrder = (rows: readonly FundingRow[]): FundingRow[] =>
    rows.map(follow).sort((a, b) => a.atTicks - b.atTicks || a.number - b.number)
  return {
    ...withLedger(
      world,
      world.ledger.rows.map((row) => (row === wrong ? right : row)),
    ),
    deposits: createTimeline(inOrder(world.deposits.rows)),
    withdrawals: createTimeline(inOrder(world.withdrawals.rows)),
  }
}

/** Withdrawals under review whose time has come by now are sent or booked back. The same world when there are none. */
export function withHoldsEnded(world: World, nowMs: number): World {
  const nowTicks = (nowMs / 1000) * ticksPerSecond
  let after = world
  for (const row of world.withdrawals.rows) {
    const { hold } = row.event
    if (hold === undefined || row.holdEnded !== undefined) continue
    const endTicks = toTicks(hold.until)
    if (endTicks <= nowTicks) after = withHoldEnded(after, row.number, hold.ends, endTicks)
  }
  return after
}

export function withHoldEnded(world: World, number: number, ends: HoldEnd, atTicks: number): World {
  const held = world.withdrawals.find(number)
  if (held?.event.hold === undefined || held.holdEnded !== undefined) {
    throw new RangeError(`no withdrawal of the number ${number} is on hold`)
  }
  const draft = newDraft(world.next)
  if (ends === 'return') bookReturn(draft, held, atTicks)
  const withdrawals = world.withdrawals.rows.map((row) => (row === held ? { ...row, holdEnded: ends } : row))
  return {
    ...withLedger(world, [...world.ledger.rows, ...draft.ledger]),
    withdrawals: createTimeline(withdrawals),
    next: draft.next,
  }
}

function withLedger(world: World, entries: (LedgerRow | Omit<LedgerRow, 'balance'>)[]): World {
  const { rows, balances } = settle(entries)
  // A code that was held once stays in the balances, at zero.
  const emptied = [...world.balances.keys()].map((code) => [code, 0n] as const)
  return { ...world, ledger: createTimeline(rows), balances: new Map([...emptied, ...balances]) }
}

function isSame(a: Reference, b: Reference): boolean {
  return nameOf(a) === nameOf(b)
}

function nameOf({ letter, number }: Reference): string {
  return `${letter}${number}`
}
