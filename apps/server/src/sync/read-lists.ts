/** Reads the lists of an account, and says what keeps some of them from being read. */
import { CircuitOpen, type Stop } from '../metering/index.ts'
import { keepFinished } from './commit.ts'
import { idOf, placeOf, type List } from './places.ts'
import { readList, type ListProgress } from './read-list.ts'
import { listIdOf, listLists, type Reading, type ReadingDeps } from './reading.ts'
import * as store from './store.ts'

/** The job gives up when more lists than this are unreadable. */
const unreadableMax = 5

/** The lists of the account, when a run begins and whenever the connector has learned something. */
export async function readPartitions(deps: ReadingDeps, reading: Reading): Promise<Stop | undefined> {
  const { ref, opened, places, ask, state } = reading
  const { session, connector } = opened
  reading.isStateNew = false
  if (session.listPartitions === undefined) return undefined
  const list = async (): Promise<{ partitions: { stream: string; partition: string }[] }> => ({
    partitions: (await session.listPartitions?.(state)) ?? [],
  })
  const cost = connector.budget.partitions
  const asked =
    Object.keys(cost).length === 0 ? { kind: 'answer' as const, answer: await list() } : await ask(cost, list)
  if (asked.kind !== 'answer') return asked
  const { partitions } = asked.answer
  const ids = new Set(partitions.map(({ stream, partition }) => idOf(stream, partition)))
  const named = partitions.filter(({ stream, partition }) => !placeOf(places, stream, partition).isListed)
  const dropped = [...places.lists]
    .filter(([id, { isListed }]) => isListed && !ids.has(id))
    .map(([id]) => {
      const [stream = '', partition = ''] = JSON.parse(id) as string[]
      return { stream, partition }
    })
  await store.keepPartitions(deps.db, ref, { named, dropped })
  for (const { stream, partition } of named) placeOf(places, stream, partition).isListed = true
  for (const { stream, partition } of dropped) placeOf(places, stream, partition).isListed = false
  return undefined
}

/** All lists: the least that any of them came to. */
export async function readLists(deps: ReadingDeps, reading: Reading, backMs?: number): Promise<ListProgress | Stop> {
  const progress = await readEach(deps, reading, backMs)
  // Pages of other lists are good, whatever ended this one; not so when another worker has the key.
  if (typeof progress !== 'string' && progress.kind === 'overtaken') return progress
  return (await keepFinished(deps, reading)) === 'kept' ? progress : { kind: 'overtaken' }
}

async function readEach(deps: ReadingDeps, reading: Reading, backMs: number | undefined): Promise<ListProgress | Stop> {
  let whole: ListProgress = 'covered'
  const done = new Set<string>()
  const findNext = (): List | undefined => listLists(reading).find((list) => !done.has(listIdOf(list)))
  for (let list = findNext(); list !== undefined; list = findNext()) {
    done.add(listIdOf(list))
    if (isAway(reading, list)) continue
    const progress = await readOne(deps, reading, list, backMs)
    if (progress === 'stopped') return 'stopped'
    if (progress === 'reached') whole = 'reached'
    if (typeof progress !== 'string' && !holdBack(reading, list, progress)) return progress
    if (reading.isStateNew) {
      const stop = await readPartitions(deps, reading)
      if (stop !== undefined) return stop
    }
  }
  return whole
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
  const until = await findHeight(reading, list)
  if (typeof until !== 'number') return until
  // How many blocks a month has is not known, so a list in blocks begins with its newest window.
  const isFirst = backMs !== undefined && stream.windowMax !== null
  return readList(deps, reading, list, until, isFirst ? Math.max(0, until - (stream.windowMax ?? 0)) : undefined)
}

async function findHeight(reading: Reading, list: List): Promise<number | Stop> {
  const id = listIdOf(list)
  const known = reading.heights.get(id)
  if (known !== undefined) return known
  const { session } = reading.opened
  const asked = await reading.ask(list.stream.cost, async () => {
    if (session.fetchHeight === undefined) throw new TypeError(`${reading.opened.providerId} does not tell its height`)
    return session.fetchHeight(list.stream.name, list.partition)
  })
  if (asked.kind !== 'answer') return asked
  // Windows are half open, and this one includes the newest block.
  const end = asked.answer.height + 1
  reading.heights.set(id, end)
  return end
}

/** True when the fault concerns this list alone, and the others are read. */
function holdBack({ faults }: Reading, list: List, stop: Stop): boolean {
  if (stop.kind !== 'fault' || stop.error instanceof CircuitOpen) return false
  const { fault } = stop.error
  const count = [...faults.values()].filter((other) => other.fault === fault).length
  // One endpoint may be away alone. If two are, the provider is.
  const mayPass = { venue_down: count < 1, unreadable_answer: count < unreadableMax }
  if (!(fault === 'venue_down' || fault === 'unreadable_answer') || !mayPass[fault]) return false
  faults.set(listIdOf(list), stop.error)
  return true
}

/** A list that cannot be read now; an endpoint that is away is away for all lists of its stream. */
function isAway({ faults }: Reading, { stream, partition }: List): boolean {
  return [...faults].some(([id, { fault }]) => {
    const [name, other] = JSON.parse(id) as string[]
    if (name !== stream.name) return false
    return fault === 'venue_down' || (fault === 'unreadable_answer' && other === partition)
  })
}

export function isRequiredAway(reading: Reading): boolean {
  return listLists(reading).some((list) => list.stream.required && isAway(reading, list))
}
