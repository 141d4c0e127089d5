/**
 * From a batch of groups to what is stored of it, in three steps that deriving and a replay share: `makeTransactions`
 * outside of any transaction, because prices may have to be fetched; `composeGroups` reads what the ledger itself has to
 * add (ids, counterparts); `writeGroups` writes, by whoever holds the connection alone and the user.
 */
import type { Connector, StoredRecord } from '@assay/connectors'
import { findTransferLeg, isSpamTransfer, transactionId, type TransactionDraft } from '@assay/core'
import type { ConnectionRef } from '../connections/index.ts'
import type { Database, Sql } from '../db/index.ts'
import type { DailyPrices, Prices } from '../prices/index.ts'
import * as awaited from './awaited-store.ts'
import { holdUser } from './hold-connection.ts'
import * as raw from './raw-store.ts'
import { assetIdsOf, assetSymbolsOf, renderDocument, toDocument, withCounterpart, withPrices } from './render.ts'
import type { TransactionDocument } from './render.ts'
import * as store from './store.ts'
import { dropLegs, keepLegs } from './transfers.ts'
import * as transfers from './transfers-store.ts'

interface MadeTransaction {
  groupKey: string
  draft: TransactionDraft
  /** Priced, without a counterpart. */
  document: TransactionDocument
  /** Assets whose price for good may still come, and whether there is one until then. */
  awaited: { assetId: string; priced: boolean }[]
}

export interface MadeBatch {
  groups: readonly string[]
  records: StoredRecord[]
  made: MadeTransaction[]
  /** Why a group could not be read. */
  poison: Map<string, string>
}

export interface MakeDeps {
  db: Database
  prices: Prices
  /** Anybody may send to a wallet; what an exchange books it has listed itself. */
  isWallet(providerId: string): boolean
  /** Fetches what is not known yet; a replay does without. */
  ensurePrices(assetIds: readonly string[]): Promise<void>
}

export async function makeTransactions(
  deps: MakeDeps,
  ref: ConnectionRef,
  connector: Connector,
  groups: readonly string[],
): Promise<MadeBatch> {
  const records = await raw.listRaw(deps.db, ref, groups)
  const { drafts, poison } = toDrafts(connector, records, deps.isWallet(connector.providerId))
  const documents = drafts.map(({ draft, groupKey }) => ({ draft, groupKey, document: toDocument(draft) }))
  const wanted = documents.flatMap(({ draft, document }) =>
    assetIdsOf(document).map((assetId) => ({ assetId, atMs: draft.occurredAtMs })),
  )
  await deps.ensurePrices(wanted.map(({ assetId }) => assetId))
  const prices = await deps.prices.loadDaily(wanted)
  return { groups, records, poison, made: documents.map((one) => toPriced(one, prices)) }
}

function toPriced(one: Omit<MadeTransaction, 'awaited'>, { priceAt, mayCome }: DailyPrices): MadeTransaction {
  const { occurredAtMs } = one.draft
  return {
    ...one,
    document: withPrices(one.document, (assetId) => priceAt(assetId, occurredAtMs)),
    awaited: assetIdsOf(one.document)
      .filter((assetId) => mayCome(assetId, occurredAtMs))
      .map((assetId) => ({ assetId, priced: priceAt(assetId, occurredAtMs) !== undefined })),
  }
}

/** A bulkhead: an error of one group becomes a stored fault of that group. */
function toDrafts(
  connector: Connector,
  records: readonly StoredRecord[],
  mayBeSpam: boolean,
): { drafts: { groupKey: string; draft: TransactionDraft }[]; poison: Map<string, string> } {
  const drafts: { groupKey: string; draft: TransactionDraft }[] = []
  const poison = new Map<string, string>()
  const claimed = new Set<string>()
  for (const [groupKey, group] of Map.groupBy(records, (record) => record.group)) {
    try {
      const made = connector.toTransactions(group).map((draft) => (mayBeSpam ? markSpam(draft) : draft))
      const keys = new Set(made.map(({ naturalKey }) => naturalKey))
      // Two of one key would be one row written twice, which PostgreSQL refuses, and with it the whole batch.
      if (keys.size < made.length || !keys.isDisjointFrom(claimed)) throw new Error(twice)
      for (const key of keys) claimed.add(key)
      for (const draft of made) drafts.push({ groupKey, draft })
    } catch (error) {
      poison.set(groupKey, error instanceof Error ? error.message : String(error))
    }
  }
  return { drafts, poison }
}

function markSpam(draft: TransactionDraft): TransactionDraft {
  return { ...draft, spam: draft.spam || isSpamTransfer(draft) }
}

const twice = 'a key of two transactions'

interface ComposedTransaction extends store.RenderedTransaction {
  leg: transfers.KeptLeg | undefined
  awaited: awaited.AwaitedPrice[]
}

export interface ComposedBatch {
  /** Groups that could be read, and are what they were when they were read. */
  sound: string[]
  poison: Map<string, string>
  rendered: ComposedTransaction[]
  /** Keys whose id is retired, and their new revision. */
  revisions: Map<string, number>
  /** Ids that are there already. */
  known: Set<string>
}

