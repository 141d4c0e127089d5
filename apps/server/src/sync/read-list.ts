/**
 * Reads one list of the provider until it is covered. The engine loops; the connector answers one page.
 *
 * Fetching and keeping overlap: while pages are being committed, the next one is fetched. A provider that is faster
 * than the database finds several pages waiting when a commit ends, and they are committed together; one that is slower
 * has each page committed while the next is on its way. What is fetched and not kept yet is bounded, and a crash loses
 * only that: it is read again.
 */
import type { Page } from '@assay/connectors'
import { dayMs, SourceError } from '@assay/core'
import type { Asked, Stop } from '../metering/index.ts'
import { coverInMemory, keepGone, keepProgress, putAside, type Kept } from './commit.ts'
import { closeBookmark, type CoveredSpan, type List } from './standings.ts'
import { listRereads, nextStep, without, type Bookmark, type Span, type Step } from './plan.ts'
import {
  endsJob,
  joinStates,
  listIdOf,
  standingOfList,
  weigh,
  type FinishedWindow,
  type Reading,
  type ReadingDeps,
} from './reading.ts'
import * as store from './store.ts'

const distrustedMs = 30 * dayMs
/** How much may be fetched before it is kept: pages of one list, and what records of all lists weigh that are read at once. */
const pagesAheadMax = 8
const recordsAheadMax = 4_000
/** Most walks end with their first page or the second. One that is longer usually goes on. */
const longWalkPages = 2
/** A walk remembers its keys to find records that it did not show. A walk with more keys than this is not judged. */
const keysMax = 10_000
/**
 * A walk may show known records without a new one among them, each of them once or twice: windows are read again, and
 * Kraken's ledger is walked a second time when rows were booked late. A walk that shows more of them goes in circles.
 */
const timesShownMax = 2
const shownAgainMax = 1_000
/** What an empty page counts for, in records: some lists are asked for years day by day. */
const emptyPageWeight = 0.1

/**
 * `reached`: everything since `notBefore` is read, but not what is older. `stopped`: the job's allowance ended first.
 */
export type ListProgress = 'covered' | 'reached' | 'stopped'

/**
 * A window that the provider cannot give (`data_hole`) is noted, and the rest is read around it. The next run tries it
 * again, because the provider may have recovered the window.
 */
export async function readList(
  deps: ReadingDeps,
  reading: Reading,
  list: List,
  until: number,
  notBefore?: number,
): Promise<ListProgress | Stop> {
  await distrustFuture(deps, reading, list, until)
  planReread(reading, list, until)
  for (;;) {
    const step = planStep(reading, list, until, notBefore)
    if (typeof step === 'string') return step
    if (!reading.allowance.mayReadOn()) return 'stopped'
    const walked = await walkWindow(deps, reading, list, step)
    if (walked !== 'closed') return walked
  }
}

function planStep(reading: Reading, list: List, until: number, notBefore: number | undefined): Step {
  const id = listIdOf(list)
  const { covered, open } = standingOfList(reading, list)
  const again = reading.again.get(id) ?? []
  const standing = {
    covered: again.reduce<readonly Span[]>((spans, span) => without(spans, span), covered),
    open,
    missing: reading.missing.get(id) ?? [],
  }
  return nextStep(list.stream, standing, until, notBefore)
}

/** Plans once in a job which covered spans are read again. */
function planReread(reading: Reading, list: List, until: number): void {
  const id = listIdOf(list)
  if (reading.again.has(id)) return
  const standing = standingOfList(reading, list)
  reading.again.set(id, listRereads(list.stream, standing, until, standing.pendingSinceMs))
}

/**
 * A window that ends in the future was covered under a wrong clock, and one that ends far above the present height under
 * a wrong height. How wrong the clock was is not known, and neither is for how long the height was wrong. A height that
 * is a little lower than before does not count: nodes differ by some blocks, and `listRereads` handles that. A late one
 * does not count either: it shows that this server is behind, not that another was wrong.
 */
async function distrustFuture(deps: ReadingDeps, reading: Reading, list: List, until: number): Promise<void> {
  const { unit, overlap } = list.stream
  if (unit === 'block' && reading.heights.get(listIdOf(list))?.isLate === true) return
  const standing = standingOfList(reading, list)
  const last = unit === 'ms' ? deps.now() : until + overlap
  if (!standing.covered.some(({ end }) => end > last)) return
  await distrustSince(deps, reading, list, unit === 'ms' ? deps.now() - distrustedMs : 0)
}

