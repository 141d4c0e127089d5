/**
 * How a job calls a provider: within the budgets, while the circuit is closed, and only while this job owns the key.
 * One statement precedes every call. In a long walk it runs while the call before is under way, so that the provider is
 * never waiting for the database. The connector says how many calls may be under way at once; the default is one.
 *
 * Of a provider whose parts have hosts of their own, each request also passes the circuit of its part (`PartCalls`).
 *
 * This is the one place where a provider's failures, waits for a budget and open circuits become outcomes. Callers act
 * on the outcome; they catch nothing.
 */
import type { Connector, Cost, Io, ProviderDefinition, Spent } from '@assay/connectors'
import { NoAnswer, SourceError } from '@assay/core'
import { partSeparator, type CircuitState } from './budget-store.ts'
import type { Budgets } from './budgets.ts'
import { CircuitOpen, type Circuits } from './circuits.ts'
import type { Slowness } from './slowness.ts'

/** Why a call has no answer. */
export type Stop =
  /** Our own budget is used up. Nothing is wrong, and the job comes back later. */
  | { kind: 'wait'; ms: number }
  /** A CircuitOpen means that the provider was not called. */
  | { kind: 'fault'; error: SourceError }
  /**
   * Two workers read one connection, because one was presumed dead while it was only stalled. The worker that reserved
   * its nonces last has the key; the other gives up, and loses a page that it may have read.
   */
  | { kind: 'overtaken' }

export type Asked<T> = { kind: 'answer'; answer: T } | Stop

export interface AskOptions {
  /** Another call of this cost follows, as far as one can tell: the call is part of a long walk. */
  isFollowed?: boolean
}

export type Ask = <T extends object>(cost: Cost, call: () => Promise<T>, options?: AskOptions) => Promise<Asked<T>>

/** How a job reserves the nonces of its key. */
export interface NonceRange {
  /** The last nonce of the range; undefined until a range is reserved. */
  last: bigint | undefined
  /** How many nonces to reserve, and the smallest of them. */
  toReserve(): { atLeast: number; count: number }
  /** The range was reserved, up to and including `last`. */
  use(last: bigint): void
}

/** How the connector calls the parts of a provider that have hosts of their own. */
export interface PartCalls {
  /** Set when a job begins to ask. Until then, nothing stands before a request. */
  reach: NonNullable<Io['reach']>
}

export interface Asker {
  connector: Pick<Connector, 'providerId' | 'budget' | 'atOnce'>
  definition: Pick<ProviderDefinition, 'streams'>
  userKey: string
  keyLane: string
  /** Failures of a connection that was never read to the end (`pending`, `syncing`) say nothing about the provider. */
  status: string
  nonces: NonceRange
  parts: PartCalls
}

export interface AskedBy {
  /** A person waits. */
  interactive: boolean
  /** False for a job that never waits for its budget in its place, however short the wait: it queues itself again. */
  mayWait?: boolean
}

interface AskDeps {
  budgets: Budgets
  circuits: Circuits
  slowness: Slowness
  /** A test's own clock; otherwise the process's. */
  monotonicMs?(this: void): number
}

interface Entered {
  kind: 'entered'
  /** What is left in each bucket. */
  left: ReadonlyMap<string, number>
  /** By the monotonic clock: when PostgreSQL was asked. */
  askedMs: number
}

/**
 * A call for which PostgreSQL was asked longer ago asks again: another worker may have taken the key since. A worker
 * that stood still, because its machine did, finds an answer that was true then.
 */
const admittedMaxMs = 1_000

