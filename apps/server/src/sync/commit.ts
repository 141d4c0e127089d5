/**
 * Keeps what was read. Rows, bookmark, covered window, lasting mark and state move in one transaction: a crash between
 * them would lose a page permanently. A page read twice is harmless, because a record's key is unique within its list.
 */
import { SourceError } from '@assay/core'
import type { ConnectorState } from '@assay/connectors'
import { recordRecords } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import type { Doubt, KeptPages, ShownPages } from '../ledger/index.ts'
import { closeBookmark, cover, joinTouching, moveBookmark, type List } from './standings.ts'
import { without, type Bookmark } from './plan.ts'
import {
  joinStates,
  listIdOf,
  standingOfList,
  weigh,
  type FinishedWindow,
  type Reading,
  type ReadingDeps,
} from './reading.ts'
import * as store from './store.ts'

/** `overtaken`: another worker was faster, and nothing was kept. */
export type Kept = 'kept' | 'overtaken'

/** Some pages of a window, in their order, and where the window stands after them. */
export interface WindowProgress extends FinishedWindow {
  from: Bookmark | undefined
  /** Where the next page begins; null when the window was read to its end. */
  next: string | null
  /** The number of records that the pages showed, known or new; an empty page counts for a fraction. */
  shown: number
  state: ConnectorState | undefined
}

const stateBytesMax = 2 ** 20

export function keepProgress(deps: ReadingDeps, reading: Reading, progress: WindowProgress): Promise<Kept> {
  return reading.inTurn(() => writeProgress(deps, reading, progress))
}

async function writeProgress(deps: ReadingDeps, reading: Reading, progress: WindowProgress): Promise<Kept> {
  const { ref, standings } = reading
  const { from, next, shown, list, window } = progress
  const key = toKey(list)
  const state = progress.state && joinStates(reading, standings.state, progress.state)
  let version: string | undefined
  let to: Bookmark | undefined
  const kept = await commit(
    deps,
    reading,
    [progress],
    async (tx, { added, doubts }) => {
      if (next !== null) {
        const shownAgain = added > 0 ? 0 : (from?.shownAgain ?? 0) + shown
        to = { start: window.start, end: window.end, pageMark: next, shownAgain }
        return store.moveBookmark(tx, ref, key, from, to)
      }
      if (doubts.length > 0) return from === undefined || store.dropBookmark(tx, ref, key, from)
      return (await store.closeWindows(tx, ref, [{ ...key, from, window }])) === 1
    },
    async (tx) => {
      if (state === undefined) return true
      version = await store.replaceState(tx, ref, toStored(state), standings.stateVersion)
      return version !== undefined
    },
  )
  if (kept === 'overtaken') return kept
  if (state !== undefined) Object.assign(standings, { state, stateVersion: version })
  if (to === undefined) closeBookmark(standingOfList(reading, list), window.start)
  else moveBookmark(standingOfList(reading, list), to)
  return kept
}

/**
 * Most runs find a page or two in each list, and nothing new in them. Such windows are put aside and kept together,
 * after the last list at the latest, so that a run which finds nothing writes once, however many lists there are.
 */
export function keepFinished(deps: ReadingDeps, reading: Reading): Promise<Kept> {
  return reading.inTurn(() => writeFinished(deps, reading))
}

async function writeFinished(deps: ReadingDeps, reading: Reading): Promise<Kept> {
  const { ref, opened, finished } = reading
  if (finished.length === 0) return 'kept'
  reading.finished = []
  const close = async (sql: Sql, { doubts }: Pick<KeptPages, 'doubts'>): Promise<boolean> => {
    const isDoubted = ({ stream, partition }: List): boolean =>
      doubts.some((doubt) => doubt.stream === stream.name && doubt.partition === partition)
    const closings = finished
      .filter(({ list }) => !isDoubted(list))
      .map(({ list, window }) => ({ ...toKey(list), window, from: undefined }))
    return (await store.closeWindows(sql, ref, closings)) === closings.length
  }
  const pages = finished.map(toShown)
  const isSilent = pages.every(
    ({ records, withdrawn, complete }) => records.length + withdrawn.length === 0 && !complete,
  )
  // In a first read nearly everything is new.
  const isNew =
    finished.some((window) => isBack(reading, window)) ||
    (!isSilent && (opened.status === 'syncing' || (await deps.ledger.hasNews(deps.db, ref, opened.connector, pages))))
  if (isNew) {
    const kept = await commit(deps, reading, finished, close)
    if (kept === 'kept') reading.onProgress(finished.reduce((sum, { records }) => sum + records.length, 0))
    return kept
  }
  return keepWithoutNews(deps, reading, finished, close)
}

