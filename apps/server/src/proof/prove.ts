/**
 * Judges the balances of a connection after a run. A reading of the balances is judged once the history was read past
 * its time, which happens in the next run. Until then, a record that is in the balance may be missing from the list.
 *
 * Only assets that changed are judged again, and a sum costs one row for each day: a verdict does not grow with the
 * history. Running balances are followed from where the last walk ended, and from the start when something older
 * changed.
 */
import { withSafeText, type Connector, type StoredRecord } from '@assay/connectors'
import type { ProviderDefinition } from '@assay/connectors/catalog'
import { add, dayMs, isKnownAsset, isZero, parseDecimal, subtract, zero, type Decimal } from '@assay/core'
import { recordProof } from '../connections/index.ts'
import type { Database, Sql } from '../db/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { ConnectionRef } from '../owner.ts'
import * as differences from './differences-store.ts'
import {
  fitsNearby,
  isExact,
  judge,
  locate,
  toDifference,
  worstOf,
  type Grade,
  type Moved,
  type Weighed,
} from './judge.ts'
import { follow, type Break, type Interval, type RunningRecord, type Wallet } from './running.ts'
import * as store from './store.ts'

/** How far the history was read, in all lists that it needs. */
export interface Reach {
  /** Everything before this was read, except the holes. */
  untilMs: number
  /** Where histories begin; undefined when a list does not reach back to it. */
  beginningMs: number | undefined
  holes: readonly Interval[]
  /** There is a list of which nothing has been read. */
  hasUnread: boolean
  /** Of the lists, such as the networks of a wallet. */
  partitions: ReadonlySet<string>
}

export interface ProvedSource {
  connector: Pick<Connector, 'providerId' | 'runningBalance'>
  definition: Pick<ProviderDefinition, 'balanceUnit' | 'accrues' | 'rebasing' | 'unlistedCredits'>
}

export interface ProveDeps {
  db: Database
  ledger: Pick<Ledger, 'listPoisonedTimes'>
  /** Whether strangers can send to accounts of this provider. */
  isWallet(providerId: string): boolean
  /** The grade of the connection has changed. */
  onChanged(tx: Sql, ref: ConnectionRef, change: { grade: Grade; previousGrade: Grade }): Promise<void>
}

export interface ProveResult {
  /**
   * The first reading of the balances, which the history has not reached yet, or the one whose proof was overtaken;
   * undefined when there is a verdict.
   */
  waitingForMs: number | undefined
}

/** A record this close to the reading may or may not be in it: the request takes time, and clocks differ a little. */
const nearbyMs = 10_000
/** Providers pay for earning assets at least once in this time. */
const earnedMs = 7 * dayMs
const recordsPerBatch = 5_000
const assetsPerBatch = 1_000
/** Between two assets. Tracing some hundred of them may take longer than a person waits for a removal. */
const roomEveryMsDefault = 1_000
/**
 * How many differences of a connection are traced to a cause, and as many of tokens that strangers sent. They can send
 * tens of thousands, and tracing one takes several statements. The others stay unexplained.
 */
const tracedMax = 200

export interface ProveOptions {
  /** Judges every asset and record, not only those that changed. */
  thorough?: boolean
  /** When it is aborted, everything stays due for the next run. */
  signal?: AbortSignal
  /** How often it looks whether another transaction waits for it. */
  roomEveryMs?: number
}

