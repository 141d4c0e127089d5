/**
 * The first stages of deriving: grouped records are drafted by the connector's rules, and the drafts are priced. Both
 * run outside a database transaction, because prices may have to be fetched. Deriving and replay share them.
 */
import {
  toSafeText,
  withSafeText,
  type AccountFacts,
  type Connector,
  type ConnectorState,
  type StoredRecord,
} from '@assay/connectors'
import { isSpamTransfer, withDistinctName, withTypeOfLegs, type Leg, type TransactionDraft } from '@assay/core'
import type { Assets } from '../../assets/index.ts'
import type { Database } from '../../db/index.ts'
import type { DailyPrices, Prices } from '../../prices/index.ts'
import type * as raw from '../records/raw-store.ts'
import { setPrices, toContent, type TransactionContent } from './document.ts'

export interface PricedTransaction {
  groupKey: string
  draft: TransactionDraft
  /** It has prices, but not a counterpart yet. */
  content: TransactionContent
  /** Assets whose final price may still come, and whether the content has a provisional one until then. */
  awaited: { assetId: string; priced: boolean }[]
}

export interface PricedBatch {
  groups: readonly raw.DueGroup[]
  records: number
  priced: PricedTransaction[]
  /** Why a group could not be read. */
  poison: Map<string, string>
  /** The key of every asset in the batch, by its id. */
  assetKeys: ReadonlyMap<string, number>
}

/** What deriving needs to know about a provider and the account. */
export interface Source {
  connector: Connector
  /** A gap longer than this between two neighbouring records begins another story. */
  storySpanMs: number
  state: ConnectorState
}

export interface DraftDeps {
  db: Database
  assets: Pick<Assets, 'ensureKeys'>
  prices: Prices
  /** A stranger can send to a wallet; an exchange books only what it has listed itself. */
  isWallet(providerId: string): boolean
  /** Fetches the prices that are not known yet, from the first of these times on; a replay does without. */
  ensurePrices(assetIds: ReadonlySet<string>, fromMs: number): Promise<void>
}

/** When two groups make a transaction with one key, the group that comes second is in error. */
export const duplicateKey = 'two transactions have the same key'

/** What the records of one batch may take in memory. Three hundred trades with their records take half a megabyte. */
const batchBytesMax = 32 * 1024 * 1024
/**
 * What the records of one group may take. The longest honest ones are those of a transaction with tens of thousands of
 * transfers, and a Bitcoin transaction that fills a page. A provider that gives all its rows one reference would
 * otherwise end one worker after another.
 */
const groupBytesMax = 64 * 1024 * 1024

/**
 * A leg takes a kilobyte while it is drafted and rendered, and the record of a batch of collectibles has ten bytes for
 * each. Drafting and rendering so many take the worker's thread for less than a second.
 */
const batchLegsMax = 10_000
/** The legs of one group. A stranger pays for some tens of thousands of them in one transaction. */
const groupLegsMax = 50_000

/** Undefined when the records of these groups take more than `bytesMax`. A dry run sees some of them in other groups. */
type ListRecords = (groups: readonly string[], bytesMax: number) => Promise<raw.GroupedRecord[] | undefined>

/**
 * Reads the records of these groups, drafts them and prices the drafts. Undefined when the records take more memory
 * than a batch may, or become more legs: the caller then drafts fewer groups at once. Groups that it cannot part may
 * take more, and are reported as unreadable beyond that. This is a bulkhead, like that of a group that cannot be
 * drafted: what the groups have become before stays.
 */
export async function draftGroups(
  deps: DraftDeps,
  source: Source,
  groups: readonly raw.DueGroup[],
  { listRecords, canBeParted }: { listRecords: ListRecords; canBeParted: boolean },
): Promise<PricedBatch | undefined> {
  const keys = groups.map(({ key }) => key)
  const records = await listRecords(keys, canBeParted ? batchBytesMax : groupBytesMax)
  if (records !== undefined) {
    const isWallet = deps.isWallet(source.connector.providerId)
    const drafted = toDrafted(source, keys, records, { isWallet, canBeParted })
    return drafted && priceDrafts(deps, groups, records.length, drafted)
  }
  if (canBeParted) return undefined
  const reason = `more than ${groupBytesMax} bytes of records belong together`
  return { groups, records: 0, poison: new Map(keys.map((key) => [key, reason])), priced: [], assetKeys: new Map() }
}

async function priceDrafts(
  deps: DraftDeps,
  groups: readonly raw.DueGroup[],
  records: number,
  { drafted, poison }: Drafted,
): Promise<PricedBatch> {
  const assets = new Map<string, Leg>()
  const wanted = new Map<string, { assetId: string; atMs: number }>()
  let fromMs = Infinity
  for (const { draft, content } of drafted) {
    const { occurredAtMs: atMs } = draft
    fromMs = Math.min(fromMs, atMs)
    const day = content.timestamp.slice(0, 10)
    for (const legs of [draft.inputs, draft.outputs, draft.fees]) {
      for (const leg of legs) {
        // Most transactions share their day and asset with others.
        const key = day + leg.assetId
        if (wanted.has(key)) continue
        wanted.set(key, { assetId: leg.assetId, atMs })
        assets.set(leg.assetId, leg)
      }
    }
  }
  await deps.ensurePrices(new Set(assets.keys()), fromMs)
  const prices = await deps.prices.loadDaily([...wanted.values()])
  const assetKeys = await deps.assets.ensureKeys(deps.db, [...assets.values()])
  const priced = drafted.map((one) => toPriced(one, prices))
  return { groups, records, poison, priced, assetKeys }
}

