/**
 * Reads one connection inside one job, as far as the job's allowance goes. It returns an outcome and never throws to
 * steer: run-job.ts and refresh-job.ts decide what happens after each outcome.
 *
 *   balances → lists → the last weeks of every list → the rest, while what has been read is derived → all derived
 */
import { dayMs, SourceError } from '@assay/core'
import type { OpenedConnection } from '../connections/index.ts'
import { createGate, type Stop } from '../metering/index.ts'
import type { ConnectionRef } from '../owner.ts'
import type { Reach } from '../proof/index.ts'
import { toStored, type Kept } from './commit.ts'
import { toReach } from './coverage.ts'
import { derive, startDeriver } from './derive-meanwhile.ts'
import type { ListProgress } from './read-list.ts'
import { holdBackNetworks, listNetworksWith, readLists, readPartitions } from './read-lists.ts'
import {
  callsMaxOf,
  isProviderAway,
  listIdOf,
  listLists,
  pagesPerJobMaxDefault,
  standingOfList,
  startAllowance,
  type Reading,
  type ReadingDeps,
} from './reading.ts'
import * as store from './store.ts'

export type { ReadingDeps } from './reading.ts'

/** `done`: everything up to the run's end was read. `more`: the allowance of this job ended first. */
export type Outcome = { kind: 'done' } | { kind: 'more' } | Stop

/** `recent`: the last days of every list come first. `rest`: those are shown already. */
export type Stage = 'recent' | 'rest'

/** What the payload of a job holds about a run that has begun. */
export interface RunState {
  untilMs: number
  stage: Stage
  /** Names of what was held and left out when the balances were read. */
  leftOut?: string[]
}

export interface ReadRequest {
  /** `run`: balances, then history. */
  what: 'run' | 'assets' | 'transactions'
  /** Undefined at the beginning of a run. */
  run: RunState | undefined
  interactive: boolean
  signal: AbortSignal
}

export interface ReadResult {
  outcome: Outcome
  /** Where the next job continues; undefined when the run has to begin again, with its balances. */
  run: RunState | undefined
  /**
   * True when the job read a page of every list that failed. Only failures without a page between them add up to longer
   * pauses; pages of other lists do not count for a list that is away.
   */
  hasProgressed: boolean
  /** The balances were to be read by this job, and were not, or not on every network. */
  lacksBalances: boolean
  /** The parts of the account that a fault is about, by names that a person knows. */
  parts: readonly string[]
  /** The job ended before it had tried everything. */
  hasMore: boolean
  /** Nothing was new, and no failure is on record. */
  isIdle: boolean
  /** Everything up to the run's end was read, except for what the provider cannot give. */
  isRead: boolean
  /** How far the history is read now. */
  reach: Reach | undefined
  /** The balances may no longer add up, or have not been judged yet. */
  isProofDue: boolean
}

/** People look at the last days first, so these are shown before the rest is read. */
const shownMs = 30 * dayMs

