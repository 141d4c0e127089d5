/**
 * Fetches one page of a wallet's transactions. The list cannot be filtered by time and comes newest first, so we read
 * from the newest row down, keep the rows inside the window, and stop below it.
 */
import type { Page, PageRequest, RawRecord, Window } from '../kit/connector.ts'
import { keepInside, toPageRows, toRawRecord } from '../kit/records.ts'
import { fetchListPage, type Call } from './client.ts'
import { findWalletId, parseTransaction, type Transaction } from './records.ts'
import { findLearned } from './state.ts'

/** We stop waiting for a pending row after this time, because some never finish (such as a request for money). */
const pendingMaxMs = 90 * 24 * 3_600_000

export async function fetchPage(call: Call, request: PageRequest, nowMs: number): Promise<Page> {
  const { partition, window, pageMark } = request
  const path = `/v2/accounts/${encodeURIComponent(partition)}/transactions`
  const { rows, next: listNext } = await fetchListPage(call, path, pageMark)
  const { own, discovered } = splitByWallet(toPageRows(rows), partition)
  const received = new Set<string>()
  const records = own.map((row) =>
    toRawRecord(JSON.stringify(row), window, (body) => {
      const transaction = parseTransaction(body)
      if (isStakingArrival(transaction)) received.add(partition)
      return toHead(transaction, nowMs)
    }),
  )
  const next = isBelow(window, records) ? null : listNext
  const state = findLearned(request.state, { staked: received, discovered })
  return {
    records: keepInside(window, [...new Map(records.map((record) => [record.key, record])).values()], nowMs),
    next,
    ...(next === null ? { complete: window } : {}),
    ...(state === undefined ? {} : { state }),
  }
}

function toHead({ id, timeMs, status }: Transaction, nowMs: number): Omit<RawRecord, 'body'> {
  const isAwaited = status === 'pending' && nowMs - timeMs < pendingMaxMs
  return { key: id, occurredAtMs: timeMs, ...(isAwaited ? { pending: true } : {}) }
}

function isStakingArrival({ type, amount, status }: Transaction): boolean {
  return type === 'staking_transfer' && status === 'done' && !amount.startsWith('-')
}

/** Checks all rows of a page, because rows with the same time may come in any order. */
function isBelow({ start }: Window, records: readonly RawRecord[]): boolean {
  return records.length > 0 && records.every(({ occurredAtMs }) => occurredAtMs < start)
}

/**
 * The id of an unused wallet is its currency code. Once the wallet is used, the code still works, but the rows name the
 * new id. They are then read from the list of that id only, so that they are not stored twice.
 */
function splitByWallet(rows: readonly unknown[], partition: string): { own: unknown[]; discovered: Set<string> } {
  const discovered = new Set<string>()
  if (isWalletId(partition)) return { own: [...rows], discovered }
  const own = rows.filter((row) => {
    const walletId = findWalletId(row)
    if (walletId === undefined || walletId === partition || !isWalletId(walletId)) return true
    discovered.add(walletId)
    return false
  })
  return { own, discovered }
}

function isWalletId(id: string): boolean {
  return /^[0-9a-f]{8}-/i.test(id)
}
