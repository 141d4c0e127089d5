/**
 * Reads one stream page by page until it is covered up to a time. The engine loops; the connector answers one page.
 */
import type { Page, Stream } from '@assay/connectors'
import type { ConnectionRef, OpenedConnection } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Budgets } from './budget.ts'
import { nextWindow } from './plan.ts'
import * as store from './store.ts'
import type { Bookmark } from './store.ts'

/** What one job may do before it lets others to the queue. */
export interface JobAllowance {
  /** False when the job's pages or its time are used up, or the process is stopping. */
  mayReadOn(): boolean
  countPage(): void
  pagesRead(): number
}

export interface ReadDeps {
  db: Database
  ledger: Ledger
  budgets: Budgets
}

/** How long whoever was overtaken stays away: longer than a page takes. */
export const overtakenDelayMs = 5_000

/**
 * Two workers read one connection, because one was taken for dead while it only stood still. Whichever comes second to a
 * bookmark gives up its page.
 */
export class Overtaken extends Error {
  constructor(connectionId: string) {
    super(`another worker reads ${connectionId}`)
    this.name = 'Overtaken'
  }
}

/** True when the stream is covered up to `untilMs`; false when the allowance ended first. */
export async function readStream(
  deps: ReadDeps,
  ref: ConnectionRef,
  opened: OpenedConnection,
  stream: Stream,
  untilMs: number,
  allowance: JobAllowance,
): Promise<boolean> {
  let bookmark = await store.findBookmark(deps.db, ref, stream.name)
  for (;;) {
    let window = bookmark?.window
    if (window === undefined) {
      window = nextWindow(stream.pager, await store.listCovered(deps.db, ref, stream.name), untilMs)
      if (window === undefined) return true
    }
    if (!allowance.mayReadOn()) return false
    await deps.budgets.take(opened, stream.cost)
    const page = await opened.session.fetchPage(stream.name, window, bookmark?.position ?? null)
    allowance.countPage()
    bookmark = await commitPage(deps, ref, stream, { window, from: bookmark, page })
  }
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
  ref: ConnectionRef,
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
    if (!done) throw new Overtaken(ref.connectionId)
    return to
  })
}
