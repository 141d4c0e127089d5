/**
 * Deriving, batch by batch and newest first. Records were grouped when they were kept (records/groups.ts). A batch of
 * groups goes through four stages:
 *
 *   drafted      by the connector's own rules (draft.ts)
 *   priced       with the prices of the day (draft.ts)
 *   identified   with ids that do not change when it is derived again (render-batch.ts)
 *   rendered     to the text that is served (render-batch.ts), and written in one transaction (write.ts)
 *
 * If the process is killed, the batch is simply due again; deriving it twice gives the same bytes.
 *
 * While PostgreSQL writes a batch, the next one is drafted and priced: each keeps one processor busy, and neither waits
 * for the other. Drafting begins when the batch before has been rendered and not earlier: both need this thread, so the
 * draft would only keep what PostgreSQL is to write from being sent, and PostgreSQL would write while nothing is left to
 * draft.
 */
import type { Logger } from 'pino'
import type { ConnectionRef } from '../../owner.ts'
import { listHeldAssetIds } from '../balances-store.ts'
import type { ChangeDeps } from '../changes.ts'
import { renderBatch } from './render-batch.ts'
import { holdConnection, holdUser } from '../locks-store.ts'
import { draftGroups, type PricedBatch, type DraftDeps, type Source } from './draft.ts'
import * as raw from '../records/raw-store.ts'
import { ensureStatistics, planForAnyUser } from '../store.ts'
import { writeGroups } from './write.ts'

export interface DeriveDeps extends Omit<DraftDeps, 'ensurePrices'>, ChangeDeps {
  log: Logger
}

/**
 * How many groups one transaction writes: many enough that commits do not dominate, and few enough that the batch that
 * is written and the one that is drafted die young. With a thousand, collecting garbage took a seventh of deriving.
 */
export const groupsPerBatch = 300
/** How much smaller a batch becomes that is too large, and how much larger the next one. */
const [narrowing, widening] = [8, 2]

/** How many connections are remembered as priced today. Forgetting one costs a few statements. */
const pricedTodayMax = 100_000

type Derive = (
  ref: ConnectionRef,
  source: Source,
  mayContinue: () => boolean,
  part: raw.WholePart | undefined,
) => Promise<boolean>

export function createDerive(deps: DeriveDeps): Derive {
  const pricedToday = new Set<string>()
  return async (ref, source, mayContinue, part) => {
    // While a history is being read, the tables may have been empty a minute ago.
    if (part !== undefined) await ensureStatistics(deps.db)
    const first = await raw.listDueGroups(deps.db, ref, { from: raw.newestPoint, limit: groupsPerBatch, part })
    const isIdle = first.groups.length === 0
    if (first.groups.length === groupsPerBatch) await ensureStatistics(deps.db)
    // A holding has a value on every day since it began, even on days without a transaction. Once a day is enough for a
    // connection that has nothing new.
    const today = `${deps.db.now().slice(0, 10)} ${ref.userKey} ${ref.connectionKey}`
    if (isIdle && (part !== undefined || pricedToday.has(today))) return true
    const ensurePrices = await createEnsurePrices(deps, ref)
    const due = { ref, source, part }
    if (!isIdle && !(await deriveDue({ ...deps, ensurePrices }, due, { first, mayContinue }))) return false
    if (part === undefined) {
      await ensurePrices(new Set(await listHeldAssetIds(deps.db, ref)), Infinity)
      if (pricedToday.size >= pricedTodayMax) pricedToday.clear()
      pricedToday.add(today)
    }
    return true
  }
}

/** What is to be derived: the groups that are due, from the newest on. */
interface Due {
  ref: ConnectionRef
  source: Source
  /** Undefined when the whole history has been read. */
  part: raw.WholePart | undefined
}

interface Drafted {
  page: raw.DuePage
  batch: PricedBatch
  isLast: boolean
}

/**
 * Drafts one batch after another. Records of a wallet may be large, and a stranger decides how many of them share a
 * group: then a batch has fewer groups, down to a single one, and those after it may have more again.
 */
function createDrafter(deps: DeriveDeps & DraftDeps, { ref, source, part }: Due) {
  let limit = groupsPerBatch
  return async (from: raw.DuePoint, listed?: raw.DuePage): Promise<Drafted> => {
    for (let known = listed; ; known = undefined) {
      const page = known ?? (await raw.listDueGroups(deps.db, ref, { from, limit, part }))
      const batch = await draftGroups(deps, source, page.groups, {
        canBeParted: page.groups.length > 1,
        listRecords: (keys, bytesMax) =>
          deps.db.transaction(async (tx) => {
            await planForAnyUser(tx)
            return raw.listRaw(tx, ref, keys, bytesMax)
          }),
      })
      if (batch === undefined) {
        limit = Math.ceil(Math.min(limit, page.groups.length) / narrowing)
        continue
      }
      const isLast = page.groups.length < limit
      limit = Math.min(groupsPerBatch, limit * widening)
      return { page, batch, isLast }
    }
  }
}

/** False when `mayContinue` ended it first. */
async function deriveDue(
  deps: DeriveDeps & DraftDeps,
  due: Due,
  { first, mayContinue }: { first: raw.DuePage; mayContinue: () => boolean },
): Promise<boolean> {
  const draft = createDrafter(deps, due)
  let drafted = await draft(raw.newestPoint, first)
  for (;;) {
    const { page, batch, isLast } = drafted
    let next: Promise<Drafted> | undefined
    const draftNext = (): void => {
      if (isLast) return
      next ??= draft(page.last)
      // It is awaited below. If writing fails first, that error is thrown and this one must not be unhandled.
      next.catch(() => undefined)
    }
    await writeBatch(deps, due, batch, draftNext)
    if (next === undefined) return true
    await ensureStatistics(deps.db)
    const following = await next
    if (following.page.groups.length === 0) return true
    if (!mayContinue()) return false
    drafted = following
  }
}

async function writeBatch(
  deps: DeriveDeps,
  { ref, source }: Due,
  batch: PricedBatch,
  onRendered: () => void,
): Promise<void> {
  const { poison } = await deps.db.transaction(async (tx) => {
    await planForAnyUser(tx)
    // Pages are kept meanwhile. The user's row keeps other derivers away.
    await holdConnection(tx, ref)
    await holdUser(tx, ref)
    // A group that changed while it was drafted stays due: its draft is already wrong.
    const unchanged = new Set(await raw.takeDue(tx, ref, batch.groups))
    const rendered = await renderBatch(tx, ref, batch, unchanged)
    const written = writeGroups(deps, tx, ref, source.connector.providerId, rendered, { isThorough: false })
    onRendered()
    await written
    return rendered
  })
  for (const [group, reason] of poison)
    deps.log.error({ connection: ref.connectionId, group, reason }, 'could not derive a group of records')
}

/**
 * Asks for the prices of each asset once, from the connection's first day on and not from each batch's, because every
 * batch is older than the one before. Only a batch that reaches further back than that asks again.
 */
async function createEnsurePrices(deps: DeriveDeps, ref: ConnectionRef): Promise<DraftDeps['ensurePrices']> {
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
