/**
 * Moves the tables of an installation to where they lie on a Citus cluster (layout.ts), with their rows. The service
 * has to be stopped. Each step is one transaction and looks at what is there, so that the next run continues an
 * interrupted one, and a run after a migration moves the tables that it added.
 */
import { checkMigrations, type Database, type Sql } from '../db/index.ts'
import { layout, type TablePlace } from './layout.ts'
import * as store from './store.ts'

export { listTables } from './store.ts'

/** What stands in the way, and what to do about it. Nothing was changed. */
class ClusterError extends Error {
  override name = 'ClusterError'
}

export interface PlannedTable {
  name: string
  place: TablePlace
  why: string
  /** It lies there already. Always true on the coordinator. */
  isThere: boolean
}

export interface ClusterPlan {
  /** The nodes that shards are made on. */
  nodes: string[]
  tables: PlannedTable[]
}

/** The version that the campaign was run on. */
const oldestCitus = 13

/** What would be moved, after everything was checked that could stop it halfway. */
export async function planDistribution(
  db: Database,
  { pooler }: { pooler: 'none' | 'transaction' },
): Promise<ClusterPlan> {
  if (pooler !== 'none') {
    throw new ClusterError(
      'DATABASE_POOLER is transaction. Tables are moved over one connection to the coordinator itself: set DATABASE_URL to its address and DATABASE_POOLER to none for this command.',
    )
  }
  const nodes = await checkCluster(db)
  await checkSchema(db)
  await checkStopped(db)
  return { nodes, tables: toPlan(await store.listTables(db), await store.listMoved(db)) }
}

async function checkCluster(db: Database): Promise<string[]> {
  const { installed, available } = await store.findExtension(db)
  if (installed === null) {
    throw new ClusterError(
      available === null
        ? 'This PostgreSQL server does not have Citus. Install Citus on every node, add it to shared_preload_libraries and restart; or keep this server as it is, because one server needs none of this.'
        : `Citus ${available} is on this server and not in this database. Run: create extension citus; then add the workers with citus_add_node.`,
    )
  }
  if (Number.parseInt(installed, 10) < oldestCitus) {
    throw new ClusterError(`This is Citus ${installed}; ${oldestCitus}.0 or later is needed. Upgrade every node first.`)
  }
  if (!(await store.isCoordinator(db))) {
    throw new ClusterError('DATABASE_URL leads to a worker of the cluster. Set it to the coordinator.')
  }
  const nodes = await store.listNodes(db)
  const inactive = nodes.filter(({ isActive }) => !isActive).map(({ address }) => address)
  const away = await store.listAway(db)
  const silent = [...inactive.map((address) => `${address} (disabled)`), ...away.map(({ address }) => address)]
  if (silent.length > 0) {
    throw new ClusterError(
      `Nodes that do not answer: ${silent.join(', ')}. Start them, or remove them with citus_remove_node.`,
    )
  }
  const holding = nodes.filter(({ holdsShards }) => holdsShards).map(({ address }) => address)
  if (holding.length === 0) {
    throw new ClusterError("The cluster has no node for shards. Add workers: select citus_add_node('host', 5432).")
  }
  return holding
}

async function checkSchema(db: Database): Promise<void> {
  const { applied, pending, drift } = await checkMigrations(db)
  if (applied.length === 0) throw new ClusterError('The database has no schema yet. Run: assay migrate.')
  if (drift.length > 0) throw new ClusterError(`The schema is not that of this version: ${drift.join(' ')}`)
  if (pending.length > 0) {
    throw new ClusterError(
      `The schema is older than this version (pending: ${pending.join(', ')}). Run: assay migrate.`,
    )
  }
}

async function checkStopped(db: Database): Promise<void> {
  const sessions = await store.countDatabaseSessions(db)
  if (sessions > 0) {
    throw new ClusterError(
      `The service is still running: ${sessions} connections of it are open. Stop every process of it first, because tables are locked while they are moved.`,
    )
  }
}