export async function prove(
  deps: ProveDeps,
  ref: ConnectionRef,
  source: ProvedSource,
  reach: Reach | undefined,
  { thorough = false, signal, roomEveryMs = roomEveryMsDefault }: ProveOptions = {},
): Promise<ProveResult> {
  const standing = await store.findStanding(deps.db, ref)
  if (standing === undefined) return { waitingForMs: undefined }
  const at = reach && findMoment(standing, reach)
  if (reach === undefined || at === undefined) {
    return { waitingForMs: standing.unproved_at === null ? undefined : Date.parse(standing.unproved_at) }
  }
  // There is no first verdict without a whole history. A later one must not stand while a part is missing.
  if (reach.hasUnread && standing.proof_grade === null) return { waitingForMs: undefined }
  const isWide = thorough || reach.holes.length > 0 || standing.proof_grade === null
  const walk = await walkRecords(deps.db, ref, source, reach, { standing, at, thorough })
  const { due, unsettled } = standing
  const touched = [...due.keys(), ...unsettled.filter((key) => !due.has(key))]
  const assetKeys = isWide ? await store.listAssetKeys(deps.db, ref) : touched
  if (assetKeys.length === 0 && at === standing.proof_balances_at) return { waitingForMs: undefined }
  const firstAt = standing.balances_since ?? at
  const course = { walk, at, firstAt, due, tracing: { left: tracedMax }, tracingUninvited: { left: tracedMax } }
  try {
    // One transaction, because a verdict is about the same moment as all others. It is sent in batches: an account may
    // have more assets than memory has room for. Like everything that writes through a connection it holds that first, so
    // it makes room between two batches for a removal, a page or a reading of the balances that waits.
    await deps.db.transaction(async (tx) => {
      if (!(await store.holdConnection(tx, ref))) throw new LeftDue()
      const lookAround = once(async () => ({
        ...(await differences.findOddities(tx, ref)),
        unreadable: await deps.ledger.listPoisonedTimes(tx, ref),
      }))
      const makeRoom = startMakingRoom(tx, roomEveryMs, signal)
      for (let from = 0; from < assetKeys.length; from += assetsPerBatch) {
        if (from > 0) await makeRoom('now')
        await judgeBatch(deps, tx, ref, source, reach, {
          ...course,
          lookAround,
          makeRoom,
          assetKeys: assetKeys.slice(from, from + assetsPerBatch),
        })
      }
      await end(deps, tx, ref, { standing, at, walk, reach })
    })
  } catch (error) {
    if (error instanceof Overtaken) return { waitingForMs: Date.parse(at) }
    if (!(error instanceof LeftDue)) throw error
  }
  return { waitingForMs: undefined }
}

/** Thrown to roll the transaction back. */
class LeftDue extends Error {}
/** The same, because another transaction waits for this one. */
class Overtaken extends Error {}

/** What all verdicts of a run share. */
interface Course {
  walk: Walk
  at: string
  firstAt: string
  due: store.Due
  /** How many more differences are traced, and how many of tokens that strangers sent. */
  tracing: { left: number }
  tracingUninvited: { left: number }
  /** What is the same for every asset, found when the first difference is traced. Strangers decide how much it is. */
  lookAround(): Promise<differences.Oddities & { unreadable: readonly Interval[] }>
  makeRoom: MakeRoom
}

/** Throws when this transaction has to end for another; `after a while` looks only then. */
type MakeRoom = (when: 'now' | 'after a while') => Promise<void>

function startMakingRoom(tx: Sql, everyMs: number, signal: AbortSignal | undefined): MakeRoom {
  let lookedAtMs = performance.now()
  return async (when) => {
    if (signal?.aborted === true) throw new LeftDue()
    if (when === 'after a while' && performance.now() - lookedAtMs < everyMs) return
    if (await store.isWaitedFor(tx)) throw new Overtaken()
    lookedAtMs = performance.now()
  }
}

function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined
  return () => (found ??= find())
}