export async function readConnection(
  deps: ReadingDeps,
  ref: ConnectionRef,
  opened: OpenedConnection,
  request: ReadRequest,
): Promise<ReadResult> {
  const { run: given, interactive, signal } = request
  const { pagesPerJobMax = pagesPerJobMaxDefault } = deps
  // Rows of the last moments may still be on their way to the provider's own list.
  const untilMs = given?.untilMs ?? Math.floor(deps.now() - opened.definition.settlesMs)
  const standings = await store.loadStandings(deps.db, ref)
  const reading: Reading = {
    ...{ ref, opened, untilMs, standings, state: standings.state, isStateNew: false, areBalancesRead: false },
    leftOut: given?.leftOut ?? [],
    ask: deps.metering.startAsking(opened, { interactive }),
    inTurn: createGate(1),
    allowance: startAllowance(signal, pagesPerJobMax * callsMaxOf(opened)),
    ...{
      finished: [],
      recordsAhead: 0,
      recordsAdded: 0,
      hasNews: false,
      faults: new Map(),
      full: new Set(),
      missing: new Map(),
      again: new Map(),
      corrected: new Set(),
      walked: new Map(),
      onProgress: () => undefined,
      heights: new Map(),
    },
    progressed: new Set(),
  }
  const run: RunState = { untilMs, stage: given?.stage ?? 'recent' }
  const read = await readParts(deps, reading, run, request)
  const outcome = toOutcome(reading, read)
  deps.watch.read(opened.providerId, outcome.kind === 'fault' ? outcome.error.fault : outcome.kind)
  const pages = reading.allowance.pagesRead()
  const hasBegun = given !== undefined || pages > 0 || read.kind === 'more'
  // A part of the account that is unread is asked for with the balances.
  const lacksBalances = readsBalances(request) && !reading.areBalancesRead
  const isUnread = outcome.kind === 'fault' && (outcome.error.unread.length > 0 || lacksBalances)
  const goesOn = hasBegun && !(isUnread && read.kind === 'done')
  return {
    outcome,
    run: goesOn ? { ...run, ...(reading.leftOut.length > 0 && { leftOut: [...reading.leftOut] }) } : undefined,
    // While the allowance ends first, other lists have more to give, whatever is missing in this one.
    hasProgressed:
      pages > 0 && (read.kind === 'more' || [...reading.faults.keys()].every((id) => reading.progressed.has(id))),
    lacksBalances,
    parts: outcome.kind === 'fault' ? listParts(reading, outcome.error) : [],
    hasMore: read.kind !== 'done',
    isIdle: !reading.hasNews && !standings.hasFailures,
    isRead: read.kind === 'done' && [...reading.faults.values()].every(({ fault }) => fault === 'data_hole'),
    ...toProvable(reading),
  }
}

function toProvable(reading: Reading): Pick<ReadResult, 'reach' | 'isProofDue'> {
  const { opened, standings, hasNews } = reading
  const reach = toReach(opened.definition.streams, standings.lists, reading)
  return { reach, isProofDue: standings.isProofDue || hasNews || reach === undefined || reach.holes.length > 0 }
}

/**
 * A list that could not be read is reported, whatever ended the job. Balances that were left out are reported when
 * nothing else is, at the end of the run that read them.
 */
function toOutcome({ faults, leftOut }: Reading, outcome: Outcome): Outcome {
  const [fault] = faults.values()
  if (fault === undefined && outcome.kind === 'done' && leftOut.length > 0) {
    return { kind: 'fault', error: new SourceError('data_hole', 'balances were left out', { unread: leftOut }) }
  }
  if (fault === undefined || outcome.kind === 'overtaken') return outcome
  if (outcome.kind === 'fault' && isProviderAway(outcome.error)) return outcome
  return { kind: 'fault', error: fault }
}

function listParts(reading: Reading, { fault, unread }: SourceError): readonly string[] {
  return fault === 'data_hole' ? unread : listNetworksWith(reading, fault)
}

async function readParts(deps: ReadingDeps, reading: Reading, run: RunState, request: ReadRequest): Promise<Outcome> {
  const { what, interactive } = request
  const { ref, opened, ask } = reading
  if (request.run === undefined) {
    if (what === 'run' && opened.status !== 'syncing') {
      const stop = await deps.connections.checkRights(ref, opened, ask)
      if (stop !== undefined) return stop
    }
    if (readsBalances(request)) {
      const stop = await readBalances(deps, reading)
      if (stop !== undefined) return stop
    }
    const stop = what === 'assets' ? undefined : await readPartitions(deps, reading)
    if (stop !== undefined) return stop
    // A person is looking at a new connection: its first job is for the balances alone.
    if (what === 'run' && interactive) return { kind: 'more' }
  }
  return what === 'assets' ? { kind: 'done' } : readHistory(deps, reading, run)
}

/** A run that continues in another job began with its balances. */
function readsBalances({ what, run }: ReadRequest): boolean {
  return what !== 'transactions' && run === undefined
}

