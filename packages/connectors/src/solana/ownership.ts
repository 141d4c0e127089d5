/**
 * Since when, and until when, a stake account was the wallet's. The address that may withdraw from it owns it, and any
 * owner can hand an account over to any wallet, without a signature of that wallet. What happened to the account before
 * is not part of the wallet's history. So this question is answered before the history of a stake account is read.
 *
 * The account's transactions are walked from the newest to the oldest. One that changes who may withdraw says who may
 * afterwards, `withdraw` names who may, and an account that is split off has the authorities of the one that it came
 * from. Only what the transaction proves is believed (stake-instructions.ts). The answer is kept in the state, and later
 * reads extend it.
 *
 * The stake program ignores bytes behind the end of an instruction, so a stranger can make an account the wallet's in an
 * instruction that is too long to be decoded. Such an account is left out of the balance and the history alike, unless
 * the wallet has signed for it: then it may hold the wallet's own SOL, and its list is a hole. The one who stakes with an
 * account can end it without its owner, by splitting or merging all of it away, and begin it again for another.
 */
import { dayMs, SourceError } from '@assay/core'
import { z } from 'zod'
import { readAnswer, withTextNumbers } from '../kit/json.ts'
import { findWithdrawer } from './accounts.ts'
import { dropRepeated, fetchListed, isFinal, signaturesAnswer, toPlace, type ListedReader, type Row } from './listed.ts'
import { accountsMax, type Sides } from './records.ts'
import { commitment, digits, fetchResults, readSome } from './rpc.ts'
import { listStakeFacts, type StakeFact } from './stake-instructions.ts'
import { changeSchema, withOwnership, type OwnerChange, type Ownership, type SolanaState } from './state.ts'

/**
 * Returns the sides of a transaction, and the changes that are older than it. `changes` are newest first, without those
 * that rows above this one have passed: within a slot only the list knows the order.
 */
export function toSides(
  { signature, slot }: Pick<Row, 'signature' | 'slot'>,
  changes: readonly OwnerChange[],
): { sides: Sides; older: readonly OwnerChange[] } {
  const reached = changes.filter((change) => change.slot <= Number(slot))
  const [newest, ...rest] = reached
  const isOwn = newest?.isOwn ?? false
  if (newest?.signature !== signature) return { sides: { wasOwn: isOwn, isOwn }, older: reached }
  return { sides: { wasOwn: rest[0]?.isOwn ?? false, isOwn }, older: rest }
}

/** Rewards are paid before the transactions of their block. */
export function isOwnAt({ changes }: Ownership, slot: number): boolean {
  return changes.find((change) => change.slot < slot)?.isOwn ?? false
}

// ----------------------------------------------------------------------------------------------------------------
// the walk

const pageSize = 20
/** Accounts that were split off accounts that were split off. */
const pathMax = 10

const placeSchema = z.object({ account: z.string(), signature: z.string(), slot: digits })
type Place = z.infer<typeof placeSchema>

export const ownershipMarkSchema = z.object({
  /** The account of the list, then accounts whose owner decides about the one before. The last one is being walked. */
  path: z.array(z.string()).min(1),
  /** The last signature that was read; '' at the top of the list. */
  before: z.string(),
  /** The slot of that signature; 0 at the top of the list. */
  beforeSlot: z.number(),
  /** Everything up to this slot is in the list. */
  slot: z.number(),
  /** The newest signature that is final. */
  newest: z.string().nullable(),
  /** Whether the account was the wallet's after the next older transaction, as far as newer ones show it. */
  isOwnLater: z.boolean().nullable(),
  /** Where it was merged with another account since: both had the same owner. */
  merged: placeSchema.nullable(),
  /** The oldest transaction so far found the account without SOL, so it did not exist before. */
  hasBegun: z.boolean(),
  /** Newest first. */
  changes: z.array(changeSchema),
  /** It became the wallet's in a transaction that does not show it. What is newer does not count. */
  isHidden: z.literal(true).optional(),
  /** It had more owners than are remembered. What began since the last walk does not count. */
  isTooOften: z.literal(true).optional(),
  /** The oldest transaction so far that can be read. */
  oldest: z.object({ signature: z.string(), slot: z.number() }).optional(),
  /** The wallet signed one of the transactions, or may have. */
  isSigned: z.literal(true).optional(),
})
export type OwnershipMark = z.infer<typeof ownershipMarkSchema>

