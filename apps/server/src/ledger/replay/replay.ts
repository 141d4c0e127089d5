/**
 * Groups and derives everything again from the stored records, without asking a provider: after a rule was improved, or
 * to see what an improvement would change. It works batch by batch, so memory grows only with the records that another
 * grouping moves, and it takes the locks that deriving takes, so workers can continue at the same time.
 *
 * Only stored prices are used. A dry run does not judge transfers again; an applied replay does so at the end of each
 * connection. The findings of a dry run are kept, with the texts before and after, until it is applied or discarded or
 * the connection is replayed again.
 */
import { randomUUID } from 'node:crypto'
import type { Connector } from '@assay/connectors'
import type { ProviderDefinition } from '@assay/connectors/catalog'
import type { Database } from '../../db/index.ts'
import { findState } from '../records/group-store.ts'
import type { ChangeDeps } from '../changes.ts'
import { renderBatch, type RenderedBatch } from '../deriving/render-batch.ts'
import { groupsPerBatch } from '../deriving/derive.ts'
import { ConnectionGone, holdConnection, holdConnectionAlone, holdUser } from '../locks-store.ts'
import { draftGroups, type DraftDeps, type Source } from '../deriving/draft.ts'
import * as raw from '../records/raw-store.ts'
import { applyRegrouping, planRegrouping, regroup, type Regrouping } from './regroup.ts'
import { createTally, toFindings, type ReplayReport } from './replay-tally.ts'
import * as store from './replay-store.ts'
import type { ReplayedConnection, Which } from './replay-store.ts'
import { toTransactionId } from '../deriving/document.ts'
import { matchOwnTransfers } from '../transfers/transfers.ts'
import { writeGroups } from '../deriving/write.ts'

export type { ReplayReport } from './replay-tally.ts'

export interface ReplayDeps extends Omit<DraftDeps, 'ensurePrices'>, ChangeDeps {
  loadConnector(providerId: string): Promise<Connector>
  getDefinition(providerId: string): Pick<ProviderDefinition, 'storySpanMs'>
}

export interface ReplayOptions extends Which {
  /**
   * False: a dry run, which only keeps its findings. With `only: 'findings'`, derives again what was found, and nothing
   * else.
   */
  apply: boolean
  onProgress(progress: ReplayProgress): void
}

export interface ReplayProgress {
  connectionsDone: number
  connections: number
  groups: number
}

const connectionsPerPage = 100
const findingsPerPage = 500