/** Throws when a table is where this version never puts it. */
export function toPlan(tables: readonly string[], moved: readonly store.Lying[]): PlannedTable[] {
  const lying = new Map(moved.map((table) => [table.name, table]))
  const wrong: string[] = []
  const planned = tables.flatMap((name) => {
    const placement = layout.get(name)
    if (placement === undefined) {
      wrong.push(`${name} is not a table of this version`)
      return []
    }
    const at = lying.get(name)
    const isExpected = at?.kind === placement.place && (at.kind !== 'distributed' || at.column === 'user_key')
    if (at !== undefined && !isExpected) {
      const by = at.column === null ? '' : ` by ${at.column}`
      wrong.push(`${name} is ${at.kind}${by}; run: select undistribute_table('${name}')`)
    }
    return [{ name, ...placement, isThere: placement.place === 'coordinator' || isExpected }]
  })
  if (wrong.length > 0) throw new ClusterError(`The cluster was distributed in another way: ${wrong.join('. ')}.`)
  return planned
}

/** Moves what is not there yet. `onMoved` is called for each table once it is committed. */
export async function distribute(
  db: Database,
  tables: readonly PlannedTable[],
  onMoved: (table: PlannedTable) => void = () => undefined,
): Promise<void> {
  const keys = await store.listForeignKeys(db)
  const left = tables.filter(({ isThere }) => !isThere)
  const groups = [
    ...left.filter(({ place }) => place === 'reference').map((table) => [table]),
    ...toGroups(
      left.filter(({ place }) => place === 'distributed'),
      keys,
    ),
  ]
  for (const group of groups) {
    const moved = await db.transaction((tx) => moveGroup(tx, group, keys))
    for (const table of moved) onMoved(table)
  }
}

async function moveGroup(
  tx: Sql,
  group: readonly PlannedTable[],
  keys: readonly store.ForeignKey[],
): Promise<PlannedTable[]> {
  await store.lockLayout(tx)
  const there = await store.listMoved(tx)
  // Another process may have been faster.
  const left = group.filter(({ name }) => there.every((moved) => moved.name !== name))
  const names = new Set(left.map(({ name }) => name))
  // A key between two tables cannot stand while one of them is local and the other is not.
  const between = keys.filter(({ table, refersTo }) => names.has(table) && names.has(refersTo))
  if (left.length > 1) await store.useOneConnection(tx)
  for (const key of between) await store.dropForeignKey(tx, key)
  let beside = there.find(({ kind }) => kind === 'distributed')?.name
  for (const { name, place } of left) {
    if (place === 'reference') {
      await store.copyEverywhere(tx, name)
    } else {
      await store.distributeByUser(tx, name, beside)
      beside ??= name
    }
  }
  for (const key of between) await store.addForeignKey(tx, key)
  return left
}

/** After a migration: on a cluster the tables that it added go where they belong. Elsewhere it does nothing. */
export async function placeNewTables(db: Database): Promise<string[]> {
  if ((await store.findExtension(db)).installed === null) return []
  const moved = await store.listMoved(db)
  if (moved.length === 0) return []
  const placed: string[] = []
  await distribute(db, toPlan(await store.listTables(db), moved), ({ name }) => placed.push(name))
  return placed
}

/** Tables that foreign keys connect are moved together, so that an interrupted run leaves no key out. */
function toGroups(tables: readonly PlannedTable[], keys: readonly store.ForeignKey[]): PlannedTable[][] {
  const groups: PlannedTable[][] = []
  for (const table of tables) {
    const isLinked = (group: PlannedTable[]): boolean =>
      group.some(({ name }) =>
        keys.some(
          (key) =>
            (key.table === name && key.refersTo === table.name) || (key.table === table.name && key.refersTo === name),
        ),
      )
    const linked = groups.filter(isLinked)
    const merged = [...linked.flat(), table]
    groups.splice(0, groups.length, ...groups.filter((group) => !linked.includes(group)), merged)
  }
  return groups
}