export function startAsking(
  { budgets, circuits, slowness, monotonicMs = () => performance.now() }: AskDeps,
  asker: Asker,
  { interactive, mayWait: mayEverWait = true }: AskedBy,
): Ask {
  const { userKey, nonces } = asker
  // Anyone can use up what an exchange allows to a key of their own, and offer that key again and again.
  const isVerified = asker.status !== 'pending'
  const { providerId } = asker.connector
  const passage = createPassage(circuits, asker, providerId)
  let circuitsOfParts: ReadonlyMap<string, CircuitState> = new Map()
  asker.parts.reach = createReach(circuits, asker, (name) => circuitsOfParts.get(name))
  /** How often the provider said "too many". */
  let limitErrors = 0
  const gate = createGate(asker.connector.atOnce?.callsMax ?? 1)
  // Where several calls are under way at once, they do not wait for each other's statements.
  const isAlone = asker.connector.atOnce === undefined
  const { enterNow, enterAhead } = createTurnstile(enter, monotonicMs)
  // The first call reserves the nonces, which two would take from each other; during an outage one call is the probe.
  const entrance = createEntrance(passage.isOpen)

  async function enter(cost: Cost, { mayWait, isFollowed }: EntryOptions): Promise<Stop | Entered> {
    // A long walk leaves the people's share to the others. A refresh of three long histories would otherwise take each
    // token before there are enough for a check of a key.
    const by = { interactive: interactive && !isFollowed, mayWait: mayWait && mayEverWait, isVerified }
    const admission = await budgets.admit(asker, cost, by, () => ({
      providerId: passage.isOutside() ? providerId : null,
      nonces: nonces.last === undefined ? nonces.toReserve() : { last: nonces.last },
    }))
    const { waitMs, holdsKey, lastNonce, circuit, left, askedMs } = admission
    // A nonce that was used after ours makes ours invalid, and two calls at once may arrive in either order.
    if (!holdsKey) return { kind: 'overtaken' }
    if (lastNonce !== undefined) nonces.use(lastNonce)
    const isBarred = circuit?.open === true && circuit.wait_ms > 0
    if (waitMs > 0 && !isBarred) return { kind: 'wait', ms: waitMs }
    if (passage.isOutside()) {
      const barred = await passage.enter(circuit)
      if (barred !== undefined) return { kind: 'fault', error: barred }
      circuitsOfParts = admission.circuitsOfParts
    }
    return { kind: 'entered', left, askedMs }
  }

  async function hearFault(error: SourceError, cost: Cost, limitErrorsBefore: number): Promise<void> {
    // Calls that were under way together are refused together for one reason, so one step down is enough.
    if (error.fault === 'rate_limited' && limitErrors === limitErrorsBefore) {
      limitErrors += 1
      const { retryAfterMs: forMs = 0, isOfAddress } = error
      await budgets.recordLimitError(asker, cost, { forMs, isOfAddress, userKey: isVerified ? userKey : null })
    }
    await passage.hear(error)
  }

  async function askNow<T extends object>(cost: Cost, call: () => Promise<T>, isFollowed: boolean): Promise<Asked<T>> {
    const entered = await enterNow(cost, isFollowed)
    if (entered.kind !== 'entered') return entered
    const limitErrorsBefore = limitErrors
    const entering = isAlone && isFollowed && passage.isOpen() ? enterAhead(cost) : undefined
    try {
      const answer = await slowness.time(providerId, call)
      await passage.hear()
      await budgets.recordSpent(asker, entered.left, spentOf(answer))
      return { kind: 'answer', answer }
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      await hearFault(error, cost, limitErrorsBefore)
      return { kind: 'fault', error }
    } finally {
      await entering
    }
  }

  return (cost, call, { isFollowed = false } = {}) => gate(() => entrance(() => askNow(cost, call, isFollowed)))
}

/** Where one job stands at a circuit. */
interface Passage {
  /** The circuit has to be entered, at first and after each silence. */
  isOutside(this: void): boolean
  /** The last call was answered. */
  isOpen(this: void): boolean
  /** `circuit` is its newest known state. Undefined when the call may be made. */
  enter(this: void, circuit: CircuitState | undefined): Promise<CircuitOpen | undefined>
  /** The call was answered, with an error or without; only a NoAnswer is silence. */
  hear(this: void, error?: SourceError): Promise<void>
}

function createPassage(circuits: Circuits, asker: Asker, name: string): Passage {
  let entry: 'outside' | 'entered' | 'probing' | 'answered' = 'outside'
  /** The circuit was failing when this job began, or has failed since: an answer ends the outage. */
  let wasFailing = false
  return {
    isOutside: () => entry === 'outside',
    isOpen: () => entry === 'answered',
    async enter(circuit) {
      const entered = await circuits.enter(name, circuit, { isProven: isProven(asker) })
      if (entered instanceof CircuitOpen) return entered
      entry = entered
      wasFailing ||= circuit !== undefined
      return undefined
    },
    async hear(error) {
      if (error instanceof NoAnswer) {
        const wasProbe = entry === 'probing'
        entry = 'outside'
        wasFailing = true
        await circuits.recordSilence(name, isProven(asker) ? asker.userKey : null, wasProbe)
        return
      }
      const isNews = entry !== 'answered' && wasFailing
      entry = 'answered'
      if (isNews) await circuits.recordAnswer(name)
    },
  }
}

interface PartGate {
  passage: Passage
  entrance: Gate
  /** The fault of the last request, if it was not answered. */
  silence: SourceError | undefined
}

/**
 * `find` returns the state of a circuit as it was when the job began. A part that opens later is met by the next job.
 * The silence of a part is passed on as a fault that the provider's own circuit does not count.
 */