export async function replay(deps: ReplayDeps, options: ReplayOptions): Promise<ReplayReport> {
  const tally = createTally()
  const replayId = randomUUID()
  const progress = { connectionsDone: 0, connections: await store.countConnections(deps.db, options), groups: 0 }
  const onBatch = (groups: number): void => {
    progress.groups += groups
    options.onProgress({ ...progress })
  }
  for (let after: ReplayedConnection | undefined; ;) {
    const page = await store.listConnections(deps.db, options, after, connectionsPerPage)
    for (const connection of page) {
      const outcome = await replayConnection(deps, connection, { ...options, replayId }, tally, onBatch)
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
  { apply, only, replayId }: Pick<ReplayOptions, 'apply' | 'only'> & { replayId: string },
  tally: ReturnType<typeof createTally>,
  onBatch: (groups: number) => void,
): Promise<'replayed' | 'gone'> {
  const connector = await deps.loadConnector(ref.providerId)
  const { storySpanMs } = deps.getDefinition(ref.providerId)
  const source = { connector, storySpanMs, state: await findState(deps.db, ref) }
  const draftDeps = { ...deps, ensurePrices: async () => undefined }
  try {
    const regrouping = await (apply ? applyGroups : lookAtGroups)(deps, ref, connector)
    tally.countRegrouped(regrouping.moves.size)
    if (!apply) await store.deleteFindings(deps.db, ref)
    const listed = only === 'findings' ? store.listFoundGroups : store.listGroups
    for await (const units of listBatches(deps, ref, regrouping, listed)) {
      const replayUnits = (some: readonly Unit[]): Promise<RenderedBatch | undefined> =>
        (apply ? applyBatch : lookAt)(draftDeps, ref, source, some, regrouping)
      for await (const rendered of replayInParts(units, replayUnits)) {
        tally.add(ref, rendered)
        if (!apply) await keepFound(deps, ref, replayId, rendered)
      }
      onBatch(units.flat().length)
    }
    if (apply) await store.deleteFindings(deps.db, ref)
  } catch (error) {
    if (error instanceof ConnectionGone) return 'gone'
    throw error
  }
  if (apply) await matchOwnTransfers(deps, ref, () => true)
  return 'replayed'
}

/** A connection that is being removed must not get new rows. */
async function keepFound(
  { db }: ReplayDeps,
  ref: ReplayedConnection,
  replayId: string,
  rendered: RenderedBatch,
): Promise<void> {
  const findings = toFindings(rendered)
  if (findings.length === 0) return
  await db.transaction(async (tx) => {
    await holdConnection(tx, ref)
    await store.keepFindings(tx, ref, replayId, findings)
  })
}

export type ReplayFinding = Omit<store.FoundRow, 'id'> & {
  transactionId: string
  connectionId: string
  providerId: string
}

/** The findings of earlier dry runs, connection by connection. */
export async function* listFindings({ db }: Pick<ReplayDeps, 'db'>, which: Which): AsyncGenerator<ReplayFinding> {
  for await (const ref of listFound(db, which)) {
    for (let last: string | undefined; ;) {
      const page = await store.listFindings(db, ref, last, findingsPerPage)
      for (const { id, ...found } of page) {
        yield {
          ...found,
          transactionId: toTransactionId(id),
          connectionId: ref.connectionId,
          providerId: ref.providerId,
        }
      }
      last = page.at(-1)?.id
      if (last === undefined) break
    }
  }
}

/** Deletes the findings and returns how many there were. */
export async function discardFindings({ db }: Pick<ReplayDeps, 'db'>, which: Which): Promise<number> {
  let discarded = 0
  for await (const ref of listFound(db, which)) discarded += await store.deleteFindings(db, ref)
  return discarded
}

async function* listFound(db: Database, which: Which): AsyncGenerator<ReplayedConnection> {
  for (let after: ReplayedConnection | undefined; ;) {
    const page = await store.listConnections(db, { ...which, only: 'findings' }, after, connectionsPerPage)
    yield* page
    after = page.at(-1)
    if (after === undefined) return
  }
}

/**
 * Groups that are replayed together: a single one, or those that exchange records. In two batches, a transaction that
 * only moves from one group to another would look removed by the first and added by the second.
 */
type Unit = readonly string[]

/**
 * A group that is due and was never derived is left to the reading: in a history that is half read, the rest of a story
 * may be on its way, and half a conversion must not show as a sale.
 */
async function* listBatches(
  deps: ReplayDeps,
  ref: ReplayedConnection,
  { touched }: Regrouping,
  list: typeof store.listGroups,
): AsyncGenerator<Unit[]> {
  let batch: Unit[] = []
  for (const groups of touched) {
    batch.push(groups)
    if (batch.flat().length < groupsPerBatch) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
  const done = new Set(touched.flat())
  for (let after = ''; ;) {
    const groups = await list(deps.db, ref, after, groupsPerBatch)
    const last = groups.at(-1)
    if (last === undefined) return
    const left = new Set(await store.listUnderived(deps.db, ref, groups))
    const rest = groups.filter((group) => !done.has(group) && !left.has(group))
    if (rest.length > 0) yield rest.map((group) => [group])
    after = last
  }
}

/** A batch whose records take too much memory is replayed in halves, down to a single unit. */
async function* replayInParts(
  units: readonly Unit[],
  replayUnits: (units: readonly Unit[]) => Promise<RenderedBatch | undefined>,
): AsyncGenerator<RenderedBatch> {
  const rendered = await replayUnits(units)
  if (rendered !== undefined) return void (yield rendered)
  const half = Math.ceil(units.length / 2)
  yield* replayInParts(units.slice(0, half), replayUnits)
  yield* replayInParts(units.slice(half), replayUnits)
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

/** Undefined when the records of these units take too much memory together. */
type ReplayBatch = (
  deps: ReplayDeps & DraftDeps,
  ref: ReplayedConnection,
  source: Source,
  units: readonly Unit[],
  regrouping: Regrouping,
) => Promise<RenderedBatch | undefined>

/** All statements see one moment: what a worker writes in between would look like a difference. */
const lookAt: ReplayBatch = (deps, ref, source, units, regrouping) =>
  deps.db.transaction(async (tx) => {
    await tx.execute('set transaction isolation level repeatable read read only')
    const groups = units.flat()
    const listed = groups.map((key) => ({ key, mark: '' }))
    const batch = await draftGroups(deps, source, listed, {
      canBeParted: units.length > 1,
      async listRecords(keys, bytesMax) {
        const records = await raw.listRaw(tx, ref, keys, bytesMax)
        return records === undefined ? undefined : regroup(regrouping, records)
      },
    })
    if (batch === undefined) return undefined
    return renderBatch(tx, ref, batch, new Set(groups), new Set(regrouping.touched.flat()))
  })

/** The groups are marked as due and derived. One that a worker derives or changes meanwhile is left to it. */
const applyBatch: ReplayBatch = async (deps, ref, source, units) => {
  const due = await deps.db.transaction(async (tx) => {
    await holdConnection(tx, ref)
    return raw.markDue(tx, ref, units.flat())
  })
  const batch = await draftGroups(deps, source, due, {
    canBeParted: units.length > 1,
    listRecords: (keys, bytesMax) => raw.listRaw(deps.db, ref, keys, bytesMax),
  })
  if (batch === undefined) return undefined
  return deps.db.transaction(async (tx) => {
    await holdConnectionAlone(tx, ref)
    await holdUser(tx, ref)
    const unchanged = new Set(await raw.takeDue(tx, ref, due))
    const rendered = await renderBatch(tx, ref, batch, unchanged)
    await writeGroups(deps, tx, ref, ref.providerId, rendered, { isThorough: true })
    return rendered
  })
}