export function startOwnership(path: readonly string[]): OwnershipMark {
  const nothing = { newest: null, isOwnLater: null, merged: null, hasBegun: false, changes: [] }
  return { path: [...path], before: '', beforeSlot: 0, slot: 0, ...nothing }
}

export interface OwnershipContext extends ListedReader {
  address: string
  state: SolanaState
  nowMs: number
}

export interface OwnershipStep {
  state?: SolanaState
  /** Undefined when the owners of the first account of the path are known. */
  next: OwnershipMark | undefined
}

export async function readOwnership(context: OwnershipContext, mark: OwnershipMark): Promise<OwnershipStep> {
  const { state, address } = context
  const account = accountOf(mark)
  const { rows, ...present } = await fetchRows(context, mark)
  let at: OwnershipMark = { ...mark, ...present, newest: mark.newest ?? rows.find(isFinal)?.signature ?? null }
  if (rows.length === 0) return finish(context, at)
  const { length, result } = await readSome(rows, (some) => fetchListed(context, some.filter(isExecuted)))
  for (const { row, transaction } of result) {
    // A block that is not final may have been dropped since it was listed.
    if (transaction === undefined) continue
    const statement = readStatement(withTextNumbers(transaction), account, address)
    const stepped = stepBack(state, at, row, statement)
    if (stepped === 'hidden') return settle(context, { ...at, changes: [], isHidden: true }, [])
    if ('unknown' in stepped) return { next: startOwnership([...mark.path, stepped.unknown]) }
    const { signature, slot } = row
    at = { ...forgetTooMany(state, stepped), oldest: { signature, slot: Number(slot) } }
    if (statement?.isSigned !== false) at.isSigned = true
  }
  const last = rows[length - 1]
  return { next: { ...at, before: last?.signature ?? '', beforeSlot: Number(last?.slot ?? 0) } }
}

function accountOf({ path }: OwnershipMark): string {
  return path.at(-1) ?? ''
}

function isExecuted({ err }: Row): boolean {
  return err === null || err === undefined
}

const presentAnswer = z.object({ context: z.object({ slot: digits }), value: z.unknown() })

/** The top of the list comes with the present owner: both from one request, so from nearly the same moment. */
async function fetchRows(
  { rpc, state, address }: OwnershipContext,
  mark: OwnershipMark,
): Promise<{ rows: Row[] } & Partial<Pick<OwnershipMark, 'slot' | 'isOwnLater'>>> {
  const account = accountOf(mark)
  const until = state.ownership[account]?.upTo ?? null
  const edges = { ...toPlace({ before: mark.before, slot: mark.beforeSlot }), ...(until === null ? {} : { until }) }
  const list = {
    method: 'getSignaturesForAddress',
    params: [account, { limit: pageSize, commitment, ...edges }],
  }
  if (mark.before !== '') {
    return { rows: dropRepeated(await rpc.call(list.method, list.params, signaturesAnswer), mark, pageSize) }
  }
  const method = 'getAccountInfo'
  const [rows, found] = await fetchResults(rpc, [
    list,
    { method, params: [account, { encoding: 'jsonParsed', commitment }] },
  ])
  const { context, value } = readAnswer(method, presentAnswer, withTextNumbers(found ?? null))
  const withdrawer = findWithdrawer(value)
  return {
    rows: readAnswer(list.method, signaturesAnswer, withTextNumbers(rows ?? null)),
    slot: Number(context.slot),
    isOwnLater: withdrawer === undefined ? null : withdrawer === address,
  }
}