async function distrustSince(deps: ReadingDeps, reading: Reading, list: List, since: number): Promise<void> {
  const standing = standingOfList(reading, list)
  await store.distrustSince(deps.db, reading.ref, { stream: list.stream.name, partition: list.partition }, since)
  standing.covered = without(standing.covered, { start: Math.floor(since), end: Infinity })
}

/** Windows that are being read hold what was thought to be known in their page marks. */
async function distrustOthers(deps: ReadingDeps, reading: Reading, { list, window }: Walk): Promise<void> {
  const standing = standingOfList(reading, list)
  const key = { stream: list.stream.name, partition: list.partition }
  for (const bookmark of standing.open.filter(({ start }) => start !== window.start)) {
    await store.dropBookmark(deps.db, reading.ref, key, bookmark)
    closeBookmark(standing, bookmark.start)
  }
  await distrustSince(deps, reading, list, 0)
}

type OpenStep = Exclude<Step, string>

/** The state of one walk over a window, from where its bookmark is. */
interface Walk {
  list: List
  window: CoveredSpan
  /** What was committed of the window; undefined until a page was committed. */
  from: Bookmark | undefined
  /** Pages that were fetched and are not kept yet. */
  waiting: Page[]
  pagesFetched: number
  /** The page marks that were asked for since the connector last learned something. */
  asked: Set<string | null>
  /** The keys that this walk showed; undefined when it began in another job, or showed too many to remember. */
  keys: string[] | undefined
}

function startWalk(list: List, step: OpenStep): Walk {
  const walk = { list, waiting: [], pagesFetched: 0, asked: new Set<string | null>() }
  if (step.kind === 'open') return { ...walk, window: step.window, from: undefined, keys: [] }
  const { start, end } = step.bookmark
  return { ...walk, window: { start, end }, from: step.bookmark, keys: undefined }
}

/** `closed`: the window was read to its end, or left out. */
async function walkWindow(
  deps: ReadingDeps,
  reading: Reading,
  list: List,
  step: OpenStep,
): Promise<'closed' | 'stopped' | Stop> {
  const walk = startWalk(list, step)
  const committer = startCommitter(reading, (pages) => keepPages(deps, reading, walk, pages))
  let fetching = askForPage(reading, walk, walk.from?.pageMark ?? null)
  try {
    for (;;) {
      const asked = await fetching
      if (asked.kind !== 'answer') {
        // Ends the job at once and not after this list's commits: lists that are read at the same time would continue
        // to ask.
        if (endsJob(asked)) reading.allowance.end()
        if ((await committer.finish(walk)) === 'overtaken') return { kind: 'overtaken' }
        const isHole = asked.kind === 'fault' && asked.error.fault === 'data_hole'
        return isHole ? leaveOut(deps, reading, walk, asked) : asked
      }
      noteAnswer(reading, walk, asked.answer)
      // Before its state is kept: after a crash between them the connector finds out once more.
      if (asked.answer.isCorrected === true) {
        await distrustOthers(deps, reading, walk)
        // A connector that is mistaken twice in one job may be mistaken without an end.
        if (reading.corrected.has(listIdOf(list))) return await breakOff(deps, reading, walk, committer)
        reading.corrected.add(listIdOf(list))
      }
      if (asked.answer.isGone === true) return await giveUp(deps, reading, walk, committer)
      const { next } = asked.answer
      if (next !== null && goesInCircles(reading, walk, next)) return await breakOff(deps, reading, walk, committer)
      if (next === null || !reading.allowance.mayReadOn()) {
        const kept = await (next === null ? closeWalk(deps, reading, walk, committer) : committer.finish(walk))
        if (kept === 'overtaken') return { kind: 'overtaken' }
        return next === null ? 'closed' : 'stopped'
      }
      fetching = askForPage(reading, walk, next)
      if ((await committer.offer(walk)) === 'overtaken') return { kind: 'overtaken' }
    }
  } finally {
    // No part of the walk may still be running when it ends. If both failed, the first failure is the one that is
    // thrown.
    await Promise.allSettled([fetching, committer.settle()])
  }
}

function askForPage(
  reading: Reading,
  { list, window, pagesFetched, asked }: Walk,
  pageMark: string | null,
): Promise<Asked<Page>> {
  asked.add(pageMark)
  const { stream, partition } = list
  const { start, end } = window
  const { lastingMark } = standingOfList(reading, list)
  const fetch = (): Promise<Page> =>
    reading.opened.reader.fetchPage({
      stream: stream.name,
      partition,
      window: { unit: stream.unit, start, end },
      pageMark,
      lastingMark,
      state: reading.state,
    })
  const fetching = reading.ask(stream.cost, fetch, { isFollowed: pagesFetched >= longWalkPages })
  // It may fail while a commit is awaited. The failure is thrown where the page is awaited, and is not lost meanwhile.
  fetching.catch(() => undefined)
  return fetching
}

