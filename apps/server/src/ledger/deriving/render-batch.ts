/**
 * The last stages of deriving: a priced batch (draft.ts) is identified, which may retire ids, and rendered with its
 * counterparts. The result says how the batch differs from what is stored. It reads in the transaction that writes
 * (write.ts), which holds the connection alone and the user; a dry-run replay holds neither.
 */
import { findTransferLeg, negate } from '@assay/core'
import type { Sql } from '../../db/index.ts'
import type { ConnectionRef } from '../../owner.ts'
import * as raw from '../records/raw-store.ts'
import * as store from '../store.ts'
import * as transfers from '../transfers/transfers-store.ts'
import type { AwaitedPrice } from './awaited-store.ts'
import { parseDocument, renderDocument, storedIdOf, withCounterpart, type Counterpart } from './document.ts'
import { duplicateKey, type PricedBatch, type PricedTransaction } from './draft.ts'
import type { Posting } from './postings-store.ts'

export interface RenderedTransaction extends store.RenderedRow {
  /** The transaction that is stored under this id. */
  former: store.StoredTransaction | undefined
  /** Whether it says anything that the stored one does not. */
  isChanged: boolean
  postings: Posting[]
  transferLeg: transfers.KeptTransferLeg | undefined
  awaited: AwaitedPrice[]
}

export interface RenderedBatch {
  /** Groups whose records could be read. */
  sound: string[]
  poison: Map<string, string>
  /** In the order in which pages show them. */
  rendered: RenderedTransaction[]
  /** Stored transactions of these groups that the records no longer make. */
  gone: store.StoredTransaction[]
  /** Keys whose id is retired, and their new revision. */
  revisions: Map<string, number>
}

/**
 * `unchanged`: groups whose records have not changed since the batch was drafted. The others stay due. `regrouped`:
 * groups that lost or gained records in a dry-run replay, so their stored transactions do not count.
 */
export async function renderBatch(
  sql: Sql,
  ref: ConnectionRef,
  batch: PricedBatch,
  unchanged: ReadonlySet<string>,
  regrouped: ReadonlySet<string> = new Set(),
): Promise<RenderedBatch> {
  const priced = batch.priced.filter(({ groupKey }) => unchanged.has(groupKey))
  const poison = new Map([...batch.poison].filter(([group]) => unchanged.has(group)))
  const stored = await store.listStoredOfGroups(sql, ref, [...unchanged])
  const { identified, stolen } = await identify(sql, ref, priced, { stored, regrouped })
  for (const group of stolen) poison.set(group, duplicateKey)
  const sound = [...unchanged].filter((group) => !poison.has(group))
  const own = identified.filter(({ groupKey }) => !poison.has(groupKey))
  const counterparts = await listCounterparts(sql, ref, own)
  const rendered = own.map((one) => render(one, counterparts.get(one.id), batch.assetKeys)).toSorted(inPageOrder)
  const ids = new Set(rendered.map(({ id }) => id))
  const gone = stored.filter(({ id, groupKey }) => !ids.has(id) && !poison.has(groupKey))
  const revisions = new Map(own.flatMap(({ draft, revision }) => (revision ? [[draft.naturalKey, revision]] : [])))
  return { sound, poison, rendered, gone, revisions }
}

function inPageOrder(a: RenderedTransaction, b: RenderedTransaction): number {
  if (a.occurredAt !== b.occurredAt) return a.occurredAt > b.occurredAt ? -1 : 1
  return a.id > b.id ? -1 : 1
}

interface IdentifiedTransaction extends PricedTransaction {
  id: string
  transferLeg: ReturnType<typeof findTransferLeg>
  former: store.StoredTransaction | undefined
  /** The next revision, of a key whose id is retired here. */
  revision: number | undefined
}

interface Identified {
  identified: IdentifiedTransaction[]
  /** Groups that make a transaction which another group has already made. */
  stolen: Set<string>
}

/**
 * An id goes with its key, but a confirmed transaction's (timestamp, id) never changes: when its time is corrected the
 * id is retired, and the key gets its next. The count is kept, so that deriving again gives the same ids.
 */
