/**
 * Deriving, batch by batch and newest first: raw records → drafts (the connector's own rules) → priced → rendered →
 * stored, in one transaction. Killed at any point, the batch is simply due again; done twice, it gives the same bytes.
 *
 * While PostgreSQL writes a batch, the next one is made: each keeps one processor busy, and neither waits for the other.
 */
import type { Logger } from 'pino'
import type { ConnectionRef } from '../../owner.ts'
import { listHeldAssetIds } from '../balances-store.ts'
import type { ChangeDeps } from '../changes.ts'
import { composeGroups } from './render-batch.ts'
import { holdConnectionAlone, holdUser } from '../locks-store.ts'
import { makeTransactions, type MadeBatch, type MakeDeps, type Source } from './draft.ts'
import * as raw from '../records/raw-store.ts'
import { ensureStatistics } from '../store.ts'
import { writeGroups } from './write.ts'

export interface DeriveDeps extends Omit<MakeDeps, 'ensurePrices'>, ChangeDeps {
  log: Logger
}

/** Groups for each transaction: few enough that memory stays flat, many enough that commits do not dominate. */
export const groupsPerBatch = 1_000

/** Connections whose held assets have all prices that they can have today. A forgotten one costs some statements. */
const pricedTodayMax = 100_000

type Derive = (
  ref: ConnectionRef,
  source: Source,
  mayContinue: () => boolean,
  sinceMs: number | undefined,
) => Promise<boolean>

export function createDerive(deps: DeriveDeps): Derive {
  const pricedToday = new Set<string>()
  return async (ref, source, mayContinue, sinceMs) => {
    const first = await raw.listDueGroups(deps.db, ref, { from: raw.newestPlace, limit: groupsPerBatch, sinceMs })
    const isIdle = first.groups.length === 0
    // What is held has a value on every day since, also on days and of assets without a transaction. Once a day is
    // enough for a connection that has nothing new.
    const today = `${deps.db.now().slice(0, 10)} ${ref.userKey} ${ref.connectionKey}`
    if (isIdle && (sinceMs !== undefined || pricedToday.has(today))) return true
    const ensurePrices = await createEnsurePrices(deps, ref)
    if (!isIdle && !(await deriveDue({ ...deps, ensurePrices }, ref, source, { first, mayContinue, sinceMs }))) {
      return false
    }
    if (sinceMs === undefined) {
      await ensurePrices(new Set(await listHeldAssetIds(deps.db, ref)), Infinity)
      if (pricedToday.size >= pricedTodayMax) pricedToday.clear()
      pricedToday.add(today)
    }
    return true
  }
}

/** False when `mayContinue` ended it first. */
async function deriveDue(
  deps: DeriveDeps & MakeDeps,
  ref: ConnectionRef,
  source: Source,
  { first, mayContinue, sinceMs }: { first: raw.DuePage; mayContinue: () => boolean; sinceMs: number | undefined },
): Promise<boolean> {
  const { db } = deps
  const make = (groups: readonly raw.DueGroup[]): Promise<MadeBatch> => makeTransactions(deps, db, ref, source, groups)
  let page = first
  let batch = await make(page.groups)
  for (;;) {
    const isLast = page.groups.length < groupsPerBatch
    const next = isLast
      ? undefined
      : raw
          .listDueGroups(db, ref, { from: page.last, limit: groupsPerBatch, sinceMs })
          .then(async (found) => ({ page: found, batch: await make(found.groups) }))
    // Awaited below, unless writing fails first: then its own failure is of no interest.
    next?.catch(() => undefined)
    await writeBatch(deps, ref, source, batch)
    if (next === undefined) return true
    await ensureStatistics(db)
    const following = await next
    if (following.page.groups.length === 0) return true
    if (!mayContinue()) return false
    ;({ page, batch } = following)
  }
}

async function writeBatch(
  deps: DeriveDeps,
  ref: ConnectionRef,
  { connector }: Source,
  batch: MadeBatch,
): Promise<void> {
  const { poison } = await deps.db.transaction(async (tx) => {
    await holdConnectionAlone(tx, ref)
    await holdUser(tx, ref)
    // A group that changed while it was made stays due: what was made of it is already wrong.
    const unchanged = new Set(await raw.takeDue(tx, ref, batch.groups))
    const composed = await composeGroups(tx, ref, batch, unchanged)
    await writeGroups(deps, tx, ref, connector.providerId, composed, { isThorough: false })
    return composed
  })
  for (const [group, reason] of poison)
    deps.log.error({ connection: ref.connectionId, group, reason }, 'could not derive a group of records')
}

/**
 * Asks for the prices of each asset once, from the connection's first day on and not from each batch's, because every
 * batch is older than the one before. Only a batch that reaches further back than that asks again.
 */
async function createEnsurePrices(deps: DeriveDeps, ref: ConnectionRef): Promise<MakeDeps['ensurePrices']> {
  const earliest = await raw.findEarliest(deps.db, ref)
  const asked = new Map<string, number>()
  return async (assetIds, fromMs) => {
    const sinceMs = Math.min(fromMs, earliest === null ? Infinity : Date.parse(earliest))
    const unasked = [...assetIds].filter((assetId) => sinceMs < (asked.get(assetId) ?? Infinity))
    if (unasked.length === 0) return
    await deps.prices.ensureDaily(unasked, sinceMs)
    for (const assetId of unasked) asked.set(assetId, sinceMs)
  }
}
