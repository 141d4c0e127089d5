/**
 * Own transfers. The rule in core (its transfers.ts) decides which legs belong together; this file applies it again
 * whenever something near them changes, and writes the result into the documents of both sides.
 *
 * Everything happens with the user held: of two connections that are derived at once, the later one sees what the
 * earlier one has written.
 */
import { crowdSize, fateReach, matchTransfers, type TransferLeg, type TransferMatch } from '@assay/core'
import type { Database, Sql } from '../../db/index.ts'
import type { ConnectionRef, Owner } from '../../owner.ts'
import { takeChangeNumbers } from '../changes-store.ts'
import { announceChanges, countChanged, type ChangeDeps } from '../changes.ts'
import { holdUser } from '../locks-store.ts'
import { parseDocument, renderDocument, withCounterpart } from '../deriving/document.ts'
import { ensureStatistics, listDocuments, updateDocuments } from '../store.ts'
import * as store from './transfers-store.ts'

type Deps = Pick<ChangeDeps, 'addChanges'>

/** How many legs one transaction judges: few enough that other writers do not wait long for the user. */
const legsPerBatch = 200
/** Without statistics of a new table, PostgreSQL compares each of these with all legs of the user. */
const manyLegs = 20

/** Judges what is due, until nothing is; false when `mayContinue` ended it first. */
export async function matchOwnTransfers(
  deps: Deps & { db: Database },
  owner: Owner,
  mayContinue: () => boolean,
): Promise<boolean> {
  const { db } = deps
  // Most runs change nothing here, and should not have to lock the user to find that out.
  const due = await store.listDue(db, owner, legsPerBatch)
  if (due.length === 0) return true
  if (due.length >= manyLegs) await ensureStatistics(db)
  for (;;) {
    const judged = await db.transaction(async (tx) => {
      await holdUser(tx, owner)
      return judgeDue(deps, tx, owner)
    })
    if (judged < legsPerBatch) return true
    if (!mayContinue()) return false
  }
}

async function judgeDue(deps: Deps, tx: Sql, owner: Owner): Promise<number> {
  const due = await store.listDue(tx, owner, legsPerBatch)
  if (due.length === 0) return 0
  const { legs, affected } = await gather(tx, owner, due)
  const found = matchTransfers(legs).filter((match) => sidesOf(match).some((id) => affected.has(id)))
  const before = await store.listMatches(tx, owner, [...affected, ...found.flatMap(sidesOf)])
  const foundKeys = new Set(found.map(toKey))
  const beforeKeys = new Set(before.map(toKey))
  const over = before.filter((match) => !foundKeys.has(toKey(match)))
  const made = found.filter((match) => !beforeKeys.has(toKey(match)))
  if (over.length > 0) await store.deleteMatches(tx, owner, over.flatMap(sidesOf))
  if (made.length > 0) await store.insertMatches(tx, owner, made)
  await writeCounterparts(deps, tx, owner, [...new Set([...over, ...made].flatMap(sidesOf))])
  const judged = due.map(({ id }) => id)
  await store.clearDue(tx, owner, judged)
  return judged.length
}

function sidesOf({ outgoingId, incomingId }: TransferMatch): [string, string] {
  return [outgoingId, incomingId]
}

function toKey({ outgoingId, incomingId, confidence }: TransferMatch): string {
  return `${outgoingId} ${incomingId} ${confidence}`
}

/**
 * The legs whose match a change at the due legs can affect, and every leg that is needed to decide those matches, which
 * is as far again. The walk rarely finds a new leg after the second step.
 */
async function gather(
  tx: Sql,
  owner: Owner,
  due: readonly TransferLeg[],
): Promise<{ legs: TransferLeg[]; affected: Set<string> }> {
  const legs = new Map(due.map((leg) => [leg.id, leg]))
  const affected = new Set(legs.keys())
  let edge = [...legs.keys()]
  for (let step = 1; step <= 2 * fateReach && edge.length > 0; step += 1) {
    // A change affects every leg near it. Further out, it only matters whether there are many.
    const candidatesMax = step === 1 ? null : crowdSize
    const found = (await store.listNear(tx, owner, edge, candidatesMax)).filter(({ id }) => !legs.has(id))
    for (const leg of found) {
      legs.set(leg.id, leg)
      if (step <= fateReach) affected.add(leg.id)
    }
    edge = found.map(({ id }) => id)
  }
  return { legs: [...legs.values()], affected }
}

/** Writes into the documents of these transactions what the matches say now. */
async function writeCounterparts(deps: Deps, tx: Sql, owner: Owner, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const counterparts = await store.listCounterparts(tx, owner, ids)
  const alone = await store.listAlone(tx, owner, ids)
  const stored = await listDocuments(tx, owner, ids)
  const changed = stored.flatMap(({ id, connectionKey, document }) => {
    const own = alone.get(id)
    if (own === undefined) return []
    const written = withCounterpart(parseDocument(document), own, counterparts.get(id))
    const rendered = renderDocument(written)
    return rendered === document
      ? []
      : [{ id, connectionKey, category: written.categorization.category, document: rendered }]
  })
  if (changed.length === 0) return
  const numbers = await takeChangeNumbers(tx, owner.userKey, changed.length)
  await updateDocuments(tx, owner, numbers, changed, 'matched')
  await announceChanges(deps, tx, owner, countChanged(changed))
}

/**
 * Makes these the connection's legs of these transactions; legs near the place that a changed one had are judged again.
 * `known`: transactions that were there before.
 */
export async function keepTransferLegs(
  tx: Sql,
  ref: ConnectionRef,
  legs: readonly store.KeptTransferLeg[],
  known: ReadonlySet<string>,
): Promise<void> {
  if (legs.length === 0) return
  const former = legs.filter(({ id }) => known.has(id))
  const changed = former.length === 0 ? [] : await store.listChangedTransferLegIds(tx, ref, former)
  if (changed.length > 0) await store.markNear(tx, ref, changed)
  await store.upsertTransferLegs(tx, ref, legs)
}

/**
 * These transactions are gone, or are no longer transfers. Their counterparts lose the reference at once, because an id
 * that is not found must never be served. The next judging looks for better counterparts.
 */
export async function dropTransferLegs(deps: Deps, tx: Sql, owner: Owner, ids: readonly string[]): Promise<void> {
  const legs = ids.length === 0 ? [] : await store.listTransferLegIds(tx, owner, ids)
  if (legs.length === 0) return
  await store.markNear(tx, owner, legs)
  const sides = await store.deleteMatches(tx, owner, legs)
  const going = new Set(legs)
  await writeCounterparts(
    deps,
    tx,
    owner,
    sides.filter((id) => !going.has(id)),
  )
  await store.deleteTransferLegs(tx, owner, legs)
}

/** The whole connection goes: deletes up to `limit` of its legs, and returns how many. */
export async function dropConnectionTransferLegs(
  deps: Deps,
  tx: Sql,
  ref: ConnectionRef,
  limit: number,
): Promise<number> {
  let count = 0
  while (count < limit) {
    const ids = await store.listTransferLegIdsOf(tx, ref, Math.min(legsPerBatch, limit - count))
    if (ids.length === 0) break
    await dropTransferLegs(deps, tx, ref, ids)
    count += ids.length
  }
  return count
}
