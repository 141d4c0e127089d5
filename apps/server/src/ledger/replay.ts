/**
 * Grouping and deriving everything again from the stored records, without asking a provider: after a rule was improved, or
 * to see what an improvement would change. Batch by batch, so that memory does not grow with the histories (only with the
 * records that another grouping moves), and with the locks that deriving takes, so that workers can continue beside it.
 *
 * Only stored prices are used. A replay that only looks does not judge transfers again; one that is applied does so at
 * the end of each connection.
 */
import type { Connector } from '@assay/connectors'
import type { ProviderDefinition } from '@assay/connectors/catalog'
import { findState } from './bucket-store.ts'
import type { ChangeDeps } from './changes.ts'
import { composeGroups, type ComposedBatch } from './compose.ts'
import { groupsPerBatch } from './derive.ts'
import { ConnectionGone, holdConnection, holdConnectionAlone, holdUser } from './locks-store.ts'
import { makeTransactions, type MakeDeps, type Source } from './make.ts'
import * as raw from './raw-store.ts'
import { applyRegrouping, planRegrouping, regroup, type Regrouping } from './regroup.ts'
import { createTally, type ReplayReport } from './replay-tally.ts'
import * as store from './replay-store.ts'
import type { ReplayedConnection } from './replay-store.ts'
import { matchOwnTransfers } from './transfers.ts'
import { writeGroups } from './write.ts'

export type { ReplayReport } from './replay-tally.ts'

export interface ReplayDeps extends Omit<MakeDeps, 'ensurePrices'>, ChangeDeps {
  loadConnector(providerId: string): Promise<Connector>
  getDefinition(providerId: string): Pick<ProviderDefinition, 'storySpanMs'>
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
      const outcome = await replayConnection(deps, connection, options.apply, tally, onBatch)
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
  apply: boolean,
  tally: ReturnType<typeof createTally>,
  onBatch: (groups: number) => void,
): Promise<'replayed' | 'gone'> {
  const connector = await deps.loadConnector(ref.providerId)
  const { storySpanMs } = deps.getDefinition(ref.providerId)
  const source = { connector, storySpanMs, state: await findState(deps.db, ref) }
  const make = { ...deps, ensurePrices: async () => undefined }
  try {
    const regrouping = await (apply ? applyGroups : lookAtGroups)(deps, ref, connector)
    tally.countRegrouped(regrouping.moves.size)
    for await (const groups of listBatches(deps, ref, regrouping)) {
      tally.add(ref, await (apply ? applyBatch : lookAt)(make, ref, source, groups, regrouping))
      onBatch(groups.length)
    }
  } catch (error) {
    if (error instanceof ConnectionGone) return 'gone'
    throw error
  }
  if (apply) await matchOwnTransfers(deps, ref, () => true)
  return 'replayed'
}

/**
 * Groups that exchange records are in one batch: in two batches, a transaction that only moves from one group to another
 * would look removed by the first and added by the second.
 */
async function* listBatches(
  deps: ReplayDeps,
  ref: ReplayedConnection,
  { touched }: Regrouping,
): AsyncGenerator<string[]> {
  let batch: string[] = []
  for (const groups of touched) {
    batch.push(...groups)
    if (batch.length < groupsPerBatch) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
  const done = new Set(touched.flat())
  for (let after = ''; ;) {
    const groups = await store.listGroups(deps.db, ref, after, groupsPerBatch)
    const last = groups.at(-1)
    if (last === undefined) return
    const rest = groups.filter((group) => !done.has(group))
    if (rest.length > 0) yield rest
    after = last
  }
}

const lookAtGroups = (deps: ReplayDeps, ref: ReplayedConnection, connector: Connector): Promise<Regrouping> =>
  planRegrouping(deps.db, ref, connector)

/** Planned in the transaction that writes, so that no page is committed in between. */
const applyGroups: typeof lookAtGroups = (deps, ref, connector) =>
  deps.db.transaction(async (tx) => {
    await holdConnectionAlone(tx, ref)
    const regrouping = await planRegrouping(tx, ref, connector)
    await applyRegrouping(tx, ref, regrouping)
    return regrouping
  })

type ReplayBatch = (
  deps: ReplayDeps & MakeDeps,
  ref: ReplayedConnection,
  source: Source,
  groups: readonly string[],
  regrouping: Regrouping,
) => Promise<ComposedBatch>

/** One moment for all statements: a worker that writes in between would look like a difference. */
const lookAt: ReplayBatch = (deps, ref, source, groups, regrouping) =>
  deps.db.transaction(async (tx) => {
    await tx.execute('set transaction isolation level repeatable read read only')
    const listed = groups.map((key) => ({ key, mark: '' }))
    const batch = await makeTransactions(deps, tx, ref, source, listed, async (...of) =>
      regroup(regrouping, await raw.listRaw(...of)),
    )
    return composeGroups(tx, ref, batch, new Set(groups), new Set(regrouping.touched.flat()))
  })

/** The groups are marked as due and derived. One that a worker derives or changes meanwhile is left to it. */
const applyBatch: ReplayBatch = async (deps, ref, source, groups) => {
  const due = await deps.db.transaction(async (tx) => {
    await holdConnection(tx, ref)
    return raw.markDue(tx, ref, groups)
  })
  const batch = await makeTransactions(deps, deps.db, ref, source, due)
  return deps.db.transaction(async (tx) => {
    await holdConnectionAlone(tx, ref)
    await holdUser(tx, ref)
    const unchanged = new Set(await raw.takeDue(tx, ref, due))
    const composed = await composeGroups(tx, ref, batch, unchanged)
    await writeGroups(deps, tx, ref, ref.providerId, composed, { isThorough: true })
    return composed
  })
}
