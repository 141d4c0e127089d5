/** The lists of an exchange as they are read: what ccxt does (exchanges.ts), corrected by what exchanges document (about.ts). */
import { dayMs } from '@assay/core'
import { findAbout, type ListAbout, type Paging } from './about.ts'
import type { ExchangeFacts, ListFacts } from './facts.ts'

/** Before this, an exchange that answers for a few days at a time is not asked: it hardly existed. */
const narrowSinceMs = Date.UTC(2017, 0, 1)

export interface ReadList extends Omit<ListFacts, 'since' | 'until'> {
  /** True when ccxt knows the parameter; text for the exchange's own, which ccxt passes on; false without one. */
  since: boolean | string
  until: boolean | string
  unit: 's' | 'ms'
  params: Readonly<Record<string, unknown>>
  /** Set for a list that is not walked by time. */
  paging: Paging | undefined
  spanMs: number | null
  /** A page with fewer rows is the last of its piece; null when the length of pages is not documented. */
  pageSize: number | null
  sinceMs: number
  isRequired: boolean
  /** Whether a walk shows everything in its window. */
  isWhole: boolean
}

export function listReadLists(facts: ExchangeFacts): ReadList[] {
  const { lists = {}, launched } = findAbout(facts.id)
  const sinceMs = launched === undefined ? narrowSinceMs : Date.parse(launched)
  return facts.lists.map((list) => toReadList(list, lists[list.stream] ?? {}, sinceMs))
}

function toReadList(list: ListFacts, about: ListAbout, sinceMs: number): ReadList {
  const { since = list.since, until = list.until, unit = 'ms', params = {}, paging } = about
  const spanDays = about.spanDays ?? list.spanDays
  const limit = about.limit ?? list.limit
  return {
    ...list,
    since,
    until,
    unit,
    params,
    paging,
    limit,
    pageSize: about.limit ?? null,
    retentionDays: about.retentionDays === undefined ? list.retentionDays : about.retentionDays,
    // A little less than allowed, because a question starts a millisecond early.
    spanMs: spanDays === null || until === false ? null : spanDays * dayMs - 1_000,
    sinceMs: spanDays === null || until === false ? 0 : sinceMs,
    isRequired: list.stream !== 'ledger',
    isWhole: paging !== undefined || (since !== false && until !== false),
  }
}
