/** Writes a rendered batch, in a transaction that holds the connection and the user. */
import type { Sql } from '../../db/index.ts'
import type { ConnectionRef } from '../../owner.ts'
import * as awaited from './awaited-store.ts'
import { takeChangeNumbers } from '../changes-store.ts'
import { announceChanges, type ChangeDeps } from '../changes.ts'
import type { RenderedBatch, RenderedTransaction } from './render-batch.ts'
import * as postings from './postings-store.ts'
import * as raw from '../records/raw-store.ts'
import * as store from '../store.ts'
import { dropTransferLegs, keepTransferLegs } from '../transfers/transfers.ts'

export interface WriteOptions {
  /**
   * Also writes what depends on transactions whose document is unchanged: postings, transfer legs and awaited prices. A
   * replay needs it to correct them after their rules have changed.
   */
  isThorough: boolean
}

/** Unchanged transactions are not touched: they keep their number and time. */
export async function writeGroups(
  deps: ChangeDeps,
  tx: Sql,
  ref: ConnectionRef,
  providerId: string,
  batch: RenderedBatch,
  { isThorough }: WriteOptions,
): Promise<void> {
  const added = batch.rendered.filter(({ former }) => former === undefined)
  const changed = batch.rendered.filter(({ former, isChanged }) => former !== undefined && isChanged)
  const gone = batch.gone.map(({ id }) => id)
  const count = gone.length + added.length + changed.length
  if (count > 0) {
    const numbers = await takeChangeNumbers(tx, ref.userKey, count)
    await store.keepRevisions(tx, ref, batch.revisions)
    await store.removeTransactions(tx, ref, numbers, gone)
    await store.insertTransactions(tx, ref, providerId, store.numbersAfter(numbers, gone.length), added)
    const left = store.numbersAfter(numbers, gone.length + added.length)
    await store.updateTransactions(tx, ref, providerId, left, changed)
  }
  const dependents = isThorough ? { fresh: [], again: batch.rendered } : { fresh: added, again: changed }
  await writeDependents(deps, tx, ref, { ...dependents, gone })
  await raw.deletePoison(tx, ref, batch.sound)
  await raw.keepPoison(tx, ref, batch.poison)
  if (count > 0) await announce(deps, tx, ref, { added, changed, gone })
}

/** `fresh`: transactions without dependent rows. `again`: transactions whose dependent rows may be out of date. */
async function writeDependents(
  deps: ChangeDeps,
  tx: Sql,
  ref: ConnectionRef,
  { fresh, again, gone }: { fresh: RenderedTransaction[]; again: RenderedTransaction[]; gone: string[] },
): Promise<void> {
  const formerIds = [...gone, ...again.map(({ id }) => id)]
  await postings.replacePostings(
    tx,
    ref,
    formerIds,
    again.flatMap((one) => one.postings),
  )
  await postings.addPostings(
    tx,
    ref,
    fresh.flatMap((one) => one.postings),
  )
  const withoutTransferLeg = again.filter(({ transferLeg }) => transferLeg === undefined).map(({ id }) => id)
  await dropTransferLegs(deps, tx, ref, [...gone, ...withoutTransferLeg])
  const written = [...fresh, ...again]
  await keepTransferLegs(
    tx,
    ref,
    written.flatMap(({ transferLeg }) => transferLeg ?? []),
    new Set(again.map(({ id }) => id)),
  )
  await awaited.replaceAwaited(
    tx,
    ref,
    formerIds,
    written.flatMap((one) => one.awaited),
  )
}

async function announce(
  deps: ChangeDeps,
  tx: Sql,
  ref: ConnectionRef,
  { added, changed, gone }: { added: RenderedTransaction[]; changed: RenderedTransaction[]; gone: string[] },
): Promise<void> {
  const times = [...added, ...changed].map(({ occurredAt }) => occurredAt)
  // The oldest transaction may be gone, or may have another time now.
  const isExact = gone.length + changed.length > 0
  await deps.recordTransactions(tx, ref, {
    difference: added.length - gone.length,
    firstAt: isExact ? await store.findFirstAt(tx, ref) : (times.toSorted()[0] ?? null),
    isExact,
  })
  const counts = { added: added.length, changed: changed.length, removed: gone.length }
  await announceChanges(deps, tx, ref, new Map([[ref.connectionKey, counts]]))
}