async function judgeBatch(
  deps: ProveDeps,
  tx: Sql,
  ref: ConnectionRef,
  source: ProvedSource,
  reach: Reach,
  { assetKeys, tracingUninvited, ...course }: Course & { assetKeys: readonly number[] },
): Promise<void> {
  const { at, firstAt, due } = course
  const rows = await store.weigh(tx, ref, assetKeys, { at, firstAt })
  const uninvited = await findUninvited(deps, tx, ref, source, rows)
  const verdicts: store.AssetVerdict[] = []
  for (const row of rows) {
    await course.makeRoom('after a while')
    const isUninvited = uninvited.has(row.asset_key)
    const judged = { ...course, row, isUninvited, ...(isUninvited ? { tracing: tracingUninvited } : {}) }
    verdicts.push(await judgeAsset(tx, ref, source, reach, judged))
  }
  await store.keepVerdicts(tx, ref, verdicts)
  const provisional = new Set(verdicts.filter(({ inFlight }) => inFlight !== null).map(({ assetKey }) => assetKey))
  const settled = assetKeys.flatMap((key): [number, number][] => {
    const marks = provisional.has(key) ? undefined : due.get(key)
    return marks === undefined ? [] : [[key, marks]]
  })
  await store.settleDue(tx, ref, new Map(settled), at)
  await store.keepDue(tx, ref, [...provisional], { due, at })
}

/**
 * Tokens that only strangers moved: without an identity, and in transactions that the wallet did not pay for, if in any.
 * Their contracts can report one amount in their events and another as a balance. So a difference in them says nothing
 * about the wallet, and must not hide one that does.
 */
async function findUninvited(
  { isWallet }: ProveDeps,
  sql: Sql,
  ref: ConnectionRef,
  { connector }: ProvedSource,
  rows: readonly store.WeighedRow[],
): Promise<ReadonlySet<number>> {
  if (!isWallet(connector.providerId)) return new Set()
  const unknown = rows.filter((row) => !isKnownAsset(row.asset_id)).map((row) => row.asset_key)
  return unknown.length === 0 ? new Set() : new Set(await store.listUninvited(sql, ref, unknown))
}

/** The newest reading that can be judged. */
function findMoment({ unproved_at, proof_balances_at }: store.ProofStanding, { untilMs }: Reach): string | undefined {
  if (unproved_at !== null && Date.parse(unproved_at) < untilMs) return unproved_at
  return proof_balances_at ?? undefined
}

interface Walk {
  /** Undefined where records carry no running balance. */
  wallets: Map<string, Wallet> | undefined
  walkedAt: string | null
  hasMoved: boolean
}

async function walkRecords(
  db: Database,
  ref: ConnectionRef,
  { connector }: ProvedSource,
  reach: Reach,
  { standing, at, thorough }: { standing: store.ProofStanding; at: string; thorough: boolean },
): Promise<Walk> {
  const { proof_walked_at: walkedAt, due_since: dueSince } = standing
  if (connector.runningBalance === undefined) return { wallets: undefined, walkedAt, hasMoved: false }
  const isBehind = walkedAt !== null && dueSince !== null && Date.parse(dueSince) <= Date.parse(walkedAt)
  const isAnew = thorough || walkedAt === null || isBehind
  const wallets = isAnew ? new Map<string, Wallet>() : await store.loadWallets(db, ref)
  if (!isAnew && dueSince === null) return { wallets, walkedAt: at, hasMoved: false }
  const beginningMs = reach.holes.length === 0 ? reach.beginningMs : undefined
  let after = isAnew ? '-infinity' : walkedAt
  for (;;) {
    const page = await store.listRecords(db, ref, { after, until: at, limit: recordsPerBatch })
    const last = page.at(-1)
    const isLast = page.length < recordsPerBatch
    // The page may have ended in the middle of its last millisecond, so that millisecond is left to the next page.
    const whole = isLast ? page : page.filter(({ occurred_at }) => occurred_at !== last?.occurred_at)
    follow(wallets, toRunning(connector, whole), beginningMs)
    if (isLast || whole.length === 0) return { wallets, walkedAt: at, hasMoved: true }
    after = whole.at(-1)?.occurred_at ?? after
  }
}

function toRunning(connector: ProvedSource['connector'], rows: readonly store.RecordRow[]): RunningRecord[] {
  return rows.flatMap(({ stream, partition, source_key: key, occurred_at, body }) => {
    const atMs = Date.parse(occurred_at)
    const record: StoredRecord = { stream, partition, key, occurredAtMs: atMs, body }
    const running = findRunning(connector, record)
    return running === undefined ? [] : [withSafeText({ ...running, atMs })]
  })
}

