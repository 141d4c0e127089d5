/**
 * Running balances. Some providers' records give the wallet's balance after each of them, so every record can be
 * checked against the one before. Where a record does not follow, one is missing, duplicated or changed. Pure.
 */
import type { RunningBalance } from '@assay/connectors'
import { add, compare, isZero, subtract, zero, type Decimal } from '@assay/core'

/** Half open, in epoch milliseconds. */
export interface Interval {
  startMs: number
  endMs: number
}

export interface Break extends Interval {
  /** The record's balance less the one that follows from the record before. */
  amount: Decimal
}

/** How far a wallet was followed. */
export interface Wallet {
  assetId: string
  lastAtMs: number
  balance: Decimal
  firstBreak: Break | undefined
}

export interface RunningRecord extends RunningBalance {
  atMs: number
}

/** Up to this many records of one moment are tried in every order; with more, the first that fits comes next. */
const triedMax = 7

/**
 * Follows the wallets through these records, which are in the order of time; a moment is never cut in two by the
 * caller. `beginningMs`: the history reaches back to the beginning of the account, where every wallet was empty;
 * undefined when it does not, and the first record is trusted.
 */
export function follow(
  wallets: Map<string, Wallet>,
  records: readonly RunningRecord[],
  beginningMs: number | undefined,
): void {
  const byWallet = Map.groupBy(records, ({ wallet }) => wallet)
  for (const [name, own] of byWallet) {
    const [first, ...others] = own.toSorted((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0))
    if (first === undefined) continue
    let wallet = wallets.get(name) ?? openWallet([first, ...others], beginningMs)
    for (const moment of Map.groupBy([first, ...others], ({ order }) => order).values()) {
      wallet = followMoment(wallet, moment)
    }
    wallets.set(name, wallet)
  }
}

function openWallet(records: readonly [RunningRecord, ...RunningRecord[]], beginningMs: number | undefined): Wallet {
  const [{ assetId, atMs }] = records
  if (beginningMs !== undefined) return { assetId, lastAtMs: beginningMs, balance: zero, firstBreak: undefined }
  let moved = zero
  for (const { change, balance } of records) {
    moved = add(moved, change)
    if (balance !== undefined)
      return { assetId, lastAtMs: atMs, balance: subtract(balance, moved), firstBreak: undefined }
  }
  return { assetId, lastAtMs: atMs, balance: zero, firstBreak: undefined }
}

function followMoment(wallet: Wallet, moment: readonly RunningRecord[]): Wallet {
  let { assetId, balance, firstBreak, lastAtMs } = wallet
  for (const record of toChain(balance, moment)) {
    const expected = add(balance, record.change)
    const told = record.balance ?? expected
    const amount = subtract(told, expected)
    if (!isZero(amount)) firstBreak ??= { startMs: lastAtMs, endMs: record.atMs + 1, amount }
    // A code may come to mean another asset (LUNA became LUNC).
    ;({ assetId } = record)
    balance = told
    lastAtMs = record.atMs
  }
  return { assetId, lastAtMs, balance, firstBreak }
}

/**
 * Records of one moment in an order in which each follows from the one before, or in their original order if no such
 * order exists.
 */
function toChain(balance: Decimal, moment: readonly RunningRecord[]): readonly RunningRecord[] {
  if (moment.length === 1) return moment
  if (moment.length > triedMax) return toGreedy(balance, moment)
  const whole = findChain(balance, moment)
  if (whole !== undefined) return whole
  // Something is missing before this moment: any of its records may be the first, and the rest may still fit.
  for (const first of moment) {
    if (first.balance === undefined) continue
    const rest = findChain(
      first.balance,
      moment.filter((other) => other !== first),
    )
    if (rest !== undefined) return [first, ...rest]
  }
  return toGreedy(balance, moment)
}

function findChain(balance: Decimal, left: readonly RunningRecord[]): RunningRecord[] | undefined {
  if (left.length === 0) return []
  for (const record of left) {
    if (!fits(balance, record)) continue
    const others = left.filter((other) => other !== record)
    const rest = findChain(record.balance ?? add(balance, record.change), others)
    if (rest !== undefined) return [record, ...rest]
  }
  return undefined
}

function toGreedy(balance: Decimal, moment: readonly RunningRecord[]): RunningRecord[] {
  const left = [...moment]
  const chain: RunningRecord[] = []
  let at = balance
  while (left.length > 0) {
    const index = Math.max(
      0,
      left.findIndex((record) => fits(at, record)),
    )
    const [record] = left.splice(index, 1)
    if (record === undefined) break
    chain.push(record)
    at = record.balance ?? add(at, record.change)
  }
  return chain
}

function fits(balance: Decimal, record: RunningRecord): boolean {
  return record.balance === undefined || compare(add(balance, record.change), record.balance) === 0
}
