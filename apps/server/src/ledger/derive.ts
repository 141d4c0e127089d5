/**
 * One batch of groups: raw records → drafts (the connector's own rules) → priced → rendered → stored, in one
 * transaction. Killed at any point, the batch is simply due again; done twice, it gives the same bytes.
 */
import type { Connector, StoredRecord } from '@assay/connectors'
import { transactionId, type TransactionDraft } from '@assay/core'
import type { Logger } from 'pino'
import type { ConnectionRef } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { Prices } from '../prices/index.ts'
import { listHeldAssetIds } from './history-store.ts'
import { holdConnection } from './hold-connection.ts'
import { assetSymbolsOf, renderTransaction } from './render.ts'
import * as store from './store.ts'
import type { RenderedTransaction } from './store.ts'

export interface DeriveDeps {
  db: Database
  prices: Prices
  log: Logger
}

export async function beginDeriving(
  deps: DeriveDeps,
  ref: ConnectionRef,
  connector: Connector,
): Promise<{ derive(groups: readonly string[]): Promise<void>; finish(): Promise<void> }> {
  const earliest = await store.findEarliestRaw(deps.db, ref)
  const priced = new Set<string>()

  async function ensurePrices(assetIds: Iterable<string>): Promise<void> {
    if (earliest === null) return
    const unpriced = [...new Set(assetIds)].filter((assetId) => !priced.has(assetId))
    // From the connection's first day on, so that each asset is asked for once and not once a batch.
    await deps.prices.ensureDaily(unpriced, Date.parse(earliest))
    for (const assetId of unpriced) priced.add(assetId)
  }

  return {
    async derive(groups) {
      const records = await store.listRaw(deps.db, ref, groups)
      const { drafts, poison } = toDrafts(connector, records)
      await ensurePrices(drafts.flatMap(({ draft }) => legsOf(draft).map(({ assetId }) => assetId)))
      const priceAt = await deps.prices.loadDaily(
        drafts.flatMap(({ draft }) => legsOf(draft).map(({ assetId }) => ({ assetId, atMs: draft.occurredAtMs }))),
      )
      const rendered = drafts.map(({ draft, groupKey }): RenderedTransaction => {
        const document = renderTransaction(draft, (assetId) => priceAt(assetId, draft.occurredAtMs))
        const { occurredAtMs, type, category } = draft
        const id = transactionId(ref.connectionId, draft.naturalKey)
        return { id, groupKey, occurredAtMs, type, category, assetSymbols: assetSymbolsOf(draft), document }
      })
      await deps.db.transaction(async (tx) => {
        await holdConnection(tx, ref)
        const sound = groups.filter((group) => !poison.has(group))
        await store.replaceGroups(tx, ref, connector.providerId, sound, rendered)
        for (const [group, reason] of poison) await store.keepPoison(tx, ref, group, reason)
      })
      for (const [group, reason] of poison)
        deps.log.error({ connection: ref.connectionId, group, reason }, 'a group could not be derived')
    },

    /** What is held has a value on every day since, also on days and of assets without a transaction. */
    async finish() {
      await ensurePrices(await listHeldAssetIds(deps.db, ref))
    },
  }
}

/** A bulkhead: an error of one group becomes a stored fault of that group. */
function toDrafts(
  connector: Connector,
  records: readonly StoredRecord[],
): { drafts: { groupKey: string; draft: TransactionDraft }[]; poison: Map<string, string> } {
  const drafts: { groupKey: string; draft: TransactionDraft }[] = []
  const poison = new Map<string, string>()
  const claimed = new Set<string>()
  for (const [groupKey, group] of Map.groupBy(records, (record) => record.group)) {
    try {
      const made = connector.toTransactions(group)
      const keys = new Set(made.map(({ naturalKey }) => naturalKey))
      // Two of one key would be one row written twice, which PostgreSQL refuses, and with it the whole batch.
      if (keys.size < made.length || !keys.isDisjointFrom(claimed)) throw new Error('a key of two transactions')
      for (const key of keys) claimed.add(key)
      for (const draft of made) drafts.push({ groupKey, draft })
    } catch (error) {
      poison.set(groupKey, error instanceof Error ? error.message : String(error))
    }
  }
  return { drafts, poison }
}

function legsOf(draft: TransactionDraft): TransactionDraft['inputs'] {
  return [...draft.inputs, ...draft.outputs, ...draft.fees]
}
