/**
 * Deriving, batch by batch: raw records → drafts (the connector's own rules) → priced → rendered → stored, in one
 * transaction. Killed at any point, the batch is simply due again; done twice, it gives the same bytes.
 */
import type { Connector } from '@assay/connectors'
import type { Logger } from 'pino'
import type { ConnectionRef } from '../connections/index.ts'
import { composeGroups, makeTransactions, writeGroups, type MakeDeps } from './compose.ts'
import { listHeldAssetIds } from './history-store.ts'
import { holdConnectionAlone, holdUser } from './hold-connection.ts'
import * as raw from './raw-store.ts'
import { ensureStatistics } from './store.ts'

export interface DeriveDeps extends Omit<MakeDeps, 'ensurePrices'> {
  log: Logger
}

/** Groups for each transaction: few enough that memory stays flat, many enough that commits do not dominate. */
export const groupsPerBatch = 500

/** False when `mayGoOn` ended it first. */
export async function deriveDue(
  deps: DeriveDeps,
  ref: ConnectionRef,
  connector: Connector,
  mayGoOn: () => boolean,
  sinceMs?: number,
): Promise<boolean> {
  const { db } = deps
  const ensurePrices = await createEnsurePrices(deps, ref)
  for (let after = ''; ;) {
    const groups = await raw.listUnderivedGroups(db, ref, { after, limit: groupsPerBatch, sinceMs })
    const last = groups.at(-1)
    if (last === undefined) break
    await deriveBatch({ ...deps, ensurePrices }, ref, connector, groups)
    if (groups.length < groupsPerBatch) break
    await ensureStatistics(db)
    if (!mayGoOn()) return false
    after = last
  }
  // What is held has a value on every day since, also on days and of assets without a transaction.
  if (sinceMs === undefined) await ensurePrices(await listHeldAssetIds(db, ref))
  return true
}

async function deriveBatch(
  deps: DeriveDeps & MakeDeps,
  ref: ConnectionRef,
  connector: Connector,
  groups: readonly string[],
): Promise<void> {
  const batch = await makeTransactions(deps, ref, connector, groups)
  const { poison } = await deps.db.transaction(async (tx) => {
    await holdConnectionAlone(tx, ref)
    await holdUser(tx, ref)
    // A group that changed while it was made stays due: what was made of it is already wrong.
    const composed = await composeGroups(tx, ref, batch)
    await writeGroups(tx, ref, connector.providerId, composed)
    return composed
  })
  for (const [group, reason] of poison)
    deps.log.error({ connection: ref.connectionId, group, reason }, 'a group could not be derived')
}

async function createEnsurePrices(
  deps: DeriveDeps,
  ref: ConnectionRef,
): Promise<(assetIds: readonly string[]) => Promise<void>> {
  const earliest = await raw.findEarliest(deps.db, ref)
  const asked = new Set<string>()
  return async (assetIds) => {
    const unasked = [...new Set(assetIds)].filter((assetId) => !asked.has(assetId))
    if (earliest === null || unasked.length === 0) return
    // From the connection's first day on, so that each asset is asked for once and not once a batch.
    await deps.prices.ensureDaily(unasked, Date.parse(earliest))
    for (const assetId of unasked) asked.add(assetId)
  }
}
