/**
 * Derives what has been read of a history while the rest is being read: its newer part, and whole lists where no story
 * crosses them. A long history takes hours at some providers, and is shown as far as it has been read; and what has to
 * be derived at the end is little.
 */
import type { WholePart } from '../ledger/index.ts'
import { keepFinished, type Kept } from './commit.ts'
import { listDerivable } from './read-lists.ts'
import { listIdOf, listLists, standingOfList, type Reading, type ReadingDeps } from './reading.ts'
import { floorOf, mergeSpans, type Span } from './plan.ts'
import type { List } from './standings.ts'

/** Fewer records wait for the next ones: each time costs a few statements. */
const recordsMin = 1_000

export interface Deriver {
  /** Waits for what is being derived, and derives nothing more. Throws if it failed. */
  end(): Promise<Kept>
}

/** Begins at once with what has been read already. */
export function startDeriver(deps: ReadingDeps, reading: Reading): Deriver {
  let underWay: Promise<void> | undefined
  let kept: Kept = 'kept'
  let derivedSinceMs = Infinity
  const derivedLists = new Set<string>()
  let records = 0
  let hasEnded = false

  /** Derives what has been read, and then what was read meanwhile, until that is little. */
  async function deriveRead(): Promise<void> {
    do {
      // Windows that were put aside count as covered, but their records are not in the database yet.
      if ((await keepFinished(deps, reading)) === 'overtaken') return giveUp()
      const sinceMs = findWholeSince(reading)
      const lists = listWhole(reading).filter((list) => !derivedLists.has(listIdOf(list)))
      if (sinceMs >= derivedSinceMs && lists.length === 0) return
      records = 0
      derivedSinceMs = Math.min(sinceMs, derivedSinceMs)
      for (const list of lists) derivedLists.add(listIdOf(list))
      await derive(deps, reading, { sinceMs, lists: lists.map(toListKey) })
    } while (!hasEnded && records >= recordsMin)
  }

  function giveUp(): void {
    kept = 'overtaken'
    hasEnded = true
    reading.allowance.end()
  }

  function begin(): void {
    underWay = deriveRead().then(() => {
      underWay = undefined
    })
    // A failure stays, and is thrown by `end`.
    underWay.catch(() => undefined)
  }

  reading.onProgress = (added) => {
    records += added
    if (underWay === undefined && !hasEnded && records >= recordsMin) begin()
  }
  begin()
  return {
    async end() {
      hasEnded = true
      await underWay
      return kept
    },
  }
}

/** False when the allowance ended it first. Without a part, everything that can be derived is. */
export async function derive(deps: ReadingDeps, reading: Reading, part?: WholePart): Promise<boolean> {
  const { ref, opened, state } = reading
  // Deriving needs every list without which a record could be misunderstood: those of its network, or all of them.
  const lists = listDerivable(reading)
  if (lists !== undefined && (lists.length === 0 || part !== undefined)) return true
  const source = { connector: opened.connector, storySpanMs: opened.definition.storySpanMs, state }
  const whole = lists === undefined ? part : { sinceMs: Infinity, lists: lists.map(toListKey) }
  return deps.ledger.derive(ref, source, () => reading.allowance.mayReadOn(), whole)
}

function toListKey({ stream, partition }: List): { stream: string; partition: string } {
  return { stream: stream.name, partition }
}

/**
 * The time from which all parts of a story have been read: neighbouring records of a story lie at most a span apart.
 * Those near the edge of what has been read wait for their other half: half a conversion must not show as a sale.
 */
function findWholeSince(reading: Reading): number {
  const { storySpanMs } = reading.opened.definition
  return Math.max(0, ...listLists(reading).map((list) => findReadSince(reading, list) + storySpanMs))
}

/** The lists that can be derived, however far the others have been read. */
function listWhole(reading: Reading): List[] {
  if (reading.opened.definition.storiesStayInLists !== true) return []
  return listLists(reading).filter((list) => findReadSince(reading, list) <= floorOf(list.stream, reading.untilMs))
}

/**
 * The time from which a list has been read and kept without a gap; infinity when its newest part is missing or has no
 * time, or when a part of it was put aside.
 */
function findReadSince(reading: Reading, list: List): number {
  const { covered } = standingOfList(reading, list)
  if (reading.finished.some((one) => listIdOf(one.list) === listIdOf(list))) return Infinity
  if (list.stream.unit === 'block') {
    const newest = covered.at(-1)
    return newest?.start === 0 ? -Infinity : (newest?.startMs ?? Infinity)
  }
  const walked = reading.walked.get(listIdOf(list))
  const newest = mergeSpans<Span>([...covered, ...(walked === undefined ? [] : [walked])], join).at(-1)
  return newest === undefined || newest.end < reading.untilMs ? Infinity : newest.start
}

function join(a: Span, b: Span): Span {
  return { start: a.start, end: Math.max(a.end, b.end) }
}
