/**
 * Reads one stream page by page until it is covered. The engine loops; the connector answers one page.
 *
 * Mostly a run finds one page in each stream, and nothing new in it. Such pages are put aside and kept together once all
 * streams were asked (keepFinished): then a run that finds nothing writes once, whatever the number of streams.
 */
import { SourceError } from '@assay/core'
import type { Page, RawRecord, Stream, Window } from '@assay/connectors'
import { recordRecords, type Ask, type OpenedConnection } from '../connections/index.ts'
import type { Database, Sql } from '../db/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { Overtaken } from './ask.ts'
import { nextWindow } from './plan.ts'
import * as store from './store.ts'
import type { Bookmark, Places } from './store.ts'

const distrustedMs = 30 * 24 * 3_600_000

/** What one job may do before it makes room for others. */
export interface JobAllowance {
  /** False when the job's pages or its time are used up, or it was asked to make room. */
  mayReadOn(): boolean
  countPage(): void
  pagesRead(): number
}

export interface ReadDeps {
  db: Database
  ledger: Pick<Ledger, 'keepRaw' | 'hasNews'>
  now(): number
}

/** A window that one page was enough for. */
interface FinishedPage {
  stream: string
  window: Window
  records: readonly RawRecord[]
}

/** What is read in one job: one connection, opened, up to one time. */
export interface Reading {
  ref: ConnectionRef
  opened: OpenedConnection
  ask: Ask
  untilMs: number
  allowance: JobAllowance
  /** Loaded when the first stream is read, and kept up with what this job reads. */
  places: Places | undefined
  /** Read, and not kept yet. */
  finished: FinishedPage[]
  /** A record was new or changed. */
  hasNews: boolean
  /** By stream: what keeps a part of it, or all of it, from being read now. */
  faults: Map<string, SourceError>
  /** By stream: windows that the provider could not give in this job. */
  missing: Map<string, Window[]>
  /** Streams of which this job has read a page. */
  progressed: Set<string>
}

/** `reached`: everything since `notBeforeMs`, and there is older. `stopped`: the allowance ended first. */
export type StreamProgress = 'covered' | 'reached' | 'stopped'

/**
 * A window that the provider cannot give (`data_hole`) is noted, and the rest is read around it. Retry on the next run:
 * the provider may have recovered the window.
 */
export async function readStream(
  deps: ReadDeps,
  reading: Reading,
  stream: Stream,
  notBeforeMs?: number,
): Promise<StreamProgress> {
  const { ref, opened, ask, untilMs, allowance } = reading
  const places = (reading.places ??= await store.loadPlaces(deps.db, ref))
  let bookmark = places.bookmarks.get(stream.name)
  for (;;) {
    const window = bookmark?.window ?? (await planWindow())
    if (typeof window === 'string') return window
    if (!allowance.mayReadOn()) return 'stopped'
    const position = bookmark?.position ?? null
    try {
      const page = await ask(stream.cost, () => opened.session.fetchPage(stream.name, window, position))
      bookmark = await keepPage(deps, reading, stream, { window, from: bookmark, page })
      reading.progressed.add(stream.name)
    } catch (error) {
      if (!(error instanceof SourceError) || error.fault !== 'data_hole') throw error
      await leaveOut(deps, reading, stream, { window, from: bookmark, fault: error })
      bookmark = undefined
    }
    if (bookmark === undefined) places.bookmarks.delete(stream.name)
    else places.bookmarks.set(stream.name, bookmark)
    allowance.countPage()
  }

  async function planWindow(): Promise<ReturnType<typeof nextWindow>> {
    let covered = places.covered.get(stream.name) ?? []
    if (covered.some(({ endMs }) => endMs > deps.now())) {
      // Marked as read before it had come, by a clock that has been set right since. How far it was off is not known.
      await store.distrustSince(deps.db, ref, stream.name, deps.now() - distrustedMs)
      covered = (await store.loadPlaces(deps.db, ref)).covered.get(stream.name) ?? []
      places.covered.set(stream.name, covered)
    }
    return nextWindow(stream.pager, [...covered, ...(reading.missing.get(stream.name) ?? [])], untilMs, notBeforeMs)
  }
}

