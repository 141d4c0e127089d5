/**
 * From a batch of groups to what is stored of it, in three steps that deriving and a replay share: `makeTransactions`
 * outside of any transaction, because prices may have to be fetched; `composeGroups` reads what the ledger itself has to
 * add (ids, counterparts); `writeGroups` writes, by whoever holds the connection alone and the user.
 */
import { toSafeText, withSafeText, type Connector, type StoredRecord } from '@assay/connectors'
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
  const { documents, poison } = toDocuments(connector, records, deps.isWallet(connector.providerId))
  const wanted = documents.flatMap(({ draft, document }) =>
    assetIdsOf(document).map((assetId) => ({ assetId, atMs: draft.occurredAtMs })),
  )
  await deps.ensurePrices(wanted.map(({ assetId }) => assetId))
  const prices = await deps.prices.loadDaily(wanted)
  return { groups, records, poison, made: documents.map((one) => toPriced(one, prices)) }
}

function toPriced(one: UnpricedTransaction, { priceAt, mayCome }: DailyPrices): MadeTransaction {
  const { occurredAtMs } = one.draft
  return {
    ...one,
    document: withPrices(one.document, (assetId) => priceAt(assetId, occurredAtMs)),
    awaited: assetIdsOf(one.document)
      .filter((assetId) => mayCome(assetId, occurredAtMs))
      .map((assetId) => ({ assetId, priced: priceAt(assetId, occurredAtMs) !== undefined })),
  }
}

type UnpricedTransaction = Omit<MadeTransaction, 'awaited'>

/** A bulkhead: an error of one group becomes a stored fault of that group. */
function toDocuments(
  connector: Connector,
  records: readonly StoredRecord[],
  mayBeSpam: boolean,
): { documents: UnpricedTransaction[]; poison: Map<string, string> } {
  const documents: UnpricedTransaction[] = []
  const poison = new Map<string, string>()
  const claimed = new Set<string>()
  for (const [groupKey, group] of Map.groupBy(records, (record) => record.group)) {
    try {
      const drafts = withSafeText(connector.toTransactions(group)).map((draft) => (mayBeSpam ? markSpam(draft) : draft))
      const made = drafts.map((draft) => ({ groupKey, draft, document: toDocument(draft) }))
      const keys = new Set(drafts.map(({ naturalKey }) => naturalKey))
      // Two of one key would be one row written twice, which PostgreSQL refuses, and with it the whole batch.
      if (keys.size < made.length || !keys.isDisjointFrom(claimed)) throw new Error(twice)
      for (const key of keys) claimed.add(key)
      documents.push(...made)
    } catch (error) {
      poison.set(groupKey, toSafeText(error instanceof Error ? error.message : String(error)))
    }
  }
  return { documents, poison }
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
  const { placed, stolen } = await chooseIds(sql, ref, made, batch.groups)
  for (const group of stolen) poison.set(group, twice)
  const sound = batch.groups.filter((group) => unchanged.has(group) && !poison.has(group))
  const own = placed.filter(({ groupKey }) => !poison.has(groupKey))
  const counterparts = await transfers.listCounterparts(
    sql,
    ref,
    own.map(({ id }) => id),
  )
  const rendered = own.map((one) => compose(one, counterparts.get(one.id)))
  const revisions = new Map(own.flatMap(({ draft, revision }) => (revision ? [[draft.naturalKey, revision]] : [])))
  const known = new Set(own.filter(({ isKnown }) => isKnown).map(({ id }) => id))
  return { sound, poison, rendered, revisions, known }
}

interface Placed extends MadeTransaction {
  id: string
  /** A transaction of this id is there. */
  isKnown: boolean
  /** Of a key whose id is retired here: the next. */
  revision: number | undefined
}

interface Places {
  placed: Placed[]
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
  const idOf = (one: MadeTransaction, revision: number): string =>
    transactionId(ref.connectionId, one.draft.naturalKey, revision)
  const stored = await store.listPlaces(
    sql,
    ref,
    made.map((one) => ({ id: idOf(one, revisionOf(one)), occurredAtMs: one.draft.occurredAtMs })),
  )
  const storedById = new Map(stored.map((one) => [one.id, one]))
  const foreign = new Set(stored.map(({ groupKey }) => groupKey)).difference(new Set(groups))
  const standing = new Set(foreign.size === 0 ? [] : await raw.listDerivedGroups(sql, ref, [...foreign]))
  const places: Places = { placed: [], stolen: new Set() }
  for (const one of made) {
    const id = idOf(one, revisionOf(one))
    const found = storedById.get(id)
    const next = revisionOf(one) + 1
    const isRetired = found?.status === 'confirmed' && found.occurredAtMs !== one.draft.occurredAtMs
    if (found !== undefined && standing.has(found.groupKey)) places.stolen.add(one.groupKey)
    else if (isRetired) places.placed.push({ ...one, id: idOf(one, next), isKnown: false, revision: next })
    else places.placed.push({ ...one, id, isKnown: found !== undefined, revision: undefined })
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
