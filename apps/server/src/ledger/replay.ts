/**
 * Deriving everything again from the stored records, without asking a provider: after a rule was improved, or to see
 * what an improvement would change. Batch by batch, so that memory does not grow with the histories, and with the locks
 * that deriving takes, so that workers can continue beside it.
 *
 * Only stored prices are used. A replay that only looks does not judge transfers again; one that is applied does so at
 * the end of each connection.
 */
import type { Connector } from '@assay/connectors'
import type { ChangeDeps } from './changes.ts'
import { composeGroups, type ComposedBatch } from './compose.ts'
import { groupsPerBatch } from './derive.ts'
import { ConnectionGone, holdConnection, holdConnectionAlone, holdUser } from './locks-store.ts'
import { makeTransactions, type MakeDeps } from './make.ts'
import * as raw from './raw-store.ts'
import { createTally, type ReplayReport } from './replay-tally.ts'
import * as store from './replay-store.ts'
import type { ReplayedConnection } from './replay-store.ts'
import { matchOwnTransfers } from './transfers.ts'
import { writeGroups } from './write.ts'

export type { ReplayReport } from './replay-tally.ts'

export interface ReplayDeps extends Omit<MakeDeps, 'ensurePrices'>, ChangeDeps {
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
    try {
      add(ref, await (apply ? applyBatch : lookAt)(make, ref, connector, groups))
    } catch (error) {
      if (error instanceof ConnectionGone) return 'gone'
      throw error
    }
    onBatch(groups.length)
    after = last
  }
  if (apply) await matchOwnTransfers(deps, ref, () => true)
  return 'replayed'
}

type ReplayBatch = (
  deps: ReplayDeps & MakeDeps,
  ref: ReplayedConnection,
  connector: Connector,
  groups: readonly string[],
) => Promise<ComposedBatch>

/** One moment for all statements: a worker that writes in between would look like a difference. */
const lookAt: ReplayBatch = (deps, ref, connector, groups) =>
  deps.db.transaction(async (tx) => {
    await tx.execute('set transaction isolation level repeatable read read only')
    const listed = groups.map((key) => ({ key, mark: '' }))
    const batch = await makeTransactions(deps, tx, ref, connector, listed)
    return composeGroups(tx, ref, batch, new Set(groups))
  })

/** The groups are marked as due and derived. One that a worker derives or changes meanwhile is left to it. */
const applyBatch: ReplayBatch = async (deps, ref, connector, groups) => {
  const due = await deps.db.transaction(async (tx) => {
    await holdConnection(tx, ref)
    return raw.markDue(tx, ref, groups)
  })
  const batch = await makeTransactions(deps, deps.db, ref, connector, due)
  return deps.db.transaction(async (tx) => {
    await holdConnectionAlone(tx, ref)
    await holdUser(tx, ref)
    const unchanged = new Set(await raw.takeDue(tx, ref, due))
    const composed = await composeGroups(tx, ref, batch, unchanged)
    await writeGroups(deps, tx, ref, ref.providerId, composed, { isThorough: true })
    return composed
  })
}
