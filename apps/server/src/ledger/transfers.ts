/**
 * Own transfers, kept true: which legs belong together is core's to say (transfers.ts there); here it is said again
 * whenever something near them changes, and written into the documents of both sides.
 *
 * Everything happens with the user held: of two connections that are derived at once, the later one sees what the
 * earlier one has written.
 */
import { crowdSize, fateReach, matchTransfers, type TransferLeg, type TransferMatch } from '@assay/core'
import type { ConnectionRef } from '../connections/index.ts'
import type { Database, Sql } from '../db/index.ts'
import { holdUser } from './hold-connection.ts'
import { parseDocument, renderDocument, withCounterpart } from './render.ts'
import { ensureStatistics, listDocuments, updateDocuments } from './store.ts'
import * as store from './transfers-store.ts'

interface Owner {
  tenantId: string
  userId: string
}

/** Judged in one transaction: few enough that nobody waits long for the user. */
const legsPerBatch = 200

/** Judges what is due, until nothing is; false when `mayGoOn` ended it first. */
export async function matchOwnTransfers(db: Database, owner: Owner, mayGoOn: () => boolean): Promise<boolean> {
  // Most runs change nothing here, and need not wait for the user to learn it.
  const due = await store.listDue(db, owner, legsPerBatch)
  if (due.length === 0) return true
  if (due.length === legsPerBatch) await ensureStatistics(db)
  for (;;) {
    const judged = await db.transaction(async (tx) => {
      await holdUser(tx, owner)
      return judgeDue(tx, owner)
    })
    if (judged < legsPerBatch) return true
    if (!mayGoOn()) return false
  }
}

async function judgeDue(tx: Sql, owner: Owner): Promise<number> {
  const due = await store.listDue(tx, owner, legsPerBatch)
  if (due.length === 0) return 0
  const { legs, affected } = await gather(tx, owner, due)
  const found = matchTransfers(legs).filter((match) => sidesOf(match).some((id) => affected.has(id)))
  const before = await store.listMatches(tx, owner, [...affected, ...found.flatMap(sidesOf)])
  const foundKeys = new Set(found.map(toKey))
  const beforeKeys = new Set(before.map(toKey))
  const over = before.filter((match) => !foundKeys.has(toKey(match)))
  const made = found.filter((match) => !beforeKeys.has(toKey(match)))
  await store.deleteMatches(tx, owner, over.flatMap(sidesOf))
  await store.insertMatches(tx, owner, made)
  await writeCounterparts(tx, owner, [...new Set([...over, ...made].flatMap(sidesOf))])
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
 * The legs whose fate a change at the due ones can reach, and all that is needed to tell that fate: as far again. Mostly
 * nothing new is found after the first or second step.
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
    // Everybody near a change has to hear of it; further out it is enough to tell a crowd from less.
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
async function writeCounterparts(tx: Sql, owner: Owner, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const counterparts = await store.listCounterparts(tx, owner, ids)
  const alone = await store.listAlone(tx, owner, ids)
  const stored = await listDocuments(tx, owner, ids)
  const written = stored.flatMap(({ id, document }) => {
    const own = alone.get(id)
    if (own === undefined) return []
    const changed = withCounterpart(parseDocument(document), own, counterparts.get(id))
    return [{ id, category: changed.categorization.category, document: renderDocument(changed) }]
  })
  await updateDocuments(tx, owner, written)
}

/**
 * Makes these the connection's legs of these transactions; what is near the place that a changed one had is judged
 * again. `known`: transactions that were there before.
 */
export async function keepLegs(
  tx: Sql,
  ref: ConnectionRef,
  legs: readonly store.KeptLeg[],
  known: ReadonlySet<string>,
): Promise<void> {
  if (legs.length === 0) return
  const former = legs.filter(({ id }) => known.has(id))
  const changed = former.length === 0 ? [] : await store.listChangedLegIds(tx, ref, former)
  if (changed.length > 0) await store.markNear(tx, ref, changed)
  await store.upsertLegs(tx, ref, legs)
}

/**
 * These transactions are gone, or are no transfers any more. Whoever was their counterpart stands alone at once: a name
 * that leads nowhere is never served, and a better counterpart is looked for as soon as something is judged.
 */
export async function dropLegs(tx: Sql, owner: Owner, ids: readonly string[]): Promise<void> {
  const legs = ids.length === 0 ? [] : await store.listLegIds(tx, owner, ids)
  if (legs.length === 0) return
  await store.markNear(tx, owner, legs)
  const sides = await store.deleteMatches(tx, owner, legs)
  const going = new Set(legs)
  await writeCounterparts(
    tx,
    owner,
    sides.filter((id) => !going.has(id)),
  )
  await store.deleteLegs(tx, owner, legs)
}

/** The whole connection goes: so many of its legs, or as many as there are. */
export async function dropConnectionLegs(tx: Sql, ref: ConnectionRef, limit: number): Promise<number> {
  let count = 0
  while (count < limit) {
    const ids = await store.listLegIdsOf(tx, ref, Math.min(legsPerBatch, limit - count))
    if (ids.length === 0) break
    await dropLegs(tx, ref, ids)
    count += ids.length
  }
  return count
}
