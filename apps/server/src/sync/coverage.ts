/**
 * What was read of a connection and what was not, with the reason: for each stream the covered windows, and as holes
 * the time between them, what the provider no longer has, and records that could not be understood.
 */
import { getStreams } from '@assay/connectors/catalog'
import type { Stream, Window } from '@assay/connectors'
import type { Cause, ErrorItem } from '@assay/core'
import type { Connections } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { Ledger, PoisonedTime } from '../ledger/index.ts'
import type { Owner } from '../owner.ts'
import { beginningMs } from './plan.ts'
import * as store from './store.ts'

export interface Hole extends Window {
  cause: Cause
  message: string
}

export interface StreamCoverage {
  stream: string
  windows: Window[]
  holes: Hole[]
  providerLimit: string | null
  remedy: string | null
}

export interface ReadingState {
  /** Oldest first, none touching another. */
  covered: readonly Window[]
  poisoned: readonly Pick<PoisonedTime, 'startMs' | 'endMs' | 'records'>[]
  /** Why reading is not at its end; undefined when it is. */
  issue: Pick<ErrorItem, 'cause' | 'message' | 'fix'> | undefined
  nowMs: number
}

interface CoverageDeps {
  db: Database
  connections: Connections
  ledger: Ledger
  now(): number
}

/** Undefined when the owner has no such connection. */
export async function findCoverage(
  deps: CoverageDeps,
  owner: Owner,
  connectionId: string,
): Promise<StreamCoverage[] | undefined> {
  const connection = await deps.connections.find(owner, connectionId)
  if (connection === undefined) return undefined
  const ref = { ...owner, connectionKey: connection.connection_key, connectionId }
  const issues = await deps.connections.listIssues(owner)
  const issue = issues.find((item) => item.connection_id === connectionId)
  const [covered, poisoned] = await Promise.all([
    store.listAllCovered(deps.db, ref),
    deps.ledger.listPoisonedTimes(ref),
  ])
  return getStreams(connection.provider_id).map((stream) =>
    toStreamCoverage(stream, {
      covered: covered.filter(({ stream: name }) => name === stream.name),
      poisoned: poisoned.filter(({ stream: name }) => name === stream.name),
      issue,
      nowMs: deps.now(),
    }),
  )
}

const notRead = { cause: 'sync_in_progress', message: 'This part of the history has not been read yet.' } as const

export function toStreamCoverage(stream: Stream, state: ReadingState): StreamCoverage {
  const { covered, issue, nowMs } = state
  const { retentionMs } = stream.pager
  const newestMs = covered.at(-1)?.endMs
  // Between two runs the last minutes are not read yet. That does not count as a hole: the next run reads them.
  const untilMs = issue === undefined && newestMs !== undefined ? newestMs : nowMs
  const reachMs = retentionMs === null ? beginningMs : Math.max(beginningMs, nowMs - retentionMs)
  const { cause, message } = issue ?? notRead
  const windows = covered.map(({ startMs, endMs }) => ({ startMs, endMs }))
  const holes = [
    ...gapsBetween(windows, beginningMs, untilMs).flatMap((gap) =>
      splitAt(gap, reachMs).map(({ part, lost }): Hole => {
        if (!lost) return { ...part, cause, message }
        return { ...part, cause: 'data_hole', message: stream.providerLimit ?? 'The provider no longer has this part.' }
      }),
    ),
    ...state.poisoned.map(({ startMs, endMs, records }): Hole => {
      const message = `${records === 1 ? 'One record' : `${records} records`} of the provider could not be understood and ${records === 1 ? 'is' : 'are'} not among the transactions.`
      return { startMs, endMs, cause: 'data_hole', message }
    }),
  ].toSorted((a, b) => a.startMs - b.startMs || a.endMs - b.endMs)
  const remedy = (holes.length > 0 ? issue?.fix : undefined) ?? stream.remedy
  return { stream: stream.name, windows, holes, providerLimit: stream.providerLimit, remedy }
}

function gapsBetween(windows: readonly Window[], fromMs: number, untilMs: number): Window[] {
  const gaps: Window[] = []
  let atMs = fromMs
  for (const { startMs, endMs } of windows) {
    if (startMs > atMs) gaps.push({ startMs: atMs, endMs: Math.min(startMs, untilMs) })
    atMs = Math.max(atMs, endMs)
  }
  if (untilMs > atMs) gaps.push({ startMs: atMs, endMs: untilMs })
  return gaps
}

/** What lies before `reachMs` the provider has forgotten; the rest can still be read. */
function splitAt(gap: Window, reachMs: number): { part: Window; lost: boolean }[] {
  if (gap.endMs <= reachMs) return [{ part: gap, lost: true }]
  if (gap.startMs >= reachMs) return [{ part: gap, lost: false }]
  return [
    { part: { startMs: gap.startMs, endMs: reachMs }, lost: true },
    { part: { startMs: reachMs, endMs: gap.endMs }, lost: false },
  ]
}

export interface Completeness {
  /** Epoch ms. */
  fromMs: number
  /** Why not earlier; undefined when everything was read. */
  hole: (Hole & { connectionId: string }) | undefined
}

/** From when on nothing is missing in the required streams of all the owner's connections. */
export async function findCompleteness(deps: CoverageDeps, owner: Owner): Promise<Completeness> {
  let newest: Completeness = { fromMs: beginningMs, hole: undefined }
  for (const { id, provider_id: providerId } of await store.listReadable(deps.db, owner)) {
    const streams = (await findCoverage(deps, owner, id)) ?? []
    const required = new Set(getStreams(providerId).flatMap(({ name, required: is }) => (is ? [name] : [])))
    for (const { windows, holes } of streams.filter(({ stream }) => required.has(stream))) {
      const readUntilMs = windows.at(-1)?.endMs ?? Infinity
      // What came after the last run is not known anywhere, balances included, and cuts nothing off.
      const hole = holes.findLast(({ startMs }) => startMs < readUntilMs)
      if (hole !== undefined && hole.endMs > newest.fromMs)
        newest = { fromMs: hole.endMs, hole: { ...hole, connectionId: id } }
    }
  }
  return newest
}
