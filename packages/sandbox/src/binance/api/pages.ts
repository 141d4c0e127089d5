/** What the lists of /sapi have in common: a range of time, newest first, and a page of it. */
import { dayMs } from '@assay/core'
import type { CallContext } from '../../core/serving/provider-server.ts'
import type { View } from '../../core/timeline.ts'
import type { Row } from '../rows.ts'
import { BinanceRefusal, findNumber, sizeOf } from '../wire.ts'

export interface Span {
  fromMs: number
  /** Included. */
  toMs: number
}

export function within<R extends Row>(rows: readonly R[], { fromMs, toMs }: Span): R[] {
  return rows.filter((row) => row.atMs >= fromMs && row.atMs <= toMs)
}

/** Expects rows that are oldest first, and cuts pages newest first. */
export function viewOf<R>(rows: readonly R[]): View<R> {
  return {
    count: rows.length,
    cut(offset, size) {
      const end = Math.max(0, rows.length - offset)
      return rows.slice(Math.max(0, end - size), end).reverse()
    },
  }
}

/** `current` and `size`: the pages of Simple Earn. */
export function pageOf<R>(
  rows: readonly R[],
  query: URLSearchParams,
  context: CallContext,
): { rows: R[]; total: number } {
  const size = sizeOf(query, 'size', 10, 100)
  const current = Math.max(1, findNumber(query, 'current') ?? 1)
  return { rows: context.cutPage(viewOf(rows), (current - 1) * size, size), total: rows.length }
}

/**
 * The range of deposits and withdrawals: the last 90 days by default, never more than 90. The document says "less than
 * 90 days", but ccxt asks for exactly 90 and gets an answer.
 */
export function ninetyDays(query: URLSearchParams, nowMs: number): Span {
  const toMs = findNumber(query, 'endTime') ?? nowMs
  const fromMs = findNumber(query, 'startTime') ?? toMs - 90 * dayMs
  if (toMs < fromMs || toMs - fromMs > 90 * dayMs) throw new BinanceRefusal(-4047)
  return { fromMs, toMs }
}

/**
 * The range of Simple Earn's records: thirty days before or after the one bound that was sent. The document allows
 * three months; the endpoint refuses more than thirty days (https://github.com/rotki/rotki/pull/12417).
 */
export function thirtyDays(query: URLSearchParams, nowMs: number): Span {
  const start = findNumber(query, 'startTime')
  const end = findNumber(query, 'endTime')
  const toMs = end ?? (start === undefined ? nowMs : start + 30 * dayMs)
  const fromMs = start ?? toMs - 30 * dayMs
  if (toMs - fromMs > 30 * dayMs) throw new BinanceRefusal(-6021)
  return { fromMs, toMs }
}
