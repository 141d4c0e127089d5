/**
 * Reads the lists of an account: several at the same time where the connector allows it, begun in the order in which it
 * names them, those that only add detail before the others. Each list keeps its own pages; this file judges their
 * outcomes, one list after another.
 *
 *   a fault of one endpoint or network, a used-up budget → the other lists are read
 *   any other stop, the allowance                        → all end
 */
import type { FailedNetwork, Height } from '@assay/connectors'
import { SourceError, type Fault } from '@assay/core'
import type { Stop } from '../metering/index.ts'
import { keepFinished } from './commit.ts'
import { idOf, standingOf, type List } from './standings.ts'
import { readList, type ListProgress } from './read-list.ts'
import { callsMaxOf, endsJob, listIdOf, listLists, type Reading, type ReadingDeps } from './reading.ts'
import * as store from './store.ts'

/** The job gives up when more lists than this are unreadable. */
const unreadableMax = 5

/** The lists of the account, when a run begins and whenever the connector has learned something. */
export async function readPartitions(deps: ReadingDeps, reading: Reading): Promise<Stop | undefined> {
  const { ref, opened, standings, ask, state } = reading
  const { reader, connector } = opened
  reading.isStateNew = false
  if (reader.listPartitions === undefined) return undefined
  const known = [...standings.lists].map(([id, { lastingMark }]) => ({ ...toListKey(id), lastingMark }))
  const list = async (): Promise<{ partitions: { stream: string; partition: string }[] }> => ({
    partitions: (await reader.listPartitions?.(state, known)) ?? [],
  })
  const cost = connector.budget.partitions
  const asked =
    Object.keys(cost).length === 0 ? { kind: 'answer' as const, answer: await list() } : await ask(cost, list)
  if (asked.kind !== 'answer') return asked
  const partitions = asked.answer.partitions.filter(isStorable)
  const ids = new Set(partitions.map(({ stream, partition }) => idOf(stream, partition)))
  const named = [...ids]
    .map(toListKey)
    .filter(({ stream, partition }) => !standingOf(standings, stream, partition).isListed)
  if (standings.lists.size + named.length > listsMax) {
    return { kind: 'fault', error: new SourceError('data_hole', `more than ${listsMax} lists of one account`) }
  }
  const dropped = [...standings.lists]
    .filter(([id, { isListed }]) => isListed && !ids.has(id))
    .map(([id]) => toListKey(id))
  await reading.inTurn(() => store.keepPartitions(deps.db, ref, { named, dropped }))
  for (const { stream, partition } of named) standingOf(standings, stream, partition).isListed = true
  for (const { stream, partition } of dropped) standingOf(standings, stream, partition).isListed = false
  return undefined
}

/**
 * Lists that were named once are kept with their connection, and each job loads them all. A provider that names others
 * in every run would fill the database and then the worker's memory.
 */
const listsMax = 50_000
const partitionLengthMax = 300

/**
 * Names are made of codes that a provider sent. PostgreSQL takes no NUL, no half of a surrogate pair and no key of any
 * length, and a code that was seen once is named in every later run.
 */
function isStorable({ partition }: { partition: string }): boolean {
  return partition.length <= partitionLengthMax && partition.isWellFormed() && !partition.includes('\0')
}

/** Combines all lists: the least progress that any of them made. */
export async function readLists(deps: ReadingDeps, reading: Reading, backMs?: number): Promise<ListProgress | Stop> {
  const progress = await readEach(deps, reading, backMs)
  // Pages of other lists are valid, whatever ended this one, unless another worker has the key.
  if (typeof progress !== 'string' && progress.kind === 'overtaken') return progress
  return (await keepFinished(deps, reading)) === 'kept' ? progress : { kind: 'overtaken' }
}

interface Ended {
  list: List
  progress: ListProgress | Stop
}

