/**
 * Everything derived again from the stored records, without asking a provider: after a rule was improved, or to see what
 * an improvement would change. Batch by batch, so that memory does not grow with the histories, and with the locks that
 * deriving takes, so that workers may go on beside it.
 *
 * Only stored prices are used. A look does not judge transfers again; when the changes are applied, it is done at the
 * end of each user's connection.
 */
import type { Connector } from '@assay/connectors'
import type { Database, Sql } from '../db/index.ts'
import { composeGroups, makeTransactions, writeGroups, type ComposedBatch, type MakeDeps } from './compose.ts'
import { groupsPerBatch } from './derive.ts'
import { ConnectionGone, holdConnectionAlone, holdUser } from './hold-connection.ts'
import { createTally, type ReplayReport } from './replay-tally.ts'
import * as store from './replay-store.ts'
import type { ReplayedConnection } from './replay-store.ts'
import { matchOwnTransfers } from './transfers.ts'

export type { ReplayReport } from './replay-tally.ts'

export interface ReplayDeps extends Omit<MakeDeps, 'ensurePrices'> {
  loadConnector(providerId: string): Promise<Connector>
}

export interface ReplayOptions {
  /** All of them when undefined. */
  connectionId: string | undefined
  /** False: only look. */
  apply: boolean
  onProgress(progress: ReplayProgress): void
}

export interface ReplayProgress {
  connectionsDone: number
  connections: number
  groups: number
}

const connectionsPerPage = 100

export async function replay(deps: ReplayDeps, options: ReplayOptions): Promise<ReplayReport> {
  const tally = createTally()
  const progress = { connectionsDone: 0, connections: await store.countConnections(deps.db, options), groups: 0 }
  const onBatch = (groups: number): void => {
    progress.groups += groups
    options.onProgress({ ...progress })
  }
  for (let after: ReplayedConnection | undefined; ;) {
    const page = await store.listConnections(deps.db, options, after, connectionsPerPage)
    for (const connection of page) {
      const connector = await deps.loadConnector(connection.providerId)
      const outcome = await replayConnection(deps, connection, connector, options.apply, tally.add, onBatch)
      tally.countConnection(outcome)
      progress.connectionsDone += 1
    }
    after = page.at(-1)
    if (after === undefined) break
  }
  options.onProgress({ ...progress })
  return tally.toReport(progress.groups)
}

async function replayConnection(
  deps: ReplayDeps,
  ref: ReplayedConnection,
  connector: Connector,
  apply: boolean,
  add: ReturnType<typeof createTally>['add'],
  onBatch: (groups: number) => void,
): Promise<'replayed' | 'gone'> {
  const make = { ...deps, ensurePrices: async () => undefined }
  for (let after = ''; ;) {
    const groups = await store.listGroups(deps.db, ref, after, groupsPerBatch)
    const last = groups.at(-1)
    if (last === undefined) break
    const batch = await makeTransactions(make, ref, connector, groups)
    try {
      const { before, composed } = await (apply ? applyBatch : lookAt)(deps.db, ref, async (tx) => {
        const found = await composeGroups(tx, ref, batch)
        return { composed: found, before: await store.listStored(tx, ref, found.sound, idsOf(found)) }
      })
      add(ref, before, composed)
    } catch (error) {
      if (error instanceof ConnectionGone) return 'gone'
      throw error
    }
    onBatch(groups.length)
    after = last
  }
  if (apply) await matchOwnTransfers(deps.db, ref, () => true)
  return 'replayed'
}

interface Comparison {
  before: store.StoredTransaction[]
  composed: ComposedBatch
}

type Compare = (tx: Sql) => Promise<Comparison>

/** One moment for all statements: a worker that writes in between would look like a difference. */
function lookAt(db: Database, _: ReplayedConnection, compare: Compare): Promise<Comparison> {
  return db.transaction(async (tx) => {
    await tx.execute('set transaction isolation level repeatable read read only')
    return compare(tx)
  })
}

function applyBatch(db: Database, ref: ReplayedConnection, compare: Compare): Promise<Comparison> {
  return db.transaction(async (tx) => {
    await holdConnectionAlone(tx, ref)
    await holdUser(tx, ref)
    const found = await compare(tx)
    await writeGroups(tx, ref, ref.providerId, found.composed)
    return found
  })
}

function idsOf({ rendered }: ComposedBatch): string[] {
  return rendered.map(({ id }) => id)
}