/** A bulkhead: a record that cannot be read is not part of the chain, which breaks there. */
function findRunning(
  connector: ProvedSource['connector'],
  record: StoredRecord,
): ReturnType<NonNullable<Connector['runningBalance']>> {
  try {
    return connector.runningBalance?.(record)
  } catch {
    return undefined
  }
}

interface Judged extends Omit<Course, 'tracingUninvited'> {
  row: store.WeighedRow
  isUninvited: boolean
}

async function judgeAsset(
  sql: Sql,
  ref: ConnectionRef,
  source: ProvedSource,
  reach: Reach,
  judged: Judged,
): Promise<store.AssetVerdict> {
  const { row, walk, at, firstAt, tracing, lookAround } = judged
  const isWhole = reach.beginningMs !== undefined
  const weighed: Weighed = {
    opening: isWhole ? zero : row.observed_first,
    posted: isWhole ? row.posted : subtract(row.posted, row.posted_first),
    observed: row.observed,
  }
  const { opening, posted, observed } = weighed
  const head = { assetKey: row.asset_key, spam: row.spam, uninvited: false, inFlight: null, opening, posted }
  if (!isWhole && at === firstAt) {
    return { ...head, grade: 'unprovable', observed, difference: zero, causes: [], firstBad: null }
  }
  const holes = reach.holes.filter(({ endMs }) => isWhole || endMs > Date.parse(firstAt))
  const running = findBreak(walk, row.asset_id, isWhole ? undefined : Date.parse(firstAt))
  if (isExact(weighed, running)) return { ...head, observed, ...judge(weighed, undefined, nowhere, { ...calm, holes }) }
  const uninvited = judged.isUninvited
  if (tracing.left === 0) {
    const all = { startMs: reach.beginningMs ?? Date.parse(firstAt), endMs: Date.parse(at) + 1 }
    return { ...head, uninvited, observed, ...judge(weighed, running, all, { ...calm, holes }) }
  }
  tracing.left -= 1
  if (running === undefined && (await isInFlight(sql, ref, judged, weighed))) {
    // Records that happened while the balance was read count as far as the balance contains them. The next reading shows
    // whether it contains the others: if it does not, they never happened.
    const exact = { ...weighed, posted: subtract(observed, opening) }
    const verdict = judge(exact, undefined, nowhere, { ...calm, holes })
    return { ...head, inFlight: toDifference(weighed), posted: exact.posted, observed, ...verdict }
  }
  const where = running ?? (await locateDifference(sql, ref, reach, judged))
  const { unreadable, hasUndebited, hasUnknown } = await lookAround()
  const unknown = hasUnknown ? await differences.listUnknown(sql, ref, row.asset_key, at) : []
  const around = {
    holes,
    pending: (await differences.listPending(sql, ref, row, { at, hasUndebited })).map(toMoved),
    unreadable,
    unknown: unknown.map(toMoved),
    corrected: (await differences.listCorrected(sql, ref, where)).map((atMs) => ({ startMs: atMs, endMs: atMs + 1 })),
    unit: source.definition.balanceUnit === undefined ? null : parseDecimal(source.definition.balanceUnit),
    earning: await findEarning(sql, ref, source, judged),
    rebases: source.definition.rebasing?.includes(row.asset_id) === true,
    credits: Object.entries(source.definition.unlistedCredits ?? {}).some(
      ([partition, assetId]) => assetId === row.asset_id && reach.partitions.has(partition),
    ),
  }
  return { ...head, uninvited, observed, ...judge(weighed, running, where, around) }
}

const toMoved = ({ amount, at }: { amount: Decimal; at: string }): Moved => ({ amount, atMs: Date.parse(at) })

const nothing = { holes: [], pending: [], unreadable: [], unknown: [], corrected: [] }
const nowhere = { startMs: 0, endMs: 0 }
const calm = { ...nothing, unit: null, earning: zero, rebases: false, credits: false }

