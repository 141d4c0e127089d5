/**
 * How each list of an exchange is read: what ccxt does (exchanges.ts), corrected by the exchange's documents
 * (abouts.ts).
 */
import { dayMs } from '@assay/core'
import type { ListAbout, Paging, ReadUnit } from './about.ts'
import { findAbout } from './abouts.ts'
import type { ExchangeFacts, ListFacts } from './facts.ts'

/** Exchanges that answer for a few days at a time are not read before this date, because few of them existed then. */
const narrowSinceMs = Date.UTC(2017, 0, 1)

export interface ReadList extends Omit<ListFacts, 'since' | 'until'> {
  /** True when ccxt has a parameter; text for the exchange's own, which ccxt passes on; false when there is neither. */
  since: boolean | string
  until: boolean | string
  unit: ReadUnit
  params: Readonly<Record<string, unknown>>
  /** Parameters of ccxt's that are not sent. */
  without: readonly string[]
  /** Set for a list that is paged by count or id instead of time. */
  paging: Paging | undefined
  spanMs: number | null
  /** No piece of a window lies on both sides of this moment. */
  splitMs: number | null
  /** A page with fewer rows is the last of its piece; null when the page length is not documented. */
  pageSize: number | null
  sinceMs: number
  isRequired: boolean
  isByCurrency: boolean
  /** The exchange's own statuses in ccxt's words. */
  statuses: ReadonlyMap<string, string>
  /** `retentionDays` is how far back we ask. The exchange may have more. */
  isRetentionOurs: boolean
  /** What the list lacks, as sentences for a person; null when nothing is known. */
  leavesOut: string | null
  /** The exchange's own words for the numbers of its ledger's types; undefined where it writes words. */
  types: ReadonlyMap<string, string> | undefined
  /** A pair takes hundreds of calls. */
  isSlow: boolean
  /** Whether reading a window returns everything in it. */
  isWhole: boolean
}

export function listReadLists(facts: ExchangeFacts, about = findAbout(facts.id)): ReadList[] {
  const { lists = {}, launched } = about
  const sinceMs = launched === undefined ? narrowSinceMs : Date.parse(launched)
  return facts.lists
    .filter(({ stream }) => lists[stream]?.isLeftOut !== true)
    .flatMap((list) => {
      const { bySymbol, ...ofAll } = lists[list.stream] ?? {}
      const read = toReadList(list, ofAll, sinceMs)
      if (bySymbol === undefined) return [read]
      const { launched: since, ...ofSymbols } = bySymbol
      return [read, toReadList({ ...list, by: 'symbol' }, { ...ofAll, ...ofSymbols }, Date.parse(since))]
    })
}

/** A stream may be two lists: one over all pairs, in the partition '', and one by pair. */
export function findReadList(
  lists: readonly ReadList[],
  { stream, partition }: { stream: string; partition: string },
): ReadList | undefined {
  const ofStream = lists.filter((list) => list.stream === stream)
  return ofStream.find(({ by }) => (by === null) === (partition === '')) ?? ofStream[0]
}

function toReadList(list: ListFacts, about: ListAbout, sinceMs: number): ReadList {
  const { since = list.since, until = list.until, unit = 'ms', params = {}, without = [], paging } = about
  const spanDays = about.spanDays ?? list.spanDays
  const limit = about.limit ?? list.limit
  const isNarrow = spanDays !== null && (until !== false || about.endsItself === true)
  return {
    ...list,
    since,
    until,
    unit,
    params,
    without,
    paging,
    limit,
    pageSize: about.limit ?? null,
    retentionDays: about.retentionDays === undefined ? list.retentionDays : about.retentionDays,
    // A little less than allowed, because a request starts a millisecond early.
    spanMs: isNarrow ? spanDays * dayMs - 1_000 : null,
    // A millisecond later, for the same reason.
    splitMs: about.splitAt === undefined ? null : Date.parse(about.splitAt) + 1,
    sinceMs: isNarrow ? sinceMs : 0,
    isRequired: list.stream !== 'ledger',
    isByCurrency: about.isByCurrency === true,
    statuses: new Map(Object.entries(about.statuses ?? {})),
    isRetentionOurs: about.isRetentionOurs === true,
    leavesOut: about.leavesOut ?? null,
    types: about.types === undefined ? undefined : new Map(Object.entries(about.types)),
    isSlow: about.isSlow === true,
    isWhole: paging !== undefined || (since !== false && until !== false),
  }
}