function noteAnswer(reading: Reading, walk: Walk, page: Page): void {
  reading.allowance.countPage()
  reading.progressed.add(listIdOf(walk.list))
  walk.waiting.push(page)
  walk.pagesFetched += 1
  reading.recordsAhead += weigh(page.records)
  if (page.times !== undefined) walk.window = { ...walk.window, ...page.times }
  // The same mark is another request when the connector has learned something.
  if (page.state !== undefined || page.lastingMark !== undefined) walk.asked.clear()
  if (page.state !== undefined) {
    Object.assign(reading, { state: joinStates(reading, reading.state, page.state), isStateNew: true })
  }
  if (walk.keys === undefined) return
  for (const { key } of page.records) walk.keys.push(key)
  if (walk.keys.length > keysMax) walk.keys = undefined
}

/** The walk has made this request before, or has shown more than all known records since the last new one. */
function goesInCircles({ opened, recordsAdded }: Reading, { asked, from }: Walk, next: string): boolean {
  const known = opened.userRecords + recordsAdded
  return asked.has(next) || (from !== undefined && from.shownAgain > shownAgainMax + timesShownMax * known)
}

/**
 * Answers that repeat contradict each other, so records may have been missed: the window is read again from its start.
 * Pages that repeat are not progress, and each further try comes later than the one before.
 */
async function breakOff(deps: ReadingDeps, reading: Reading, walk: Walk, committer: Committer): Promise<Stop> {
  if ((await committer.finish(walk)) === 'overtaken') return { kind: 'overtaken' }
  if (!(await dropBookmark(deps, reading, walk))) return { kind: 'overtaken' }
  reading.progressed.delete(listIdOf(walk.list))
  return { kind: 'fault', error: new SourceError('unreadable_answer', 'the pages of a list contradict each other') }
}

interface Committer {
  /** Begins to commit what is waiting, unless a commit is under way; waits only when too much is waiting. */
  offer(walk: Walk): Promise<Kept>
  /** Commits everything that is waiting. */
  finish(walk: Walk): Promise<Kept>
  /** Waits for the commit that is under way. */
  settle(): Promise<Kept>
}

/** At most one commit of a walk is under way. */
function startCommitter(reading: Reading, keep: (pages: Page[]) => Promise<Kept>): Committer {
  let underWay: { ended: Promise<Kept>; hasEnded: boolean } | undefined

  function begin(walk: Walk): void {
    const pages = walk.waiting
    const commit = { ended: keep(pages), hasEnded: false }
    walk.waiting = []
    const end = (): void => {
      commit.hasEnded = true
      reading.recordsAhead -= weighPages(pages)
    }
    // A failure is thrown by the next `settle`.
    commit.ended.then(end, end)
    underWay = commit
  }
  async function settle(): Promise<Kept> {
    const commit = underWay
    underWay = undefined
    return (await commit?.ended) ?? 'kept'
  }

  return {
    async offer(walk) {
      if (underWay?.hasEnded === true && (await settle()) === 'overtaken') return 'overtaken'
      if (underWay !== undefined && isFull(reading, walk) && (await settle()) === 'overtaken') return 'overtaken'
      // The first page of a window waits for the second: with it the window may be at its end, and is put aside.
      const isFirst = walk.from === undefined && walk.waiting.length === 1
      if (underWay === undefined && (!isFirst || isFull(reading, walk))) begin(walk)
      // A list that begins when the others have fetched too much has no earlier commit to wait for, only its own.
      return isFull(reading, walk) ? settle() : 'kept'
    },
    async finish(walk) {
      if ((await settle()) === 'overtaken') return 'overtaken'
      if (walk.waiting.length > 0) begin(walk)
      return settle()
    },
    settle,
  }
}

function isFull({ recordsAhead }: Reading, { waiting }: Walk): boolean {
  return waiting.length >= pagesAheadMax || recordsAhead >= recordsAheadMax
}

function weighPages(pages: readonly Page[]): number {
  return pages.reduce((sum, { records }) => sum + weigh(records), 0)
}

function countRecords(pages: readonly Page[]): number {
  return pages.reduce((sum, { records }) => sum + records.length, 0)
}

