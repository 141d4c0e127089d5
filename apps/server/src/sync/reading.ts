/**
 * The state of one job, which reads one opened connection up to one moment. Its parts share it and keep it up to date.
 */
import type { Fault, SourceError } from '@assay/core'
import type { ConnectorState, Height, RawRecord, Stream } from '@assay/connectors'
import type { Logger } from 'pino'
import type { Connections, OpenedConnection } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { CompleteWindow, Ledger } from '../ledger/index.ts'
import { CircuitOpen, type Ask, type Gate, type Metering, type Stop } from '../metering/index.ts'
import type { ConnectionRef } from '../owner.ts'
import type { Proof } from '../proof/index.ts'
import { idOf, standingOf, type CoveredSpan, type List, type ListStanding, type Standings } from './standings.ts'
import type { Span } from './plan.ts'

export interface ReadingDeps {
  db: Database
  connections: Connections
  ledger: Ledger
  metering: Metering
  /** Whether the balances add up to what was read. */
  prove: Proof['prove']
  watch: ReadingWatch
  /** Records that may be kept of one user. */
  recordsMax?: number
  /** Pages that one job reads, for each call that may be under way. */
  pagesPerJobMax?: number | undefined
  now(): number
  random(): number
  /** How long to wait instead of `ms`: shorter in sandbox mode. */
  scaleWait(this: void, ms: number): number
  log: Logger
}

/** What an operator sees of reading. */
export interface ReadingWatch {
  /** A job that read a connection has ended with this outcome. */
  read(providerId: string, outcome: string): void
  /** A job that read a connection failed because of an error of our own. */
  brokeDown(): void
  /** A transaction that keeps pages took this long. */
  committed(providerId: string, seconds: number): void
}

/** What one job may do before it makes room for others. */
export interface Allowance {
  /** False when the job's pages or its time are used up, or it was asked to make room. */
  mayReadOn(): boolean
  countPage(): void
  pagesRead(): number
  /** Nothing more is read from now on: pages that are under way are kept, and the job ends. */
  end(): void
}

/** A window that was read in one go, and is not kept yet. */
export interface FinishedWindow {
  list: List
  window: CoveredSpan
  records: readonly RawRecord[]
  withdrawn: readonly string[]
  complete: CompleteWindow | undefined
  lastingMark: string | undefined
}

export interface Reading {
  ref: ConnectionRef
  opened: OpenedConnection
  ask: Ask
  /**
   * Writes of a job come one after another, because the lists that are read at once share the state, the windows that
   * were put aside and the rows of their lasting marks.
   */
  inTurn: Gate
  untilMs: number
  allowance: Allowance
  standings: Standings
  areBalancesRead: boolean
  /** Names of what is held and not among the balances. */
  leftOut: readonly string[]
  /** The newest state, which may not be committed yet. */
  state: ConnectorState
  /** A page or the balances replaced the state: the connector may name other lists now. */
  isStateNew: boolean
  finished: FinishedWindow[]
  /** What the fetched records of all lists weigh that are not committed yet. */
  recordsAhead: number
  /** New records that this job has committed, counted as `userRecords` counts them. */
  recordsAdded: number
  /** Something was committed: records, or only a mark that moved. */
  hasNews: boolean
  /** By list: the fault that keeps a part of it, or all of it, from being read now. */
  faults: Map<string, SourceError>
  /** Lists that have more than their share of what may be kept of a user, and are not read on. */
  full: Set<string>
  /** By list: windows that the provider could not give in this job. */
  missing: Map<string, CoveredSpan[]>
  /** By list: spans that are covered, and are read again in this job. */
  again: Map<string, Span[]>
  /** Lists that are read again in this job because the connector was mistaken about them. */
  corrected: Set<string>
  /**
   * By list whose pages come newest first: what has been kept of the window that is being walked through. Coverage
   * counts the window only when it is read to its end.
   */
  walked: Map<string, Span>
  /** Records were kept, this many; zero when a window was kept to its end. */
  onProgress(records: number): void
  /** By list of blocks: where reading ends, asked for once. */
  heights: Map<string, Height>
  /** Lists that this job has read a page of. */
  progressed: Set<string>
}

/** Reached only where a provider answers within ten milliseconds: every other job ends by its time. */
export const pagesPerJobMaxDefault = 2_000
const jobMaxMs = 20_000

export function startAllowance(signal: AbortSignal, pagesMax: number): Allowance {
  const endsAt = performance.now() + jobMaxMs
  let pages = 0
  let hasEnded = false
  return {
    mayReadOn: () => !hasEnded && pages < pagesMax && performance.now() < endsAt && !signal.aborted,
    countPage() {
      pages += 1
    },
    pagesRead: () => pages,
    end() {
      hasEnded = true
    },
  }
}

export function callsMaxOf({ connector }: Pick<OpenedConnection, 'connector'>): number {
  return connector.atOnce?.callsMax ?? 1
}

/** False for what may concern one list alone. */
export function endsJob(stop: Stop): boolean {
  if (stop.kind !== 'fault') return stop.kind === 'overtaken'
  const mayPass: readonly Fault[] = ['venue_down', 'unreadable_answer', 'data_hole']
  return isProviderAway(stop.error) || !mayPass.includes(stop.error.fault)
}

/** The provider is known to be down, as a whole. */
export function isProviderAway(error: SourceError): boolean {
  return error instanceof CircuitOpen && error.isOfProvider
}

/** A page replaces the state, unless others were fetched at the same time: then what they learned is joined. */
export function joinStates({ opened }: Reading, before: ConnectorState, learned: ConnectorState): ConnectorState {
  return opened.connector.atOnce?.joinStates(before, learned) ?? learned
}

export function listIdOf({ stream, partition }: List): string {
  return idOf(stream.name, partition)
}

export function standingOfList({ standings }: Reading, { stream, partition }: List): ListStanding {
  return standingOf(standings, stream.name, partition)
}

/** The lists of the account as the connector names them now, in the order of its streams and then of their names. */
export function listLists({ opened, standings }: Reading): List[] {
  const listed = [...standings.lists].filter(([, { isListed }]) => isListed)
  const named = Map.groupBy(
    listed.map(([id]) => JSON.parse(id) as [string, string]).toSorted(([, a], [, b]) => (a < b ? -1 : 1)),
    ([stream]) => stream,
  )
  return opened.definition.streams.flatMap((stream: Stream): List[] => {
    if (!stream.partitioned) return [{ stream, partition: '' }]
    return (named.get(stream.name) ?? []).map(([, partition]) => ({ stream, partition }))
  })
}

/**
 * What records take in memory: one of more than this many characters weighs as much as several. Strangers can make those
 * of a wallet megabytes long, so their number does not limit what is held of them.
 */
const longRecord = 4_096

export function weigh(records: readonly RawRecord[]): number {
  return records.reduce((sum, { body }) => sum + 1 + Math.floor(body.length / longRecord), 0)
}