export async function composeGroups(sql: Sql, ref: ConnectionRef, batch: MadeBatch): Promise<ComposedBatch> {
  const unchanged = new Set(await raw.listUnchangedGroups(sql, ref, batch.records, batch.groups))
  const made = batch.made.filter(({ groupKey }) => unchanged.has(groupKey))
  const poison = new Map([...batch.poison].filter(([group]) => unchanged.has(group)))
  const { placed, revisions, known, stolen } = await chooseIds(sql, ref, made, batch.groups)
  for (const group of stolen) poison.set(group, twice)
  const sound = batch.groups.filter((group) => unchanged.has(group) && !poison.has(group))
  const own = placed.filter(({ groupKey }) => !poison.has(groupKey))
  const counterparts = await transfers.listCounterparts(
    sql,
    ref,
    own.map(({ id }) => id),
  )
  const rendered = own.map((one) => compose(one, counterparts.get(one.id)))
  return { sound, poison, rendered, revisions, known }
}

type Placed = MadeTransaction & { id: string }

interface Places {
  placed: Placed[]
  revisions: Map<string, number>
  /** Ids that are there already. */
  known: Set<string>
  /** Groups that make a transaction which another group has made. */
  stolen: Set<string>
}

/**
 * An id goes with its key, but a confirmed transaction's (timestamp, id) never changes: when its time is corrected the
 * id is retired, and the key gets its next. The count is kept, so that deriving again gives the same ids.
 */
async function chooseIds(
  sql: Sql,
  ref: ConnectionRef,
  made: readonly MadeTransaction[],
  groups: readonly string[],
): Promise<Places> {
  const kept = await store.listRevisions(
    sql,
    ref,
    made.map(({ draft }) => draft.naturalKey),
  )
  const revisionOf = ({ draft }: MadeTransaction): number => kept.get(draft.naturalKey) ?? 0
  const place = (one: MadeTransaction, revision: number): Placed => ({
    ...one,
    id: transactionId(ref.connectionId, one.draft.naturalKey, revision),
  })
  const placed = made.map((one) => place(one, revisionOf(one)))
  const stored = await store.listPlaces(
    sql,
    ref,
    placed.map(({ id, draft }) => ({ id, occurredAtMs: draft.occurredAtMs })),
  )
  const storedById = new Map(stored.map((one) => [one.id, one]))
  const foreign = new Set(stored.map(({ groupKey }) => groupKey)).difference(new Set(groups))
  const standing = new Set(foreign.size === 0 ? [] : await raw.listDerivedGroups(sql, ref, [...foreign]))
  const places: Places = { placed: [], revisions: new Map(), known: new Set(storedById.keys()), stolen: new Set() }
  for (const one of placed) {
    const found = storedById.get(one.id)
    if (found !== undefined && standing.has(found.groupKey)) places.stolen.add(one.groupKey)
    const isRetired = found?.status === 'confirmed' && found.occurredAtMs !== one.draft.occurredAtMs
    if (isRetired) places.revisions.set(one.draft.naturalKey, revisionOf(one) + 1)
    places.placed.push(isRetired ? place(one, revisionOf(one) + 1) : one)
  }
  return places
}

function compose(one: Placed, counterpart: Parameters<typeof withCounterpart>[2]): ComposedTransaction {
  const { id, draft, groupKey } = one
  const leg = findTransferLeg(draft)
  const document =
    leg === undefined ? one.document : withCounterpart(one.document, one.document.categorization, counterpart)
  return {
    id,
    groupKey,
    occurredAtMs: draft.occurredAtMs,
    type: draft.type,
    category: document.categorization.category,
    assetSymbols: assetSymbolsOf(document),
    document: renderDocument(document),
    leg: leg && { id, ...leg, alone: one.document.categorization },
    awaited: one.awaited.map((price) => ({ id, atMs: draft.occurredAtMs, ...price })),
  }
}

export async function writeGroups(
  tx: Sql,
  ref: ConnectionRef,
  providerId: string,
  { sound, poison, rendered, revisions, known }: ComposedBatch,
): Promise<void> {
  await store.keepRevisions(tx, ref, revisions)
  const gone = await store.replaceGroups(tx, ref, providerId, sound, rendered)
  const legless = rendered.filter(({ id, leg }) => leg === undefined && known.has(id)).map(({ id }) => id)
  await dropLegs(tx, ref, [...gone, ...legless])
  await keepLegs(
    tx,
    ref,
    rendered.flatMap(({ leg }) => leg ?? []),
    known,
  )
  await awaited.replaceAwaited(
    tx,
    ref,
    [...gone, ...known],
    rendered.flatMap((one) => one.awaited),
  )
  await raw.deletePoison(tx, ref, sound)
  await raw.keepPoison(tx, ref, poison)
  await raw.markDerived(tx, ref, [...sound, ...poison.keys()])
}

/** These groups have no record any more. */
export async function endGroups(tx: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<void> {
  if (groups.length === 0) return
  await holdUser(tx, ref)
  const gone = await store.retireGroups(tx, ref, groups, [])
  await dropLegs(tx, ref, gone)
  await awaited.replaceAwaited(tx, ref, gone, [])
  await raw.deletePoison(tx, ref, groups)
}