async function leaveOut(
  deps: ReadDeps,
  { ref, opened, faults, missing }: Reading,
  stream: Stream,
  { window, from, fault }: { window: Window; from: Bookmark | undefined; fault: SourceError },
): Promise<void> {
  if (from !== undefined && !(await store.dropBookmark(deps.db, ref, stream.name, from)))
    throw new Overtaken(opened.keyLane)
  faults.set(stream.name, fault)
  missing.set(stream.name, [...(missing.get(stream.name) ?? []), window])
}

interface ReadPage {
  window: Bookmark['window']
  from: Bookmark | undefined
  page: Page
}

/** Where the next page is; undefined when the window was read to its end. */
async function keepPage(
  deps: ReadDeps,
  reading: Reading,
  stream: Stream,
  { window, from, page }: ReadPage,
): Promise<Bookmark | undefined> {
  if (from === undefined && page.next === null) {
    // One page of each stream at most, so that little is lost with the process and memory stays flat.
    if (reading.finished.some((other) => other.stream === stream.name)) await keepFinished(deps, reading)
    reading.finished.push({ stream: stream.name, window, records: page.records })
    cover(reading, stream.name, window)
    return undefined
  }
  const to = page.next === null ? undefined : { window, position: page.next }
  await commitPages(deps, reading, [{ stream: stream.name, records: page.records }], async (tx) => {
    if (to !== undefined) return store.moveBookmark(tx, reading.ref, stream.name, from, to)
    return (await store.closeWindows(tx, reading.ref, [{ stream: stream.name, from, window }])) === 1
  })
  if (to === undefined) cover(reading, stream.name, window)
  return to
}

/** In memory, as `closeWindows` does it. */
function cover({ places }: Reading, stream: string, window: Window): void {
  if (places === undefined) return
  const covered = places.covered.get(stream) ?? []
  const touches = ({ startMs, endMs }: Window): boolean => startMs <= window.endMs && endMs >= window.startMs
  const all = [window, ...covered.filter(touches)]
  const merged = {
    startMs: Math.min(...all.map(({ startMs }) => startMs)),
    endMs: Math.max(...all.map(({ endMs }) => endMs)),
  }
  const apart = covered.filter((other) => !touches(other))
  places.covered.set(
    stream,
    [...apart, merged].toSorted((a, b) => a.startMs - b.startMs),
  )
}

/** Keeps the pages that were put aside. To be called when reading ends, however it ends. */
export async function keepFinished(deps: ReadDeps, reading: Reading): Promise<void> {
  const { ref, opened, finished } = reading
  if (finished.length === 0) return
  reading.finished = []
  const closings = finished.map(({ stream, window }) => ({ stream, window, from: undefined }))
  const close = async (sql: Sql): Promise<boolean> => (await store.closeWindows(sql, ref, closings)) === closings.length
  const full = finished.filter(({ records }) => records.length > 0)
  // In a first read nearly everything is new.
  const isNew = full.length > 0 && (opened.status === 'syncing' || (await deps.ledger.hasNews(deps.db, ref, full)))
  if (isNew) {
    await commitPages(deps, reading, full, close)
  } else if (!(await close(deps.db))) throw new Overtaken(opened.keyLane)
}

// Rows, bookmark and covered window move in one transaction. A crash between them would lose a page permanently; a page
// read twice is harmless, because (connection, stream, source_key) is unique.
async function commitPages(
  deps: ReadDeps,
  reading: Reading,
  pages: readonly Pick<FinishedPage, 'stream' | 'records'>[],
  move: (tx: Sql) => Promise<boolean>,
): Promise<void> {
  const { ref, opened } = reading
  await deps.db.transaction(async (tx) => {
    let added = 0
    for (const { stream, records } of pages) added += await deps.ledger.keepRaw(tx, ref, stream, records)
    if (!(await move(tx))) throw new Overtaken(opened.keyLane)
    await recordRecords(tx, ref, added)
  })
  reading.hasNews = true
}
