/**
 * Reports what was read of a connection, what was not, and why: for each stream its covered windows, and as holes the
 * time between them, what the provider no longer has, and records that could not be understood.
 *
 * A stream may have hundreds of lists. Its windows are what is covered in all of them, so that the report stays
 * readable and never promises more than was read; one list is shown alone on request.
 */
import type { Stream } from '@assay/connectors'
import type { ProviderDefinition } from '@assay/connectors/catalog'
import type { Cause, ErrorItem } from '@assay/core'
import type { Connections } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { Ledger, PoisonedTime } from '../ledger/index.ts'
import type { Owner } from '../owner.ts'
import type { Reach } from '../proof/index.ts'
import type { CoveredSpan, ListStanding } from './standings.ts'
import { beginningMs } from './plan.ts'
import * as store from './store.ts'

/** Half open, in epoch milliseconds. */
export interface TimeSpan {
  startMs: number
  endMs: number
}

export interface Hole extends TimeSpan {
  cause: Cause
  message: string
  /** The list that the provider no longer knows. */
  goneList?: string
  /** How many records could not be understood, where nothing else is missing. */
  records?: number
}

export interface StreamCoverage {
  stream: string
  /** What was read in every list of the stream. */
  windows: TimeSpan[]
  holes: Hole[]
  providerLimit: string | null
  remedy: string | null
  partitions: { count: number; incomplete: number }
}

/** What was read of one list. */
export interface ReadListState {
  /** Oldest first, none touching another. */
  covered: readonly TimeSpan[]
  /** False when the provider no longer names it: what is new there is not expected. */
  isListed: boolean
  /** The name of a list that the provider does not know; undefined while it knows it. */
  gone?: string | undefined
}

export interface ReadingState {
  lists: readonly ReadListState[]
  /** When the last run ended; undefined before the first has. */
  readAtMs: number | undefined
  poisoned: readonly Pick<PoisonedTime, 'startMs' | 'endMs' | 'records'>[]
  /** Why reading is not at its end; undefined when it is. */
  issue: Pick<ErrorItem, 'cause' | 'message' | 'fix'> | undefined
  nowMs: number
}

export interface CoverageDeps {
  db: Database
  connections: Connections
  ledger: Ledger
  getDefinition(providerId: string): Pick<ProviderDefinition, 'streams'>
  now(): number
}

/** Undefined when the owner has no such connection. With `partition`, only streams that have such a list. */
export async function findCoverage(
  deps: CoverageDeps,
  owner: Owner,
  connectionId: string,
  partition?: string,
): Promise<StreamCoverage[] | undefined> {
  const connection = await deps.connections.find(owner, connectionId)
  if (connection === undefined) return undefined
  const ref = { ...owner, connectionKey: connection.connection_key, connectionId }
  const issues = await deps.connections.listIssues(owner)
  const { lists } = await store.loadStandings(deps.db, ref)
  const found: FoundReading = {
    ...{ providerId: connection.provider_id, lastSyncedAt: connection.last_synced_at, lists },
    issue: issues.find((item) => item.connection_id === connectionId),
    poisoned: await deps.ledger.listPoisonedTimes(deps.db, ref),
  }
  return toCoverage(deps, found, partition)
}

interface FoundReading extends Pick<ReadingState, 'issue'> {
  providerId: string
  lastSyncedAt: string | null
  lists: ReadonlyMap<string, ListStanding>
  poisoned: readonly PoisonedTime[]
}

function toCoverage(
  deps: Pick<CoverageDeps, 'getDefinition' | 'now'>,
  { providerId, lastSyncedAt, lists, issue, poisoned }: FoundReading,
  partition?: string,
): StreamCoverage[] {
  const standings = [...lists].map(([id, standing]) => {
    const [stream, name] = JSON.parse(id) as string[]
    return { stream, partition: name, standing }
  })
  const { streams } = deps.getDefinition(providerId)
  const readAtMs = lastSyncedAt === null ? undefined : Date.parse(lastSyncedAt)
  return streams.flatMap((stream) => {
    const isShown = (of: { stream?: string | undefined; partition?: string | undefined }): boolean =>
      of.stream === stream.name && (partition === undefined || of.partition === partition)
    const own = standings
      .filter((one) => isShown(one) && !isNeverExpected(one.standing))
      .map(({ standing, partition: name }) => {
        return { ...toReadList(stream, standing), gone: standing.goneSinceMs === undefined ? undefined : name }
      })
    if (partition !== undefined && own.length === 0) return []
    // A stream without partitions has one list, also before anything was read of it.
    const read = own.length > 0 || stream.partitioned ? own : [{ covered: [], isListed: true }]
    const shown = { lists: read, poisoned: poisoned.filter(isShown), readAtMs }
    return [toStreamCoverage(stream, { ...shown, issue, nowMs: deps.now() })]
  })
}