async function readEach(deps: ReadingDeps, reading: Reading, backMs: number | undefined): Promise<ListProgress | Stop> {
  const { allowance, opened } = reading
  const round: Round = { begun: new Set(), waits: new Map(), reached: 'covered', stop: undefined }
  const underWay = new Map<string, Promise<Ended>>()
  // Named once, and again when the connector has learned something: a wallet may have thousands of lists, and a search
  // through all of them for each one would use up the job's time before a page is read.
  let left = listInOrder(reading).toReversed()

  function beginMore(): void {
    while (underWay.size < callsMaxOf(opened) && round.reached !== 'stopped' && round.stop === undefined) {
      const list = left.pop()
      if (list === undefined) return
      round.begun.add(listIdOf(list))
      if (reading.full.has(listIdOf(list)) || isAway(reading, list) || round.waits.has(list.stream.name)) continue
      const ended = readOne(deps, reading, list, backMs).then((progress) => ({ list, progress }))
      // It may fail while another list is awaited. The failure is thrown where this one is awaited.
      ended.catch(() => undefined)
      underWay.set(listIdOf(list), ended)
    }
  }

  try {
    for (beginMore(); underWay.size > 0; beginMore()) {
      const { list, progress } = await Promise.race(underWay.values())
      underWay.delete(listIdOf(list))
      judge(reading, round, list, progress)
      if (reading.isStateNew && round.stop === undefined) {
        const stop = await readPartitions(deps, reading)
        if (stop !== undefined) endRound(reading, round, stop)
        left = listInOrder(reading)
          .filter((one) => !round.begun.has(listIdOf(one)))
          .toReversed()
      }
    }
  } finally {
    // No part of the job may still be running when it fails.
    if (underWay.size > 0) allowance.end()
    await Promise.allSettled(underWay.values())
  }
  const waitMs = Math.min(...round.waits.values())
  if (round.stop !== undefined) return round.stop
  return round.reached !== 'stopped' && waitMs < Infinity ? { kind: 'wait', ms: waitMs } : round.reached
}

/** Lists that only add detail come first. They are short, and how far the others are read decides what can be shown. */
function listInOrder(reading: Reading): List[] {
  return listLists(reading).toSorted((a, b) => Number(a.stream.required) - Number(b.stream.required))
}

/** The outcome of the lists so far. */
interface Round {
  begun: Set<string>
  /** By stream: how long until its budget allows another call. */
  waits: Map<string, number>
  /** The least progress that any of them made. */
  reached: ListProgress
  /** What ends the job. */
  stop: Stop | undefined
}

function judge(reading: Reading, round: Round, list: List, progress: ListProgress | Stop): void {
  if (typeof progress === 'string') {
    if (progress === 'stopped' || round.reached === 'covered') round.reached = progress
  } else if (progress.kind === 'wait') {
    // Budgets differ: Binance allows two calls a minute for one list, and hundreds for others.
    round.waits.set(list.stream.name, progress.ms)
  } else if (round.stop !== undefined || !holdBack(reading, list, progress)) {
    endRound(reading, round, progress)
  }
}

/** The lists that are being read end with their next page. */
function endRound({ allowance }: Reading, round: Round, stop: Stop): void {
  if (round.stop === undefined || stop.kind === 'overtaken') round.stop = stop
  allowance.end()
}

async function readOne(
  deps: ReadingDeps,
  reading: Reading,
  list: List,
  backMs: number | undefined,
): Promise<ListProgress | Stop> {
  const { stream } = list
  if (stream.unit === 'ms') {
    return readList(deps, reading, list, reading.untilMs, backMs && reading.untilMs - backMs)
  }
  const height = await findHeight(reading, list)
  if ('kind' in height) return height
  // Windows are half open, and this one includes the newest block.
  const until = height.height + 1
  // How many blocks a month has is not known, so a list in blocks begins with its newest window.
  const isFirst = backMs !== undefined && stream.windowMax !== null
  const notBefore = isFirst ? Math.max(0, until - (stream.windowMax ?? 0)) : undefined
  const progress = await readList(deps, reading, list, until, notBefore)
  if (height.behind !== undefined && progress === 'covered') {
    reading.faults.set(listIdOf(list), new SourceError('data_hole', height.behind))
    // What was read does not bring the provider nearer to its chain, so each further try comes later.
    reading.progressed.delete(listIdOf(list))
  }
  return progress
}

