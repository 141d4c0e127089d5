/** Reading one connection inside one job: its balances, and its streams within what a job may do. */
import { SourceError } from '@assay/core'
import type { Logger } from 'pino'
import type { Connections, OpenedConnection } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { Overtaken, startAsking, type AskDeps } from './ask.ts'
import { CircuitOpen } from './circuit.ts'
import { keepFinished, readStream, type JobAllowance, type Reading, type StreamProgress } from './read-stream.ts'

export interface ReadingDeps extends AskDeps {
  db: Database
  connections: Connections
  ledger: Ledger
  now(): number
  random(): number
  /** Divides every wait, in sandbox mode. */
  pace: number
  log: Logger
}

const pagesPerJobMax = 50
const jobMaxMs = 20_000
/** Rows of the last moments may still be on their way to the provider's own list. */
const settleMs = 2_000
const dayMs = 24 * 3_600_000
/** What people look at first is shown before the rest is read. */
const shownMs = 30 * dayMs
/**
 * Records that belong together lie seconds apart as a rule and a week at most (kraken/moves.ts), but for positions that
 * stay open. Those near the edge of what has been read wait for their other half: half a conversion must not show as a
 * sale.
 */
const edgeMs = 8 * dayMs
/** So much of every stream is read first. */
const recentMs = shownMs + edgeMs

/** `recent`: the last days of every stream come first. `rest`: those are shown already. */
export type Stage = 'recent' | 'rest'

/** What a job's payload says of a run that has begun. */
export interface RunState {
  untilMs: number
  stage: Stage
}

export interface ConnectionReading extends Reading, RunState {}

/** A run's end is fixed when it begins; `until`, epoch ms, is there once it has. */
export function chooseUntil(deps: Pick<ReadingDeps, 'now' | 'pace'>, until: string | undefined): number {
  return until === undefined ? deps.now() - settleMs / deps.pace : Number(until)
}

export function startReading(
  deps: ReadingDeps,
  ref: ConnectionRef,
  opened: OpenedConnection,
  run: RunState & { interactive: boolean; signal: AbortSignal },
): ConnectionReading {
  const { untilMs, stage, interactive } = run
  const ask = startAsking(deps, opened, { interactive })
  const allowance = startAllowance(run.signal)
  const found = { faults: new Map(), missing: new Map(), progressed: new Set<string>() }
  const kept = { places: undefined, finished: [], hasNews: false }
  return { ref, opened, ask, untilMs, stage, allowance, ...kept, ...found }
}

export async function readBalances(deps: ReadingDeps, { ref, opened, ask }: Reading): Promise<void> {
  const balances = await ask(opened.connector.budget.balancesCost, () => opened.session.fetchBalances())
  await deps.ledger.keepHoldings(ref, opened.providerId, balances)
}

/**
 * False when the job's allowance ended first; `reading.stage` is then where the next job goes on. A stream that cannot
 * be read does not keep the others from being read: its fault is in `reading.faults`, for the caller to act on.
 */
export async function readHistory(deps: ReadingDeps, reading: ConnectionReading): Promise<boolean> {
  const { ref, opened, untilMs, allowance } = reading
  const mayGoOn = (): boolean => allowance.mayReadOn()
  if (reading.stage === 'recent') {
    const progress = await readStreams(deps, reading, untilMs - recentMs)
    if (progress === 'stopped') return false
    if (progress === 'reached' && hasRequired(reading)) {
      const sinceMs = untilMs - shownMs
      if (!(await deps.ledger.derive(ref, opened.connector, mayGoOn, sinceMs))) return false
    }
    reading.stage = 'rest'
  }
  if ((await readStreams(deps, reading)) === 'stopped') return false
  return !hasRequired(reading) || deps.ledger.derive(ref, opened.connector, mayGoOn)
}

/** The whole of the streams: the least that any of them came to. */
async function readStreams(
  deps: ReadingDeps,
  reading: ConnectionReading,
  notBeforeMs?: number,
): Promise<StreamProgress> {
  try {
    const progress = await readEach(deps, reading, notBeforeMs)
    await keepFinished(deps, reading)
    return progress
  } catch (error) {
    // Pages of other streams are good, whatever ended this one; not so when another worker has the key.
    if (!(error instanceof Overtaken)) await keepFinished(deps, reading)
    throw error
  }
}

async function readEach(
  deps: ReadingDeps,
  reading: ConnectionReading,
  notBeforeMs: number | undefined,
): Promise<StreamProgress> {
  let whole: StreamProgress = 'covered'
  for (const stream of reading.opened.connector.streams) {
    if (isAway(reading, stream.name)) continue
    try {
      const progress = await readStream(deps, reading, stream, notBeforeMs)
      if (progress === 'stopped') return 'stopped'
      if (progress === 'reached') whole = 'reached'
    } catch (error) {
      if (!(error instanceof SourceError) || error instanceof CircuitOpen || error.fault !== 'venue_down') throw error
      // One endpoint may be away by itself. Two are the provider.
      if ([...reading.faults.values()].some(({ fault }) => fault === 'venue_down')) throw error
      reading.faults.set(stream.name, error)
    }
  }
  return whole
}

function isAway({ faults }: Reading, stream: string): boolean {
  return faults.get(stream)?.fault === 'venue_down'
}

/** Deriving needs every stream without which a record could be taken for something else. */
function hasRequired(reading: Reading): boolean {
  return !reading.opened.connector.streams.some(({ name, required }) => required && isAway(reading, name))
}

function startAllowance(signal: AbortSignal): JobAllowance {
  const endsAt = performance.now() + jobMaxMs
  let pages = 0
  return {
    mayReadOn: () => pages < pagesPerJobMax && performance.now() < endsAt && !signal.aborted,
    countPage() {
      pages += 1
    },
    pagesRead: () => pages,
  }
}