async function keepPages(deps: ReadingDeps, reading: Reading, walk: Walk, pages: readonly Page[]): Promise<Kept> {
  const next = pages.at(-1)?.next ?? null
  const shown = pages.reduce((sum, { records }) => sum + (records.length === 0 ? emptyPageWeight : records.length), 0)
  const states = pages.flatMap((page) => (page.state === undefined ? [] : [page.state]))
  const state = states.length === 0 ? undefined : states.reduce((before, one) => joinStates(reading, before, one))
  const progress = { ...toWindow(reading, walk, pages), from: walk.from, next, shown, state }
  const kept = await keepProgress(deps, reading, progress)
  if (kept === 'kept') {
    walk.from = standingOfList(reading, walk.list).open.find(({ start }) => start === walk.window.start)
    noteWalked(reading, walk, pages)
    reading.onProgress(countRecords(pages))
  }
  return kept
}

function noteWalked({ walked }: Reading, { list, window }: Walk, pages: readonly Page[]): void {
  if (list.stream.newestFirst !== true) return
  const oldestMs = Math.min(...pages.flatMap(({ records }) => records.map(({ occurredAtMs }) => occurredAtMs)))
  // Other records of that very millisecond may be on the next page.
  if (oldestMs < window.end) walked.set(listIdOf(list), { start: oldestMs + 1, end: window.end })
}

function toWindow(reading: Reading, walk: Walk, pages: readonly Page[]): FinishedWindow {
  return {
    list: walk.list,
    window: walk.window,
    records: pages.flatMap(({ records }) => records),
    withdrawn: pages.flatMap(({ withdrawn }) => withdrawn ?? []),
    complete: toComplete(reading, walk, pages.at(-1)),
    lastingMark: pages.findLast(({ lastingMark }) => lastingMark !== undefined)?.lastingMark,
  }
}

/** A window in blocks is compared by the times of its edges. A first read has nothing to compare with. */
function toComplete({ opened }: Reading, { keys, window }: Walk, last: Page | undefined): FinishedWindow['complete'] {
  if (last?.complete === undefined || last.next !== null || keys === undefined) return undefined
  if (opened.status === 'syncing') return undefined
  const { unit, start, end } = last.complete
  if (unit === 'ms') return { startMs: start, endMs: end, keys }
  const { startMs, endMs } = window
  const isWhole = start === window.start && end === window.end
  return startMs === undefined || endMs === undefined || !isWhole ? undefined : { startMs, endMs, keys }
}

/** The window was read to its end. A small one without kept records is put aside (commit.ts). */
async function closeWalk(deps: ReadingDeps, reading: Reading, walk: Walk, committer: Committer): Promise<Kept> {
  // Only after the running commit is it known whether anything of the window is kept.
  if ((await committer.settle()) === 'overtaken') return 'overtaken'
  const { list, waiting } = walk
  const isSmall = walk.from === undefined && waiting.length <= 2 && !waiting.some(({ state }) => state !== undefined)
  if (isSmall) reading.recordsAhead -= weighPages(waiting)
  const kept = isSmall ? await putAside(deps, reading, toWindow(reading, walk, waiting)) : await committer.finish(walk)
  if (kept === 'kept') {
    coverInMemory(reading, list, walk.window)
    if (!isSmall) reading.onProgress(0)
  }
  return kept
}

/** The page says that the list is gone. Those before it are kept. */
async function giveUp(deps: ReadingDeps, reading: Reading, walk: Walk, committer: Committer): Promise<'closed' | Stop> {
  const state = walk.waiting.pop()?.state
  if ((await committer.finish(walk)) === 'overtaken') return { kind: 'overtaken' }
  const kept = await keepGone(deps, reading, { list: walk.list, from: walk.from, state })
  return kept === 'overtaken' ? { kind: 'overtaken' } : 'closed'
}

async function leaveOut(
  deps: ReadingDeps,
  reading: Reading,
  walk: Walk,
  stop: Extract<Stop, { kind: 'fault' }>,
): Promise<'closed' | Stop> {
  if (!(await dropBookmark(deps, reading, walk))) return { kind: 'overtaken' }
  const { list, window } = walk
  const id = listIdOf(list)
  reading.faults.set(id, stop.error)
  // Its pages will be read again from the start of the window, so they are not progress.
  reading.progressed.delete(id)
  reading.missing.set(id, [...(reading.missing.get(id) ?? []), window])
  reading.allowance.countPage()
  return 'closed'
}

/** False when another worker has moved it. */
async function dropBookmark(deps: ReadingDeps, reading: Reading, { list, window, from }: Walk): Promise<boolean> {
  const key = { stream: list.stream.name, partition: list.partition }
  if (from !== undefined && !(await store.dropBookmark(deps.db, reading.ref, key, from))) return false
  closeBookmark(standingOfList(reading, list), window.start)
  return true
}