/**
 * Takes one transaction into account. `unknown` is an account whose owners have to be known first. `hidden`: it was given
 * to the wallet, and taken in a transaction that does not show it.
 */
function stepBack(
  state: SolanaState,
  at: OwnershipMark,
  row: Row,
  statement: Statement | undefined,
): OwnershipMark | { unknown: string } | 'hidden' {
  // What cannot be read says nothing. If it is the oldest, the account began in it.
  if (statement === undefined) return { ...at, hasBegun: true }
  const { wasOwn, isOwn, isChange, hadNothing, splitOff, mergedWith } = statement
  const { isOwnLater } = at
  const place = { signature: row.signature, slot: row.slot }
  const isHidden = hadNothing && !isChange && isOwnLater === true
  if (isHidden || (isOwn !== undefined && isOwnLater !== null && isOwn !== isOwnLater)) {
    const left = leaveOut(state, at, hadNothing)
    if (isOwnLater === true) return stepBack(state, left, row, statement)
    // It did not exist before, so what is known of an earlier life stays.
    return hadNothing ? { ...left, hasBegun: true } : 'hidden'
  }
  const merged = mergedWith === undefined ? null : { account: mergedWith, ...place }
  if (!isChange) {
    return { ...at, isOwnLater: wasOwn ?? isOwnLater, merged: merged ?? at.merged, hasBegun: hadNothing }
  }
  const related = [splitOff === undefined ? null : { account: splitOff, ...place }, at.merged]
  const owned = isOwn ?? isOwnLater ?? findRelatedOwner(state, at, related)
  if (typeof owned !== 'boolean') return owned
  const change = { ...place, slot: Number(row.slot), isOwn: owned, isFinal: isFinal(row) }
  return { ...at, isOwnLater: wasOwn ?? null, merged, hasBegun: hadNothing, changes: join(at.changes, [change]) }
}

/** Both newest first. Of neighbours with the same owner the older one is kept. Without a change an account is foreign. */
function join(newer: readonly OwnerChange[], older: readonly OwnerChange[]): OwnerChange[] {
  const all = [...newer, ...older]
  return all.filter(({ isOwn }, index) => isOwn !== all[index + 1]?.isOwn)
}

/**
 * The owner of an account that this one was split off or merged with. Accounts that are not known to be the wallet's
 * are not asked about: any stranger could name any number of them.
 */
function findRelatedOwner(
  { stakes, ownership }: SolanaState,
  { path }: OwnershipMark,
  related: readonly (Place | null)[],
): boolean | { unknown: string } {
  for (const place of related) {
    if (place === null || !stakes.includes(place.account)) continue
    const known = ownership[place.account]
    const slot = Number(place.slot)
    if (known === undefined || known.slot < slot) {
      if (!path.includes(place.account) && path.length < pathMax) return { unknown: place.account }
      if (known === undefined) continue
      throw new SourceError('data_hole', 'a stake account is not read as far as another one')
    }
    // The order of two transactions of one slot is known only within one list.
    const isClear = known.changes.every((change) => change.slot !== slot || change.signature === place.signature)
    if (isClear) return isOwnAt(known, slot)
  }
  return false
}

