/**
 * Prices that come later: a source that was down, a day that was not over, an operator's correction. The transactions
 * that wait for them are written again from their own text; neither the provider nor its records are needed.
 */
import { getAsset } from '@assay/core'
import type { Database } from '../db/index.ts'
import type { Prices } from '../prices/index.ts'
import * as awaited from './awaited-store.ts'
import type { AssetDay } from './awaited-store.ts'
import { holdUser } from './hold-connection.ts'
import { assetIdsOf, parseDocument, renderDocument, withPrices, type TransactionDocument } from './render.ts'
import { listDocuments, updateDocuments } from './store.ts'

interface Owner {
  tenantId: string
  userId: string
}

export interface RepriceDeps {
  db: Database
  prices: Pick<Prices, 'loadDaily' | 'takeCorrections'>
}

const correctionsPerRound = 100
const daysPerPage = 1_000
const transactionsPerBatch = 500
/** What is left after this waits for the next round, which begins where this one ended. */
const roundMaxMs = 10_000

const beginning: AssetDay = { assetId: '', day: '0001-01-01' }

/** Bounded; to be called again and again. */
export function createReprice(deps: RepriceDeps): () => Promise<void> {
  let place = beginning
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

/** A correction and who it concerns go down together: killed at any point, none is forgotten. */
async function takeCorrections({ db, prices }: RepriceDeps): Promise<AssetDay[]> {
  return db.transaction(async (tx) => {
    const corrected = await prices.takeCorrections(tx, correctionsPerRound)
    for (const one of corrected) await awaited.awaitAnew(tx, one, getAsset(one.assetId).symbol)
    return corrected
  })
}

/** Of `settled` days nothing more is to come. Of `appeared` there is a first price that some texts do not have. */
async function sortDays(
  { prices }: RepriceDeps,
  days: readonly (AssetDay & { bare: boolean })[],
): Promise<{ settled: AssetDay[]; appeared: AssetDay[] }> {
  if (days.length === 0) return { settled: [], appeared: [] }
  const wanted = days.map(({ assetId, day }) => ({ assetId, atMs: Date.parse(day) }))
  const { mayCome, priceAt } = await prices.loadDaily(wanted)
  const isOpen = ({ assetId, day }: AssetDay): boolean => mayCome(assetId, Date.parse(day))
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
    for (const [, rows] of Map.groupBy(waiting, ({ tenantId, userId }) => `${tenantId} ${userId}`)) {
      const [owner] = rows
      const ids = rows.map(({ id }) => id)
      if (owner !== undefined) await repriceUser(deps, owner, { ids, days, which })
    }
  }
}

async function repriceUser(
  { db, prices }: RepriceDeps,
  owner: Owner,
  { ids, days, which }: { ids: readonly string[]; days: readonly AssetDay[]; which: 'all' | 'bare' },
): Promise<void> {
  // Prices are loaded before anybody has to wait for the user.
  const read = await listDocuments(db, owner, ids)
  const documents = read.map(({ id, document }) => ({ id, text: document, document: parseDocument(document) }))
  const { priceAt } = await prices.loadDaily(
    documents.flatMap(({ document }) => assetIdsOf(document).map((assetId) => ({ assetId, atMs: timeOf(document) }))),
  )
  const priced = documents.map(({ id, text, document }) => {
    const changed = withPrices(document, (assetId) => priceAt(assetId, timeOf(document)))
    return { id, text, category: changed.categorization.category, document: renderDocument(changed) }
  })
  await db.transaction(async (tx) => {
    await holdUser(tx, owner)
    const present = new Map((await listDocuments(tx, owner, ids)).map(({ id, document }) => [id, document]))
    // One that was derived or matched meanwhile is another text, and comes with the next batch.
    const same = priced.filter(({ id, text }) => present.get(id) === text)
    await updateDocuments(tx, owner, same)
    const gone = ids.filter((id) => !present.has(id))
    const done = [...same.map(({ id }) => id), ...gone]
    await (which === 'all' ? awaited.endAwaiting : awaited.markPriced)(tx, owner, done, days)
  })
}

function timeOf(document: TransactionDocument): number {
  return Date.parse(document.timestamp)
}
