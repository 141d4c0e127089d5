/**
 * Prices can come later than the records: a source was down, a day was not over, or an operator corrected one. The
 * transactions that wait for a price are written again from their own text, without the provider or its records.
 */
import type { Assets } from '../../assets/index.ts'
import type { Database } from '../../db/index.ts'
import type { Prices } from '../../prices/index.ts'
import * as awaited from './awaited-store.ts'
import type { AssetDay } from './awaited-store.ts'
import { takeChangeNumbers } from '../changes-store.ts'
import { announceChanges, countChanged, type ChangeDeps } from '../changes.ts'
import { holdUser } from '../locks-store.ts'
import { assetIdsOf, parseDocument, renderDocument, setPrices, type TransactionContent } from './document.ts'
import { listDocuments, updateDocuments } from '../store.ts'

export interface RepriceDeps extends Pick<ChangeDeps, 'addChanges'> {
  db: Database
  assets: Pick<Assets, 'ensureKeys'>
  prices: Pick<Prices, 'loadDaily' | 'takeCorrections'>
}

const correctionsPerRound = 100
const daysPerPage = 1_000
const transactionsPerBatch = 500
/** The rest waits for the next round, which continues where this one ended. */
const roundMaxMs = 10_000

const beginning = { assetKey: 0, day: '0001-01-01' }

/** Does a bounded amount of work; upkeep calls it again. */
export function createReprice(deps: RepriceDeps): () => Promise<void> {
  let place: Pick<AssetDay, 'assetKey' | 'day'> = beginning
  return async () => {
    const endsAt = performance.now() + roundMaxMs
    const corrected = await takeCorrections(deps)
    await repriceDays(deps, corrected, 'all', endsAt)
    while (performance.now() < endsAt) {
      const days = await awaited.listAwaitedDays(deps.db, place, daysPerPage)
      const { settled, appeared } = await sortDays(deps, days)
      await repriceDays(deps, settled, 'all', endsAt)
      await repriceDays(deps, appeared, 'bare', endsAt)
      const last = days.at(-1)
      if (last === undefined || days.length < daysPerPage) {
        place = beginning
        return
      }
      place = last
    }
  }
}

/** A correction and the transactions it concerns are written in one transaction, so a crash loses neither. */
async function takeCorrections({ db, assets, prices }: RepriceDeps): Promise<AssetDay[]> {
  return db.transaction(async (tx) => {
    const corrected = await prices.takeCorrections(tx, correctionsPerRound)
    if (corrected.length === 0) return []
    const keys = await assets.ensureKeys(
      db,
      corrected.map(({ assetId }) => assetId),
    )
    const days = corrected.map(({ assetId, day }) => ({ assetKey: keys.get(assetId) ?? 0, assetId, day }))
    for (const one of days) await awaited.requeueForPricing(tx, one)
    return days
  })
}

/** `settled` days have their final price. `appeared` days have a first price, which some texts lack. */
async function sortDays(
  { prices }: RepriceDeps,
  days: readonly (AssetDay & { bare: boolean })[],
): Promise<{ settled: AssetDay[]; appeared: AssetDay[] }> {
  if (days.length === 0) return { settled: [], appeared: [] }
  const wanted = days.map(({ assetId, day }) => ({ assetId, atMs: Date.parse(day) }))
  const { isPricePending, priceAt } = await prices.loadDaily(wanted)
  const isOpen = ({ assetId, day }: AssetDay): boolean => isPricePending(assetId, Date.parse(day))
  return {
    settled: days.filter((day) => !isOpen(day)),
    appeared: days.filter((day) => day.bare && isOpen(day) && priceAt(day.assetId, Date.parse(day.day)) !== undefined),
  }
}

async function repriceDays(
  deps: RepriceDeps,
  days: readonly AssetDay[],
  which: 'all' | 'bare',
  endsAt: number,
): Promise<void> {
  if (days.length === 0) return
  while (performance.now() < endsAt) {
    const waiting = await awaited.listAwaiting(deps.db, days, which, transactionsPerBatch)
    if (waiting.length === 0) return
    for (const [userKey, rows] of Map.groupBy(waiting, (row) => row.userKey)) {
      await repriceUser(deps, userKey, { ids: rows.map(({ id }) => id), days, which })
    }
  }
}

async function repriceUser(
  deps: RepriceDeps,
  userKey: string,
  { ids, days, which }: { ids: readonly string[]; days: readonly AssetDay[]; which: 'all' | 'bare' },
): Promise<void> {
  const { db, prices } = deps
  // Prices are loaded before any other transaction has to wait for the user.
  const read = await listDocuments(db, { userKey }, ids)
  const stored = read.map((row) => ({ ...row, content: parseDocument(row.document) }))
  const { priceAt } = await prices.loadDaily(
    stored.flatMap(({ content }) => [...assetIdsOf(content)].map((assetId) => ({ assetId, atMs: timeOf(content) }))),
  )
  const priced = stored.map(({ content, document: before, ...row }) => {
    setPrices(content, (assetId) => priceAt(assetId, timeOf(content)))
    return { ...row, before, category: content.categorization.category, document: renderDocument(content) }
  })
  await db.transaction(async (tx) => {
    await holdUser(tx, { userKey })
    const present = new Map((await listDocuments(tx, { userKey }, ids)).map(({ id, document }) => [id, document]))
    // A document that was derived or matched meanwhile has changed, and comes with the next batch.
    const same = priced.filter(({ id, before }) => present.get(id) === before)
    const changed = same.filter(({ before, document }) => before !== document)
    const [first] = changed
    if (first !== undefined) {
      const numbers = await takeChangeNumbers(tx, userKey, changed.length)
      await updateDocuments(tx, { userKey }, numbers, changed, 'priced')
      await announceChanges(deps, tx, { userKey, tenantKey: first.tenantKey }, countChanged(changed))
    }
    const gone = ids.filter((id) => !present.has(id))
    const done = [...same.map(({ id }) => id), ...gone]
    await (which === 'all' ? awaited.endAwaiting : awaited.markPriced)(tx, { userKey }, done, days)
  })
}

function timeOf(content: TransactionContent): number {
  return Date.parse(content.timestamp)
}