/**
 * More than a wallet on every chain is read for. Each new code of a balance becomes an asset that all users share and
 * that is kept forever.
 */
const balancesMax = 20_000

/**
 * Returns a wait when the allowance ends before the whole account was read: the next job reads the other parts. The
 * balances count as read when those of every network were.
 */
async function readBalances(deps: ReadingDeps, reading: Reading): Promise<Stop | undefined> {
  const { ref, opened, standings } = reading
  for (;;) {
    const asked = await reading.ask(opened.connector.budget.balances, () => opened.reader.fetchBalances(reading.state))
    if (asked.kind !== 'answer') return asked
    const {
      balances,
      unreadable = [],
      isInDoubt = false,
      mayHaveLost = false,
      state,
      isPartial = false,
      failed = [],
    } = asked.answer
    if (balances.length > balancesMax) {
      return { kind: 'fault', error: new SourceError('unreadable_answer', `more than ${balancesMax} balances`) }
    }
    const kept = { isWhole: failed.length === 0 && !isInDoubt, mayHaveLost }
    if (!isPartial && (await deps.ledger.keepHoldings(ref, opened.providerId, balances, kept))) {
      standings.isProofDue = true
    }
    if (state !== undefined) {
      const version = await store.replaceState(deps.db, ref, toStored(state), standings.stateVersion)
      if (version === undefined) return { kind: 'overtaken' }
      Object.assign(standings, { state, stateVersion: version })
      Object.assign(reading, { state, isStateNew: true })
    }
    reading.leftOut = unreadable
    holdBackNetworks(reading, failed)
    reading.areBalancesRead = !isPartial && failed.length === 0
    if (!isPartial || failed.length > 0) return undefined
    if (!reading.allowance.mayReadOn()) return { kind: 'wait', ms: 0 }
  }
}

/**
 * Any user can connect the public wallets of exchanges, whose histories have no end, and any stranger can send a wallet
 * millions of transfers. At the limit of what is kept of a user, only what has its share is not read on: otherwise one
 * list that a stranger has filled would end the history of everything else. Each connection has the same share, and in
 * a connection that has used its own each list has. At twice the limit nothing is read on: shares shrink with each
 * account that is added, but what was kept under larger ones stays.
 */
function holdBackFull({ recordsMax = Infinity }: ReadingDeps, reading: Reading): void {
  const { opened, faults, full } = reading
  const share = opened.userRecords < 2 * recordsMax ? recordsMax / opened.userConnections : 0
  if (opened.userRecords < recordsMax || opened.records < share) return
  const lists = listLists(reading)
  for (const list of lists) {
    if (standingOfList(reading, list).records < share / lists.length) continue
    const id = listIdOf(list)
    full.add(id)
    faults.set(id, new SourceError('data_hole', `more than ${recordsMax} records of one user`))
  }
}

/**
 * `run.stage` is where the next job continues. A list that cannot be read does not stop the others: its fault is in
 * `reading.faults`.
 */
async function readHistory(deps: ReadingDeps, reading: Reading, run: RunState): Promise<Outcome> {
  const { opened } = reading
  holdBackFull(deps, reading)
  let progress: ListProgress | Stop = 'reached'
  if (run.stage === 'recent') {
    progress = await readLists(deps, reading, shownMs + opened.definition.storySpanMs)
    if (typeof progress !== 'string') return progress
    if (progress === 'stopped') return { kind: 'more' }
    run.stage = 'rest'
  }
  if (progress === 'reached') {
    const deriver = startDeriver(deps, reading)
    let kept: Kept = 'kept'
    try {
      progress = await readLists(deps, reading)
    } finally {
      kept = await deriver.end()
    }
    if (kept === 'overtaken') return { kind: 'overtaken' }
    if (typeof progress !== 'string') return progress
  }
  return progress !== 'stopped' && (await derive(deps, reading)) ? { kind: 'done' } : { kind: 'more' }
}