type DraftedTransaction = Omit<PricedTransaction, 'awaited'>

function toPriced(
  { groupKey, draft, content }: DraftedTransaction,
  { priceAt, isPricePending }: DailyPrices,
): PricedTransaction {
  const { occurredAtMs } = draft
  const dailyAssets = setPrices(content, (assetId) => priceAt(assetId, occurredAtMs), draft)
  const awaited = dailyAssets
    .filter((assetId) => isPricePending(assetId, occurredAtMs))
    .map((assetId) => ({ assetId, priced: priceAt(assetId, occurredAtMs) !== undefined }))
  return { groupKey, draft, content, awaited }
}

interface Drafted {
  drafted: DraftedTransaction[]
  poison: Map<string, string>
}

/**
 * A bulkhead: an error of one group becomes a stored fault of that group. Keeps the order of the groups. Undefined when
 * groups that can be parted become too many legs together.
 */
function toDrafted(
  source: Source,
  groups: readonly string[],
  records: readonly raw.GroupedRecord[],
  { isWallet, canBeParted }: { isWallet: boolean; canBeParted: boolean },
): Drafted | undefined {
  const drafted: DraftedTransaction[] = []
  const poison = new Map<string, string>()
  const claimed = new Set<string>()
  const facts = toFacts(source)
  const recordsOf = Map.groupBy(records, (record) => record.group)
  let legs = 0
  for (const groupKey of groups) {
    const group = recordsOf.get(groupKey)
    if (group === undefined) continue
    try {
      const read = toDrafts(source, facts, group)
      const legsOfGroup = countLegs(read)
      legs += legsOfGroup
      if (canBeParted && legs > batchLegsMax) return undefined
      if (legsOfGroup > groupLegsMax) throw new Error(`more than ${groupLegsMax} legs belong together`)
      const safe = withSafeText(read).map(withTypeOfLegs)
      const drafts = isWallet ? safe.map(judgeOnChain) : safe
      const ofGroup = drafts.map((draft) => ({ groupKey, draft, content: toContent(draft) }))
      const keys = new Set(drafts.map(({ naturalKey }) => naturalKey))
      // Two of one key would be one row written twice, which PostgreSQL refuses, and with it the whole batch.
      if (keys.size < ofGroup.length || !keys.isDisjointFrom(claimed)) throw new Error(duplicateKey)
      for (const key of keys) claimed.add(key)
      drafted.push(...ofGroup)
    } catch (error) {
      poison.set(groupKey, toSafeText(error instanceof Error ? error.message : String(error)))
    }
  }
  return { drafted, poison }
}

function countLegs(drafts: readonly TransactionDraft[]): number {
  return drafts.reduce((sum, { inputs, outputs, fees }) => sum + inputs.length + outputs.length + fees.length, 0)
}

function toFacts({ connector, state }: Source): AccountFacts {
  return { addresses: new Set(connector.ownAddresses?.(state) ?? []), state }
}

/**
 * The transactions of a group, story by story and the oldest first. A provider that uses one reference again for
 * something else (Kraken does, months later) would give two stories one key: the oldest story keeps it, and a later one
 * adds the key of its first record. Histories are read newest first, so a key that was alone may get an older namesake
 * later: then its transaction changes its id, once.
 */
function toDrafts(source: Source, facts: AccountFacts, group: readonly StoredRecord[]): TransactionDraft[] {
  const unreadable = group.find((record) => record.unreadable !== undefined)
  if (unreadable !== undefined) throw new Error(unreadable.unreadable)
  const claimed = new Set<string>()
  return splitStories(group, source.storySpanMs).flatMap((story) => {
    const drafts = source.connector.toTransactions(story, facts)
    const suffix = `@${story[0]?.key ?? ''}`
    const named = drafts.map((draft) =>
      claimed.has(draft.naturalKey) ? { ...draft, naturalKey: draft.naturalKey + suffix } : draft,
    )
    for (const { naturalKey } of named) claimed.add(naturalKey)
    return named
  })
}

/** Pure: records in the order of time; a gap that is longer than the span begins another story. */
export function splitStories(group: readonly StoredRecord[], storySpanMs: number): StoredRecord[][] {
  const inOrder = group.toSorted((a, b) => a.occurredAtMs - b.occurredAtMs || (a.key < b.key ? -1 : 1))
  const stories: StoredRecord[][] = []
  let lastMs = -Infinity
  for (const record of inOrder) {
    if (record.occurredAtMs - lastMs > storySpanMs) stories.push([])
    stories.at(-1)?.push(record)
    lastMs = record.occurredAtMs
  }
  return stories
}

/** Strangers name what they send to a wallet: spam is judged by the names they gave, and shown names are distinct. */
function judgeOnChain(draft: TransactionDraft): TransactionDraft {
  return {
    ...draft,
    spam: draft.spam || isSpamTransfer(draft),
    inputs: draft.inputs.map(withDistinctName),
    outputs: draft.outputs.map(withDistinctName),
    fees: draft.fees.map(withDistinctName),
  }
}