/** A mark that says how far a list was read may move with every run, and is no news of the account. */
async function keepWithoutNews(
  { db }: ReadingDeps,
  reading: Reading,
  finished: readonly FinishedWindow[],
  close: (sql: Sql, kept: Pick<KeptPages, 'doubts'>) => Promise<boolean>,
): Promise<Kept> {
  const marks = listMarks(reading, finished)
  if (marks.length === 0) return (await close(db, { doubts: [] })) ? 'kept' : 'overtaken'
  const kept = await refusable(() =>
    db.transaction(async (tx) => {
      if (!(await close(tx, { doubts: [] }))) throw new Refused()
      await store.keepLastingMarks(tx, reading.ref, marks)
    }),
  )
  if (kept === 'overtaken') return kept
  noteMarks(reading, finished)
  return 'kept'
}

/**
 * Puts aside a window of one or two pages. This job treats it as covered from now on. Windows of a list that touch
 * become one: years of deposits, asked for in steps of ninety days, are written once and not step by step.
 */
export async function putAside(deps: ReadingDeps, reading: Reading, window: FinishedWindow): Promise<Kept> {
  const id = listIdOf(window.list)
  const weight = reading.finished.reduce((sum, { records }) => sum + weigh(records), 0)
  const before = reading.finished.find(({ list }) => listIdOf(list) === id)
  const joined = before === undefined ? window : joinWindows(before, window)
  // Limits the records, so that a crash loses little and memory stays flat.
  const isFull = weight >= weightAsideMax || joined === undefined
  if (isFull && (await keepFinished(deps, reading)) === 'overtaken') return 'overtaken'
  const others = isFull ? reading.finished : reading.finished.filter((one) => one !== before)
  reading.finished = [...others, isFull ? window : joined]
  return 'kept'
}

const weightAsideMax = 1_000

/**
 * Undefined when the two have to be kept apart: a complete window is compared with what is stored between its own
 * edges.
 */
function joinWindows(a: FinishedWindow, b: FinishedWindow): FinishedWindow | undefined {
  const window = joinTouching(a.window, b.window)
  const isPlain = [a, b].every(({ complete, withdrawn }) => complete === undefined && withdrawn.length === 0)
  if (window === undefined || !isPlain) return undefined
  return { ...b, window, records: [...a.records, ...b.records], lastingMark: b.lastingMark ?? a.lastingMark }
}

/** Does in memory what the store has done or will do. */
export function coverInMemory(reading: Reading, list: List, window: FinishedWindow['window']): void {
  cover(standingOfList(reading, list), window)
  const id = listIdOf(list)
  const again = reading.again.get(id)
  if (again !== undefined) reading.again.set(id, without(again, window))
}

/**
 * The provider no longer knows the list. Its window is not covered, and is not tried again in this job; nothing waits
 * for it, because the provider will not know it tomorrow either.
 */
export function keepGone(
  deps: ReadingDeps,
  reading: Reading,
  { list, from, state }: Pick<WindowProgress, 'list' | 'from' | 'state'>,
): Promise<Kept> {
  return reading.inTurn(async () => {
    const { ref, standings } = reading
    const standing = standingOfList(reading, list)
    const joined = state && joinStates(reading, standings.state, state)
    const version = await refusable(() =>
      deps.db.transaction(async (tx) => {
        if (from !== undefined && !(await store.dropBookmark(tx, ref, toKey(list), from))) throw new Refused()
        if (standing.goneSinceMs === undefined) await store.keepGone(tx, ref, toKey(list), true)
        if (joined === undefined) return standings.stateVersion
        const replaced = await store.replaceState(tx, ref, toStored(joined), standings.stateVersion)
        if (replaced === undefined) throw new Refused()
        return replaced
      }),
    )
    if (version === 'overtaken') return version
    Object.assign(standings, { state: joined ?? standings.state, stateVersion: version })
    standing.goneSinceMs ??= deps.now()
    if (from !== undefined) closeBookmark(standing, from.start)
    reading.missing.set(listIdOf(list), [{ start: 0, end: Infinity }])
    return 'kept'
  })
}

/** Thrown to roll the transaction back. */
class Refused extends Error {}

