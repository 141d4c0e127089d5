/**
 * Reads one stream page by page until it is covered. The engine loops; the connector answers one page.
 */
import { SourceError } from '@assay/core'
import type { Page, Stream, Window } from '@assay/connectors'
import type { Ask, ConnectionRef, OpenedConnection } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { Ledger } from '../ledger/index.ts'
import { Overtaken } from './ask.ts'
import { nextWindow } from './plan.ts'
import * as store from './store.ts'
import type { Bookmark } from './store.ts'

const distrustedMs = 30 * 24 * 3_600_000

/** What one job may do before it lets others to the queue. */
export interface JobAllowance {
  /** False when the job's pages or its time are used up, or it was asked to make room. */
  mayReadOn(): boolean
  countPage(): void
  pagesRead(): number
}

export interface ReadDeps {
  db: Database
  ledger: Ledger
  now(): number
}

/** What is read in one job: one connection, opened, up to one time. */
export interface Reading {
  ref: ConnectionRef
  opened: OpenedConnection
  ask: Ask
  untilMs: number
  allowance: JobAllowance
  /** By stream: what keeps a part of it, or all of it, from being read now. */
  faults: Map<string, SourceError>
  /** By stream: windows that the provider could not give in this job. */
  missing: Map<string, Window[]>
  /** Streams of which this job has kept a page. */
  progressed: Set<string>
}

/** `reached`: everything since `notBeforeMs`, and there is older. `stopped`: the allowance ended first. */
export type StreamProgress = 'covered' | 'reached' | 'stopped'

/**
 * A window that the provider cannot give (`data_hole`) is noted and the rest read around it. The next run asks for it
 * again: what one finds missing may be there for another.
 */
export async function readStream(
  deps: ReadDeps,
  reading: Reading,
  stream: Stream,
  notBeforeMs?: number,
): Promise<StreamProgress> {
  const { ref, opened, ask, untilMs, allowance } = reading
  let bookmark = await store.findBookmark(deps.db, ref, stream.name)
  for (;;) {
    const window = bookmark?.window ?? (await planWindow())
    if (typeof window === 'string') return window
    if (!allowance.mayReadOn()) return 'stopped'
    const position = bookmark?.position ?? null
    try {
      const page = await ask(stream.cost, () => opened.session.fetchPage(stream.name, window, position))
      bookmark = await commitPage(deps, reading, stream, { window, from: bookmark, page })
      reading.progressed.add(stream.name)
    } catch (error) {
      if (!(error instanceof SourceError) || error.fault !== 'data_hole') throw error
      await leaveOut(deps, reading, stream, { window, from: bookmark, fault: error })
      bookmark = undefined
    }
    allowance.countPage()
  }

  async function planWindow(): Promise<ReturnType<typeof nextWindow>> {
    let covered = await store.listCovered(deps.db, ref, stream.name)
    if (covered.some(({ endMs }) => endMs > deps.now())) {
      // Marked as read before it had come, by a clock that has been set right since. By how much, nobody knows.
      await store.distrustSince(deps.db, ref, stream.name, deps.now() - distrustedMs)
      covered = await store.listCovered(deps.db, ref, stream.name)
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

// Rows, bookmark and covered window move in one transaction. A crash between them would lose a page for good; a page
// read twice is harmless, because (connection, stream, source_key) is unique.
async function commitPage(
  deps: ReadDeps,
  { ref, opened }: Reading,
  stream: Stream,
  { window, from, page }: ReadPage,
): Promise<Bookmark | undefined> {
  return deps.db.transaction(async (tx) => {
    await deps.ledger.keepRaw(tx, ref, stream.name, page.records)
    const to = page.next === null ? undefined : { window, position: page.next }
    const done =
      to === undefined
        ? await store.closeWindow(tx, ref, stream.name, from, window)
        : await store.moveBookmark(tx, ref, stream.name, from, to)
    if (!done) throw new Overtaken(opened.keyLane)
    return to
  })
}