/**
 * What is held grows only if the provider paid something for it lately: without that, a small deposit may be missing.
 */
async function findEarning(
  sql: Sql,
  ref: ConnectionRef,
  { definition: { accrues } }: ProvedSource,
  { row, at }: Judged,
): Promise<Decimal> {
  if (accrues === undefined) return zero
  if (accrues === 'staked') return row.staked
  return (await differences.hasEarned(sql, ref, row.asset_key, { at, withinMs: earnedMs })) ? row.observed : zero
}

/** The first break in any wallet of the asset. Breaks before the opening do not matter. */
function findBreak({ wallets }: Walk, assetId: string, sinceMs: number | undefined): Break | undefined {
  return [...(wallets?.values() ?? [])]
    .flatMap(({ assetId: of, firstBreak }) => (of === assetId && firstBreak !== undefined ? [firstBreak] : []))
    .filter(({ endMs }) => sinceMs === undefined || endMs > sinceMs)
    .toSorted((a, b) => a.startMs - b.startMs)[0]
}

async function isInFlight(sql: Sql, ref: ConnectionRef, { row, at }: Judged, weighed: Weighed): Promise<boolean> {
  const near = await differences.listNearby(sql, ref, row.asset_key, { at, withinMs: nearbyMs })
  const amounts = (isBefore: boolean): Decimal[] =>
    near.filter((one) => one.isBefore === isBefore).map(({ amount }) => amount)
  return fitsNearby(toDifference(weighed), { before: amounts(true), after: amounts(false) })
}

async function locateDifference(
  sql: Sql,
  ref: ConnectionRef,
  { beginningMs }: Reach,
  { row, at, firstAt, walk }: Judged,
): Promise<Interval> {
  const observations = await differences.listObservations(sql, ref, row.asset_key, { at, firstAt })
  const opening = beginningMs === undefined ? subtract(row.observed_first, row.posted_first) : zero
  const points = observations.map((one) => ({
    atMs: Date.parse(one.at),
    difference: subtract(one.observed, add(opening, one.posted)),
  }))
  const found = locate(points, beginningMs ?? Date.parse(firstAt))
  // If every record follows from the one before, the missing movement comes after the last record of its wallet. Only
  // the sum of the wallets was observed, so it may belong to any of them, even to the one that was quiet the longest.
  const own = [...(walk.wallets?.values() ?? [])].filter(({ assetId }) => assetId === row.asset_id)
  const held = own.reduce<Decimal>((sum, { balance }) => add(sum, balance), zero)
  if (own.length === 0 || isZero(subtract(held, row.observed))) return found
  const lastMs = Math.min(...own.map(({ lastAtMs }) => lastAtMs))
  return lastMs > found.startMs && lastMs < found.endMs ? { ...found, startMs: lastMs } : found
}

interface Ended {
  standing: store.ProofStanding
  at: string
  walk: Walk
  reach: Reach
}

async function end(deps: ProveDeps, tx: Sql, ref: ConnectionRef, { standing, at, walk, reach }: Ended): Promise<void> {
  if (walk.wallets !== undefined && walk.hasMoved) await store.keepWallets(tx, ref, walk.wallets)
  const isWhole = reach.beginningMs !== undefined
  const counted = await store.listGrades(tx, ref)
  const grade = worstOf(counted.map((one) => one.grade)) ?? (isWhole ? 'proved' : 'unprovable')
  const isGood = grade === 'proved' || grade === 'explained'
  const provedSince = isGood ? (isWhole ? standing.history_from : standing.balances_since) : null
  const completeSince = counted.some((one) => one.mayLackRecords) ? null : provedSince
  await recordProof(tx, ref, { grade, provedSince, completeSince, balancesAt: at, walkedAt: walk.walkedAt })
  const previousGrade = standing.proof_grade
  if (standing.settled && previousGrade !== null && previousGrade !== grade) {
    await deps.onChanged(tx, ref, { grade, previousGrade })
  }
}