async function findHeight(reading: Reading, list: List): Promise<Height | Stop> {
  const id = listIdOf(list)
  const known = reading.heights.get(id)
  if (known !== undefined) return known
  const { reader } = reading.opened
  const asked = await reading.ask(list.stream.cost, async () => {
    if (reader.fetchHeight === undefined) throw new TypeError(`${reading.opened.providerId} does not tell its height`)
    return reader.fetchHeight(list.stream.name, list.partition, reading.state)
  })
  if (asked.kind !== 'answer') return asked
  reading.heights.set(id, asked.answer)
  return asked.answer
}

/** True when the fault concerns this list alone, or its network, and the others are read. */
function holdBack({ faults, opened }: Reading, list: List, stop: Stop): boolean {
  if (stop.kind !== 'fault' || endsJob(stop)) return false
  const { fault } = stop.error
  const others = [...faults].filter(([, other]) => other.fault === fault).map(([id]) => id)
  const hasNetworks = opened.definition.networks !== undefined
  // One endpoint may be away alone, for several of its lists at once. If two are, the provider is. Networks have hosts
  // of their own, and few lists each.
  const mayPass: Partial<Record<Fault, boolean>> = {
    venue_down: hasNetworks || others.every((id) => toListKey(id).stream === list.stream.name),
    unreadable_answer: hasNetworks || others.length < unreadableMax,
    data_hole: true,
  }
  if (mayPass[fault] !== true) return false
  faults.set(listIdOf(list), stop.error)
  return true
}

/**
 * A list that cannot be read now. A network that is away is away for all its lists, and so is an endpoint that two of its
 * lists could not reach; one that fails alone may be a pair that the exchange cannot answer for.
 */
function isAway({ faults, opened }: Reading, { stream, partition }: List): boolean {
  const own = faults.get(idOf(stream.name, partition))
  if (own?.fault === 'venue_down' || own?.fault === 'unreadable_answer') return true
  const away = [...faults].filter(([, { fault }]) => fault === 'venue_down').map(([id]) => toListKey(id))
  return opened.definition.networks === undefined
    ? away.filter((other) => other.stream === stream.name).length > 1
    : away.some((other) => other.partition === partition)
}

/** The lists of a network whose balances could not be read: without them, its history would not add up. */
export function holdBackNetworks({ faults, opened }: Reading, failed: readonly FailedNetwork[]): void {
  for (const { partition, error } of failed) {
    for (const { name } of opened.definition.streams) faults.set(idOf(name, partition), error)
  }
}

/** The names of the networks that this fault kept from being read. */
export function listNetworksWith({ faults, opened }: Reading, fault: Fault): string[] {
  const { networks = {} } = opened.definition
  const names = [...faults].map(([id, other]) =>
    other.fault === fault ? networks[toListKey(id).partition] : undefined,
  )
  return [...new Set(names.filter((name) => name !== undefined))]
}

function toListKey(id: string): { stream: string; partition: string } {
  const [stream = '', partition = ''] = JSON.parse(id) as string[]
  return { stream, partition }
}

/** The lists that can be derived; undefined for all of them. */
export function listDerivable(reading: Reading): List[] | undefined {
  const lists = listLists(reading)
  const away = lists.filter((list) => list.stream.required && isAway(reading, list))
  if (away.length === 0) return undefined
  const { networks, storiesStayInLists } = reading.opened.definition
  if (networks !== undefined) return lists.filter((list) => !away.some(({ partition }) => partition === list.partition))
  return storiesStayInLists === true ? lists.filter((list) => !isAway(reading, list)) : []
}