/** Windows in blocks are shown by the times of their edges; without times they cannot be shown. */
function toReadList(stream: Stream, { covered, isListed }: ListStanding): ReadListState {
  const spans = covered.flatMap(({ start, end, startMs, endMs }): TimeSpan[] => {
    if (stream.unit === 'ms') return [{ startMs: start, endMs: end }]
    if (endMs === undefined) return []
    // The first block has no time before it.
    const fromMs = start === 0 ? beginningMs : startMs
    return fromMs === undefined ? [] : [{ startMs: fromMs, endMs }]
  })
  return { covered: spans, isListed: isListed || !stream.partitioned }
}

/**
 * A list that the provider stopped naming before anything was read of it, such as those of a chain where a wallet turned
 * out to be unused.
 */
function isNeverExpected({ isListed, open, covered, goneSinceMs }: ListStanding): boolean {
  return !isListed && open.length === 0 && covered.length === 0 && goneSinceMs === undefined
}

const notRead = { cause: 'sync_in_progress', message: 'This part of the history has not been read yet.' } as const

export function toStreamCoverage(stream: Stream, state: ReadingState): StreamCoverage {
  const { lists, issue, nowMs } = state
  // A list that is gone is a hole of its own, with its name: it does not make the others unread.
  const known = lists.filter(({ gone }) => gone === undefined)
  const windows = known.length === 0 ? toEmptyWindows(state) : intersect(known.map(toLasting), state.readAtMs)
  const newestMs = windows.at(-1)?.endMs
  // Between two runs the last minutes are not read yet. That does not count as a hole: the next run reads them.
  const untilMs = issue === undefined && newestMs !== undefined ? newestMs : nowMs
  const reachMs = stream.retentionMs === null ? beginningMs : Math.max(beginningMs, nowMs - stream.retentionMs)
  const { cause, message } = issue ?? notRead
  const holes = [
    ...gapsBetween(windows, beginningMs, untilMs).flatMap((gap) =>
      splitAt(gap, reachMs).map(({ part, lost }): Hole => {
        if (!lost) return { ...part, cause, message }
        return { ...part, cause: 'data_hole', message: stream.providerLimit ?? 'The provider no longer has this part.' }
      }),
    ),
    ...state.poisoned.map(({ startMs, endMs, records }): Hole => {
      const message = `${records === 1 ? 'One record' : `${records} records`} of the provider could not be understood and ${records === 1 ? 'is' : 'are'} not among the transactions.`
      return { startMs, endMs, cause: 'data_hole', message, records }
    }),
    ...lists.flatMap((list) => toGoneHole(list, nowMs)),
  ].toSorted((a, b) => a.startMs - b.startMs || a.endMs - b.endMs)
  const remedy = (holes.length > 0 ? issue?.fix : undefined) ?? stream.remedy
  // Time that has not been read in any list makes none of them incomplete.
  const readUntilMs = Math.max(reachMs + 1, ...lists.map(({ covered }) => covered.at(-1)?.endMs ?? 0))
  const isIncomplete = (list: ReadListState): boolean =>
    list.gone !== undefined || gapsBetween(toLasting(list), reachMs, readUntilMs).length > 0
  const partitions = { count: lists.length, incomplete: lists.filter(isIncomplete).length }
  return { stream: stream.name, windows, holes, providerLimit: stream.providerLimit, remedy, partitions }
}

/**
 * An account may have no list of a stream, such as a wallet that was never used, or only lists that are gone: then a run
 * has nothing to read there.
 */
function toEmptyWindows({ readAtMs }: ReadingState): TimeSpan[] {
  return readAtMs === undefined ? [] : [{ startMs: beginningMs, endMs: readAtMs }]
}