function finish(context: OwnershipContext, mark: OwnershipMark): OwnershipStep {
  const { state } = context
  const { isOwnLater, hasBegun, before, oldest, isSigned } = mark
  const account = accountOf(mark)
  const known = state.ownership[account]
  const isContinued = known !== undefined && known.upTo !== null
  // Of an account that is left out, a walk reads the same transactions again.
  const isReadAgain = ({ signature }: OwnerChange): boolean => mark.changes.some((one) => one.signature === signature)
  const settled = isContinued ? known.changes.filter((change) => change.isFinal && !isReadAgain(change)) : []
  const wasOwn = settled[0]?.isOwn ?? false
  // The wallet signed nothing since, so the one who stakes with the account has split or merged all of it away, and an
  // instruction that is hidden gave it to another.
  if (isContinued && wasOwn && isOwnLater === false && oldest !== undefined && isSigned !== true) {
    const changes = join(mark.changes, [{ ...oldest, isOwn: false, isFinal: false }])
    return settle(context, { ...mark, changes, isHidden: true }, settled)
  }
  // Nothing newer shows how it became the wallet's, or the oldest transaction cannot be read.
  const isUnshown = isOwnLater === true && (isContinued ? !wasOwn : hasBegun)
  const read = isUnshown ? leaveOut(state, mark) : mark
  const isHole = isContinued
    ? read.isOwnLater !== null && read.isOwnLater !== wasOwn
    : !hasBegun && (before !== '' || isOwnLater === true)
  if (isHole) {
    throw new SourceError('data_hole', 'the node does not show since when a stake account is the wallet’s')
  }
  return settle(context, read, settled)
}

/** `settled` are the changes that are older than this walk. */
function settle(
  { state, nowMs }: OwnershipContext,
  mark: OwnershipMark,
  settled: readonly OwnerChange[],
): OwnershipStep {
  const { path, slot, newest, isHidden } = mark
  const account = accountOf(mark)
  const known = state.ownership[account]
  const { upTo = null, hidden } = known ?? {}
  const changes = join(mark.changes, settled)
  const corrected = known !== undefined && isOtherPast(known, changes) ? { isCorrected: true as const } : {}
  const ownership: Ownership =
    isHidden === true
      ? { upTo, slot, changes, hidden: { sinceMs: hidden?.sinceMs ?? nowMs, untilMs: nowMs }, ...corrected }
      : { upTo: newest ?? upTo, slot, changes, ...corrected }
  const after = withOwnership(state, account, ownership)
  return { state: after, next: path.length > 1 ? startOwnership(path.slice(0, -1)) : undefined }
}

/**
 * Whether an earlier walk knew other owners of its time: an account may look hidden because of a node that is behind, and
 * what happened to it was then left out of windows that count as read.
 */
function isOtherPast({ changes: before, slot, isCorrected }: Ownership, changes: readonly OwnerChange[]): boolean {
  const toPast = (all: readonly OwnerChange[]): string[] =>
    all.flatMap((one) => (one.slot <= slot ? [`${one.signature} ${one.isOwn}`] : []))
  return isCorrected === true || toPast(before).join() !== toPast(changes).join()
}

/**
 * An earlier life of the account, which its list shows, stays in the history. `hadNothing`: that life has ended, because
 * the account did not exist any more.
 */
function leaveOut({ ownership, signedStakes }: SolanaState, mark: OwnershipMark, hadNothing = false): OwnershipMark {
  const account = accountOf(mark)
  const { changes = [], hidden } = ownership[account] ?? {}
  const hasEnded = hadNothing && mark.isOwnLater !== true
  // One that was left out before stays out when the wallet signs for it: what it withdraws is received.
  const isSigned = hidden === undefined && signedStakes.includes(account)
  if (!hasEnded && (isSigned || (mark.isOwnLater !== true && changes.length > 0))) {
    throw new SourceError('data_hole', 'a stake account changed its owner in a transaction that does not show it')
  }
  return { ...mark, changes: [], merged: null, isOwnLater: false, isHidden: true }
}

/**
 * The one who stakes with an account can merge it into another and split it off again, as often as they like and for the
 * fees alone. Each time is two changes in the state, which has a limit that ends every run.
 */
const [changesMax, signedChangesMax] = [20, 100]