function createReach(
  circuits: Circuits,
  asker: Asker,
  find: (name: string) => CircuitState | undefined,
): PartCalls['reach'] {
  const gates = new Map<string, PartGate>()

  function gateOf(name: string): PartGate {
    const known = gates.get(name)
    if (known !== undefined) return known
    const passage = createPassage(circuits, asker, name)
    const gate = { passage, entrance: createEntrance(passage.isOpen), silence: undefined }
    gates.set(name, gate)
    return gate
  }

  return (part, request) => {
    const name = `${asker.connector.providerId}${partSeparator}${part}`
    const gate = gateOf(name)
    const { passage, entrance, silence: before } = gate
    return entrance(async () => {
      // It waited for a request that was not answered, and would not be either: each takes the time of a request.
      if (gate.silence !== undefined && gate.silence !== before) throw gate.silence
      const barred = passage.isOutside() ? await passage.enter(find(name)) : undefined
      if (barred !== undefined) throw barred
      try {
        const answer = await request()
        await passage.hear()
        gate.silence = undefined
        return answer
      } catch (error) {
        if (!(error instanceof SourceError)) throw error
        await passage.hear(error)
        if (!(error instanceof NoAnswer)) throw error
        const { message, retryAfterMs } = error
        const more = retryAfterMs === undefined ? {} : { retryAfterMs }
        gate.silence = new SourceError('venue_down', message, { ...more, cause: error })
        throw gate.silence
      }
    })
  }
}

interface EntryOptions {
  mayWait: boolean
  isFollowed: boolean
}

interface Turnstile {
  /** With the tokens that were taken ahead. If another call comes, or this one comes late, they are lost. */
  enterNow(this: void, cost: Cost, isFollowed: boolean): Promise<Stop | Entered>
  /** Admits the next call now, if it can be admitted without a wait. */
  enterAhead(this: void, cost: Cost): Promise<void>
}

function createTurnstile(
  enter: (cost: Cost, options: EntryOptions) => Promise<Stop | Entered>,
  monotonicMs: () => number,
): Turnstile {
  let ahead: { cost: Cost; entered: Entered } | undefined
  const isFresh = ({ askedMs }: Entered): boolean => monotonicMs() - askedMs < admittedMaxMs
  return {
    async enterNow(cost, isFollowed) {
      const admitted = ahead
      ahead = undefined
      if (admitted?.cost === cost && isFresh(admitted.entered)) return admitted.entered
      const entered = await enter(cost, { mayWait: true, isFollowed })
      if (entered.kind !== 'entered' || isFresh(entered)) return entered
      // The call is paid for; what has to be known again is whether the key is still held. It is asked once, because a
      // database that takes this long for each answer would be asked without end.
      return enter(toFree(cost), { mayWait: true, isFollowed })
    },
    async enterAhead(cost) {
      // Where this fails, the next call asks again and meets the failure itself.
      const entered = await enter(cost, { mayWait: false, isFollowed: true }).catch(() => undefined)
      if (entered?.kind === 'entered') ahead = { cost, entered }
    },
  }
}

/** Passes the same buckets and takes nothing from them. */
function toFree(cost: Cost): Cost {
  return Object.fromEntries(Object.keys(cost).map((bucket) => [bucket, 0]))
}

/**
 * A node gives no answer for a wallet with more accounts than it can list, and anyone can connect such wallets: they
 * are public. If they counted, a few of them would pause the reading of all others.
 */
function isProven({ status }: Asker): boolean {
  return status !== 'pending' && status !== 'syncing'
}

function spentOf(answer: { spent?: readonly Spent[] }): readonly Spent[] {
  return answer.spent ?? []
}

/** Limits how many acts are under way at once. */
export type Gate = <T>(act: () => Promise<T>) => Promise<T>

/** Lets at most `max` acts be under way. The others wait, and begin in the order in which they came. */
export function createGate(max: number): Gate {
  let underWay = 0
  const waiting: (() => void)[] = []
  return async (act) => {
    if (underWay < max) underWay += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await act()
    } finally {
      // The place goes to the next one directly: an act that comes at this moment does not overtake those that wait.
      const next = waiting.shift()
      if (next === undefined) underWay -= 1
      else next()
    }
  }
}

/** Lets one act after another through until it is open, and from then on all of them at once. */
export function createEntrance(isOpen: () => boolean): Gate {
  let underWay: Promise<void> | undefined
  return async (act) => {
    while (underWay !== undefined && !isOpen()) await underWay
    const acting = act()
    const end = (): void => void (underWay = undefined)
    if (!isOpen()) underWay = acting.then(end, end)
    return acting
  }
}