/** The list is asked for rarely, or not at all, so nothing of it is read until the provider knows it again. */
function toGoneHole({ covered, gone: partition }: ReadListState, nowMs: number): Hole[] {
  if (partition === undefined) return []
  const lastMs = covered.at(-1)?.endMs
  const startMs = lastMs ?? beginningMs
  const message =
    lastMs === undefined
      ? `The provider does not know ${partition}. If something happened there, it cannot be read.`
      : `The provider no longer knows ${partition}. What happened there after ${toDay(lastMs)} cannot be read.`
  return [{ startMs, endMs: Math.max(startMs, nowMs), cause: 'data_hole', message, goneList: partition }]
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** In a list that the provider no longer names nothing can be missing after the last read. */
function toLasting({ covered, isListed }: ReadListState): readonly TimeSpan[] {
  const last = covered.at(-1)
  return isListed || last === undefined ? covered : [...covered.slice(0, -1), { ...last, endMs: Infinity }]
}

/**
 * Pure: the time that every list covers. Where the provider names none of them now, such as Binance on a day on which
 * none of an account's pairs has its turn, the last run had nothing to read, and they are covered up to it.
 */
function intersect(lists: readonly (readonly TimeSpan[])[], readAtMs = -Infinity): TimeSpan[] {
  const [first, ...others] = lists
  let common = [...(first ?? [])]
  for (const spans of others) {
    common = common.flatMap((one) =>
      spans
        .map(({ startMs, endMs }) => ({ startMs: Math.max(one.startMs, startMs), endMs: Math.min(one.endMs, endMs) }))
        .filter(({ startMs, endMs }) => startMs < endMs),
    )
  }
  return common
    .map(({ startMs, endMs }) => ({ startMs, endMs: endMs === Infinity ? readAtMs : endMs }))
    .filter(({ startMs, endMs }) => startMs < endMs)
}

function gapsBetween(windows: readonly TimeSpan[], fromMs: number, untilMs: number): TimeSpan[] {
  const gaps: TimeSpan[] = []
  let atMs = fromMs
  for (const { startMs, endMs } of windows) {
    if (startMs > atMs) gaps.push({ startMs: atMs, endMs: Math.min(startMs, untilMs) })
    atMs = Math.max(atMs, endMs)
  }
  if (untilMs > atMs) gaps.push({ startMs: atMs, endMs: untilMs })
  return gaps
}

/** The provider no longer has what lies before `reachMs`; the rest can still be read. */
function splitAt(gap: TimeSpan, reachMs: number): { part: TimeSpan; lost: boolean }[] {
  if (gap.endMs <= reachMs) return [{ part: gap, lost: true }]
  if (gap.startMs >= reachMs) return [{ part: gap, lost: false }]
  return [
    { part: { startMs: gap.startMs, endMs: reachMs }, lost: true },
    { part: { startMs: reachMs, endMs: gap.endMs }, lost: false },
  ]
}

/**
 * How far the lists that a history needs were read; undefined when a required list was not read at all.
 *
 * `missing` has the windows, by list, that the provider could not give to the run that ends at `untilMs`. They are holes
 * and not the end: otherwise an earlier verdict would stand for as long as the provider cannot give them.
 */
export function toReach(
  streams: readonly Stream[],
  lists: ReadonlyMap<string, ListStanding>,
  run: LeftOut = { missing: new Map(), untilMs: 0 },
): Reach | undefined {
  const read = [...lists].flatMap(([id, standing]) => {
    const [name, partition = ''] = JSON.parse(id) as string[]
    const stream = streams.find((one) => one.name === name && one.required)
    // A history never reaches into a list that is gone. What is missing shows where the balances do not add up.
    const isLeftOut = standing.goneSinceMs !== undefined || (stream?.partitioned === true && isNeverExpected(standing))
    if (stream === undefined || isLeftOut) return []
    const missing = (run.missing.get(id) ?? []).flatMap((window) => toMissing(stream, standing, window, run.untilMs))
    const covered = toLasting(toReadList(stream, standing))
    const spans = [...covered, ...missing].toSorted((a, b) => a.startMs - b.startMs)
    return [{ stream, partition, covered, spans, missing }]
  })
  const isMissing = (stream: Stream): boolean =>
    stream.required && !stream.partitioned && !read.some((one) => one.stream === stream)
  if (streams.some(isMissing) || read.some(({ spans }) => spans.length === 0)) return undefined
  const untilMs = Math.min(...read.map(({ spans }) => Math.max(...spans.map(({ endMs }) => endMs))))
  // A list of which nothing has been read is a hole beside the others, and does not decide where they begin.
  const isWhole = read.every(({ covered }) => (covered[0]?.startMs ?? beginningMs) <= beginningMs)
  const holes = read.flatMap(({ spans, missing }) => [
    ...gapsBetween(spans, spans[0]?.startMs ?? 0, untilMs),
    ...missing,
  ])
  const hasUnread = read.some(({ covered }) => covered.length === 0)
  const partitions = new Set(read.map((one) => one.partition))
  return { untilMs, beginningMs: isWhole ? beginningMs : undefined, holes, hasUnread, partitions }
}

interface LeftOut {
  missing: ReadonlyMap<string, readonly CoveredSpan[]>
  untilMs: number
}

/** A window in blocks has no times of its own when no page of it was read, but what was read around it has. */
function toMissing(
  { unit }: Stream,
  { covered }: ListStanding,
  { start, end, startMs, endMs }: CoveredSpan,
  untilMs: number,
): TimeSpan[] {
  // A list that is gone is missing from the beginning to the end. It is reported by its name.
  if (end === Infinity) return []
  if (unit === 'ms') return [{ startMs: start, endMs: end }]
  // A window that continues a history begins inside of what was read, by the overlap of its list.
  const before = covered.findLast((span) => span.start <= start)
  const after = covered.find((span) => span.start >= end)
  const fromMs = startMs ?? before?.endMs ?? beginningMs
  return [{ startMs: fromMs, endMs: Math.max(fromMs, endMs ?? after?.startMs ?? untilMs) }]
}

export interface Completeness {
  /** Epoch ms. */
  fromMs: number
  /** Why not earlier; undefined when everything was read. */
  hole: HoleOfConnection | undefined
  /**
   * Lists that are gone, of connections whose balances do not show that nothing is missing. They do not end the history
   * of everything else.
   */
  gone: HoleOfConnection[]
}

interface HoleOfConnection extends Hole {
  connectionId: string
  providerId: string
}

/** The time from which nothing is missing in the required streams of all the owner's connections. */
export async function findCompleteness(deps: CoverageDeps, owner: Owner): Promise<Completeness> {
  const newest: Completeness = { fromMs: beginningMs, hole: undefined, gone: [] }
  for await (const { id, providerId, completeSince, streams } of readAll(deps, owner)) {
    const definition = deps.getDefinition(providerId)
    const required = new Map(definition.streams.filter((stream) => stream.required).map((one) => [one.name, one]))
    const isSettled = ({ startMs }: Hole): boolean => completeSince !== null && startMs >= Date.parse(completeSince)
    for (const { stream, windows, holes } of streams.filter((one) => required.has(one.stream))) {
      const readUntilMs = windows.at(-1)?.endMs ?? Infinity
      // Strangers can add records to these lists, and one that cannot be understood would end the history of all of the
      // user's accounts. Where the balances show that nothing is missing, such records took nothing away.
      const isHarmless = (hole: Hole): boolean =>
        hole.records !== undefined && required.get(stream)?.openToStrangers === true && isSettled(hole)
      const found = holes.map((hole): HoleOfConnection => ({ ...hole, connectionId: id, providerId }))
      newest.gone.push(...found.filter((hole) => hole.goneList !== undefined && !isSettled(hole)))
      // Time after the last run is missing everywhere, balances included, so it does not count.
      const hole = found.findLast((one) => one.startMs < readUntilMs && one.goneList === undefined && !isHarmless(one))
      if (hole !== undefined && hole.endMs > newest.fromMs) Object.assign(newest, { fromMs: hole.endMs, hole })
    }
  }
  return newest
}

/** Few at a time, because a wallet may have hundreds of lists. */
const readTogether = 50

type ReadConnection = store.ReadableConnection & { streams: StreamCoverage[] }

/** What was read of each of the owner's connections, with a few statements for many of them. */
async function* readAll(deps: CoverageDeps, owner: Owner): AsyncGenerator<ReadConnection> {
  const connections = await store.listReadable(deps.db, owner)
  const issues = new Map((await deps.connections.listIssues(owner)).map((item) => [item.connection_id, item]))
  const poisonedKeys = await deps.ledger.listPoisonedConnections(deps.db, owner)
  for (let from = 0; from < connections.length; from += readTogether) {
    const next = connections.slice(from, from + readTogether)
    const keys = next.map(({ connectionKey }) => connectionKey)
    const listsOf = await store.loadListsOf(deps.db, owner, keys)
    for (const connection of next) {
      const { id, connectionKey } = connection
      const ref = { ...owner, connectionKey, connectionId: id }
      const poisoned = poisonedKeys.has(connectionKey) ? await deps.ledger.listPoisonedTimes(deps.db, ref) : []
      const lists = listsOf.get(connectionKey) ?? new Map<string, ListStanding>()
      yield { ...connection, streams: toCoverage(deps, { ...connection, lists, issue: issues.get(id), poisoned }) }
    }
  }
}