/** At the beginning of a life, so that only whole lives are forgotten. */
function forgetTooMany({ ownership, signedStakes }: SolanaState, mark: OwnershipMark): OwnershipMark {
  const account = accountOf(mark)
  const { changes = [], hidden } = ownership[account] ?? {}
  const isSigned = hidden === undefined && signedStakes.includes(account)
  // Of an account that is left out, a walk reads the same transactions again.
  const all = new Set([...changes, ...mark.changes].map(({ signature }) => signature))
  const isTooOften = all.size > (isSigned ? signedChangesMax : changesMax)
  if (mark.isOwnLater !== false || !(isTooOften || mark.isTooOften === true)) return mark
  if (isSigned) throw new SourceError('data_hole', 'a stake account changed its owner more often than is remembered')
  return { ...mark, changes: [], merged: null, isHidden: true, isTooOften: true }
}

/**
 * A node lists a transaction some moments after the account shows what it did, so the walk is repeated until one of a day
 * later has found the same. Each costs all transactions of the account, and strangers can add any number.
 */
export function isAbandoned({ ownership }: SolanaState, stake: string): boolean {
  const { sinceMs, untilMs } = ownership[stake]?.hidden ?? { sinceMs: 0, untilMs: 0 }
  return untilMs - sinceMs > dayMs
}

// ----------------------------------------------------------------------------------------------------------------
// one transaction

/** What a transaction says about the owner of one stake account. Members are undefined where it says nothing. */
interface Statement {
  wasOwn: boolean | undefined
  isOwn: boolean | undefined
  /** It gave the account an owner, or took it from one. */
  isChange: boolean
  /** The account had no SOL before, so it did not exist. */
  hadNothing: boolean
  /** The account that it was split off. */
  splitOff?: string
  mergedWith?: string
  /** The wallet signed the transaction. */
  isSigned: boolean
}

const shape = z.object({
  transaction: z.object({
    message: z.object({
      accountKeys: z.array(z.object({ pubkey: z.string(), signer: z.boolean() })).max(accountsMax),
    }),
  }),
  meta: z.object({ preBalances: z.array(digits), postBalances: z.array(digits) }),
})

/** `transaction` has numbers as text. Undefined when it cannot be read. */
function readStatement(transaction: unknown, account: string, address: string): Statement | undefined {
  const parsed = shape.safeParse(transaction)
  const keys = parsed.data?.transaction.message.accountKeys ?? []
  const place = keys.findIndex(({ pubkey }) => pubkey === account)
  const { preBalances, postBalances } = parsed.data?.meta ?? {}
  const [before, after] = [preBalances?.[place], postBalances?.[place]]
  if (before === undefined || after === undefined) return undefined
  const hadNothing = before === '0'
  const wasOwn = hadNothing ? false : undefined
  const isSigned = keys.some(({ pubkey, signer }) => signer && pubkey === address)
  const statement: Statement = { wasOwn, isOwn: undefined, isChange: false, hadNothing, isSigned }
  for (const fact of listStakeFacts(transaction, address)) Object.assign(statement, readFact(fact, statement, account))
  return after === '0' ? { ...statement, isOwn: false, isChange: true } : statement
}

function readFact(fact: StakeFact, { wasOwn, isOwn, isChange }: Statement, account: string): Partial<Statement> {
  if (fact.kind === 'merge') {
    const other = fact.accounts.find((one) => one !== account)
    return fact.accounts.includes(account) && other !== undefined ? { mergedWith: other } : {}
  }
  if (fact.account !== account) return {}
  if (fact.kind === 'split') return { isChange: true, wasOwn: wasOwn ?? false, splitOff: fact.from }
  // An account that it made may have been the wallet's before, and have been emptied in this transaction.
  const isMade = fact.isChange && fact.wasOwn === false
  return {
    // It says something about the time before the transaction, unless an earlier instruction has changed the owner.
    wasOwn: isChange || isMade ? wasOwn : (wasOwn ?? fact.wasOwn),
    isOwn: fact.isChange ? fact.isOwn : (fact.isOwn ?? isOwn),
    isChange: isChange || fact.isChange,
  }
}