async function commit(
  deps: ReadingDeps,
  reading: Reading,
  windows: readonly FinishedWindow[],
  move: (tx: Sql, kept: KeptPages) => Promise<boolean>,
  keepMore: (tx: Sql) => Promise<boolean> = async () => true,
): Promise<Kept> {
  const { ref, opened } = reading
  const marks = listMarks(reading, windows)
  const back = windows.filter((window) => isBack(reading, window))
  const sinceMs = performance.now()
  const done = await refusable(() =>
    deps.db.transaction(async (tx) => {
      const kept = await deps.ledger.keepRaw(tx, ref, opened.connector, windows.map(toShown))
      if (!(await move(tx, kept))) throw new Refused()
      await store.keepLastingMarks(tx, ref, marks)
      for (const { list } of back) await store.keepGone(tx, ref, toKey(list), false)
      if (!(await keepMore(tx))) throw new Refused()
      await recordRecords(tx, ref, kept.added)
      await store.countRecords(tx, ref, toCounts(windows, kept))
      return kept
    }),
  )
  if (done === 'overtaken') return done
  deps.watch.committed(opened.providerId, (performance.now() - sinceMs) / 1_000)
  for (const window of windows) noteDoubt(reading, window, done.doubts)
  noteMarks(reading, windows)
  for (const { list } of back) standingOfList(reading, list).goneSinceMs = undefined
  reading.hasNews = true
  reading.recordsAdded += done.added
  return 'kept'
}

/** One for each list that has new records, or larger or smaller ones. */
function toCounts(
  windows: readonly FinishedWindow[],
  { addedBy }: KeptPages,
): { stream: string; partition: string; records: number }[] {
  const byList = Map.groupBy(windows.entries(), ([, { list }]) => listIdOf(list))
  return [...byList.values()].flatMap((some) => {
    const records = some.reduce((sum, [place]) => sum + (addedBy[place] ?? 0), 0)
    return some.slice(0, records === 0 ? 0 : 1).map(([, { list }]) => ({ ...toKey(list), records }))
  })
}

async function refusable<T>(write: () => Promise<T>): Promise<T | 'overtaken'> {
  try {
    return await write()
  } catch (error) {
    if (error instanceof Refused) return 'overtaken'
    throw error
  }
}

/** Coverage shows the window as a hole, and the next run reads it again. */
function noteDoubt(reading: Reading, { list, window }: FinishedWindow, doubts: readonly Doubt[]): void {
  const doubt = doubts.find(({ stream, partition }) => stream === list.stream.name && partition === list.partition)
  if (doubt === undefined) return
  const id = listIdOf(list)
  const detail = `${doubt.missing} of ${doubt.known} known records of a window are missing`
  reading.faults.set(id, new SourceError('data_hole', detail))
  // The same pages will be read again, so they are not progress: each further try comes later, and a doubt that lasts is
  // judged.
  reading.progressed.delete(id)
  reading.missing.set(id, [...(reading.missing.get(id) ?? []), window])
  const standing = standingOfList(reading, list)
  standing.covered = without(standing.covered, window)
}

/** The provider answers again for a list that it did not know. */
function isBack(reading: Reading, { list }: FinishedWindow): boolean {
  return standingOfList(reading, list).goneSinceMs !== undefined
}

/** Those that differ from what is kept. */
function listMarks(
  reading: Reading,
  windows: readonly FinishedWindow[],
): { stream: string; partition: string; lastingMark: string }[] {
  return windows.flatMap(({ list, lastingMark }) =>
    lastingMark === undefined || lastingMark === standingOfList(reading, list).lastingMark
      ? []
      : [{ ...toKey(list), lastingMark }],
  )
}

function noteMarks(reading: Reading, windows: readonly FinishedWindow[]): void {
  for (const { list, lastingMark } of windows)
    if (lastingMark !== undefined) standingOfList(reading, list).lastingMark = lastingMark
}

function toKey({ stream, partition }: List): { stream: string; partition: string } {
  return { stream: stream.name, partition }
}

function toShown({ list, records, withdrawn, complete }: FinishedWindow): ShownPages {
  return { ...toKey(list), records, withdrawn, complete }
}

export function toStored(state: ConnectorState): string {
  const text = JSON.stringify(state)
  if (Buffer.byteLength(text) > stateBytesMax) throw new RangeError('a connector keeps more than 1 MiB of state')
  return text
}