async function identify(
  sql: Sql,
  ref: ConnectionRef,
  priced: readonly PricedTransaction[],
  { stored, regrouped }: { stored: readonly store.StoredTransaction[]; regrouped: ReadonlySet<string> },
): Promise<Identified> {
  const keys = priced.map(({ draft }) => draft.naturalKey)
  const revisions = await store.listRevisions(sql, ref, keys)
  const idOf = (key: string, revision: number): string => storedIdOf(ref.connectionId, key, revision)
  const ids = keys.map((key) => idOf(key, revisions.get(key) ?? 0))
  const formers = new Map(stored.map((one) => [one.id, one]))
  // Most of the others are new. The rest moved here, with a record, from another group.
  const elsewhere = await store.listStored(
    sql,
    ref,
    ids.filter((id) => !formers.has(id)),
  )
  for (const one of elsewhere) formers.set(one.id, one)
  const foreign = elsewhere.map(({ groupKey }) => groupKey).filter((groupKey) => !regrouped.has(groupKey))
  const derived = new Set(foreign.length === 0 ? [] : await raw.listDerivedGroups(sql, ref, foreign))
  const foreignIds = new Set(elsewhere.filter(({ groupKey }) => derived.has(groupKey)).map(({ id }) => id))

  const found: Identified = { identified: [], stolen: new Set() }
  for (const [index, one] of priced.entries()) {
    const { groupKey, draft, content, awaited } = one
    const id = ids[index] ?? ''
    if (foreignIds.has(id)) {
      found.stolen.add(groupKey)
      continue
    }
    const former = formers.get(id)
    const transferLeg = findTransferLeg(draft)
    if (former !== undefined && former.occurredAt !== content.timestamp && isConfirmed(former)) {
      const revision = (revisions.get(draft.naturalKey) ?? 0) + 1
      const next = idOf(draft.naturalKey, revision)
      found.identified.push({
        groupKey,
        draft,
        content,
        awaited,
        transferLeg,
        id: next,
        former: undefined,
        revision,
      })
    } else {
      found.identified.push({ groupKey, draft, content, awaited, transferLeg, id, former, revision: undefined })
    }
  }
  return found
}

function isConfirmed({ document }: store.StoredTransaction): boolean {
  return parseDocument(document).status === 'confirmed'
}

async function listCounterparts(
  sql: Sql,
  ref: ConnectionRef,
  identified: readonly IdentifiedTransaction[],
): Promise<Map<string, Counterpart>> {
  const ids = identified
    .filter(({ transferLeg, former }) => transferLeg !== undefined && former !== undefined)
    .map(({ id }) => id)
  return ids.length === 0 ? new Map() : transfers.listCounterparts(sql, ref, ids)
}

function render(
  { id, groupKey, draft, content: alone, transferLeg, awaited, former }: IdentifiedTransaction,
  counterpart: Counterpart | undefined,
  assetKeys: ReadonlyMap<string, number>,
): RenderedTransaction {
  const content = counterpart === undefined ? alone : withCounterpart(alone, alone.categorization, counterpart)
  const document = renderDocument(content)
  const occurredAt = content.timestamp
  const postings = toPostings(draft, { id, occurredAt, assetKeys })
  const stakedLegs = postings.reduce(
    (bits, { isStaked, ordinal }) => (isStaked ? bits ^ (1 << (ordinal % 31)) : bits),
    0,
  )
  return {
    id,
    groupKey,
    occurredAt,
    type: draft.type,
    category: content.categorization.category,
    isPending: draft.status === 'pending',
    stakedLegs,
    document,
    former,
    isChanged:
      former === undefined ||
      former.document !== document ||
      former.groupKey !== groupKey ||
      former.stakedLegs !== stakedLegs,
    postings,
    transferLeg: transferLeg && {
      ...transferLeg,
      id,
      assetKey: getKey(assetKeys, transferLeg.assetId),
      alone: alone.categorization,
    },
    awaited: awaited.map(({ assetId, priced }) => ({
      id,
      assetKey: getKey(assetKeys, assetId),
      day: occurredAt.slice(0, 10),
      priced,
    })),
  }
}

function getKey(assetKeys: ReadonlyMap<string, number>, assetId: string): number {
  const key = assetKeys.get(assetId)
  if (key === undefined) throw new Error(`the asset ${JSON.stringify(assetId.slice(0, 80))} has no key`)
  return key
}

interface PostingHead {
  id: string
  occurredAt: string
  assetKeys: ReadonlyMap<string, number>
}

/** A pending transaction has moved nothing yet, unless the provider took the amount when it was asked for. */
function toPostings(draft: PricedTransaction['draft'], { id, occurredAt, assetKeys }: PostingHead): Posting[] {
  const postings: Posting[] = []
  if (draft.status === 'pending' && draft.isDebited !== true) return postings
  for (const [side, legs] of [
    ['i', draft.inputs],
    ['o', draft.outputs],
    ['f', draft.fees],
  ] as const) {
    for (const { assetId, amount, place } of legs) {
      postings.push({
        transactionId: id,
        assetKey: getKey(assetKeys, assetId),
        occurredAt,
        ordinal: postings.length,
        isStaked: place === 'staked',
        side,
        isSpam: draft.spam,
        amount: side === 'i' ? amount : negate(amount),
      })
    }
  }
  return postings
}
