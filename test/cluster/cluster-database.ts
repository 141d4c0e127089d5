/**
 * A database of its own on a Citus cluster, distributed, for a test that runs there: ASSAY_TEST_CLUSTER is the address
 * of any database of the coordinator. Two seconds instead of the 30 ms of a clone, because Citus cannot clone a
 * database.
 */
import { randomBytes } from 'node:crypto'
import { createLog } from '@assay/server/log'
import { createDatabase, migrate, type Database } from '../../apps/server/src/db/index.ts'
import { distribute, listTables, toPlan } from '../../apps/server/src/cluster/index.ts'
import { installQueue } from '../../apps/server/src/jobs/index.ts'
import { patienceMs } from '../until.ts'

/** Enough for users on every node, the same number on each of two or three, and a third of the time that 32 take. */
const shardCount = 12

const silent = (): undefined => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }

export function openUrl(url: string): Database {
  const patience = { statementTimeoutMs: patienceMs, acquireTimeoutMs: patienceMs }
  const options = { connection: { url }, pooler: 'none', poolSizeMax: 5, log, trustMachineClock: true } as const
  return createDatabase({ ...options, ...patience })
}

export interface NodeAddress {
  host: string
  port: number
}

interface ClusterNode extends NodeAddress {
  isCoordinator: boolean
}

export async function administer<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openUrl(url)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

function toUrl(url: string, { host, port }: NodeAddress, database: string): string {
  const given = new URL(url)
  given.hostname = host
  given.port = String(port)
  given.pathname = `/${database}`
  return given.href
}

/** Creates it on every node; `drop` removes it from all of them. */
export async function createClusterDatabase(
  clusterUrl: string,
  { isEmpty = false }: { isEmpty?: boolean } = {},
): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  const nodes = await administer(clusterUrl, (db) =>
    db.rows<ClusterNode>(
      `select nodename as host, nodeport as port, groupid = 0 as "isCoordinator" from pg_dist_node order by groupid desc`,
    ),
  )
  for (const node of nodes) {
    await administer(toUrl(clusterUrl, node, 'postgres'), (db) => db.execute(`create database ${name}`))
    await administer(toUrl(clusterUrl, node, name), (db) => db.execute('create extension citus'))
  }
  const coordinator = nodes.find(({ isCoordinator }) => isCoordinator)
  if (coordinator === undefined)
    throw new Error('the cluster does not know its coordinator: citus_set_coordinator_host')
  const url = toUrl(clusterUrl, coordinator, name)
  // To add a node sets the owner's role there again. Two databases at once would meet in that row, which nodes share.
  await administer(clusterUrl, (cluster) =>
    cluster.transaction(async (tx) => {
      await tx.execute("select pg_advisory_xact_lock(hashtextextended('assay test nodes', 0))")
      await administer(url, async (db) => {
        await db.execute('select citus_set_coordinator_host($1, $2)', [coordinator.host, coordinator.port])
        for (const { host, port } of nodes.filter((node) => !node.isCoordinator)) {
          await db.execute('select citus_add_node($1, $2)', [host, port])
        }
        await db.execute(`alter database ${name} set citus.shard_count to ${shardCount}`)
      })
    }),
  )
  if (!isEmpty) {
    await installSchema(url)
    await distributeAll(url)
  }
  return {
    url,
    drop: async () => {
      // A node that was killed in the middle of a commit has a part of it left, which Citus ends once a minute.
      await administer(url, (db) => db.execute('select recover_prepared_transactions()'))
      for (const node of nodes.toReversed()) {
        await administer(toUrl(clusterUrl, node, 'postgres'), (db) => db.execute(`drop database ${name} with (force)`))
      }
    },
  }
}

/** The schema is as on one server: nothing is distributed yet. */
export async function installSchema(url: string): Promise<void> {
  await administer(url, (db) => migrate(db, { log }))
  await installQueue({ url }, createLog({ level: 'silent' }))
}

/** The existing rows move too. */
export async function distributeAll(url: string): Promise<void> {
  await administer(url, async (db) => distribute(db, toPlan(await listTables(db), [])))
}

/** Drops everything except the extension. */
export async function emptyDatabase(db: Database): Promise<void> {
  await db.execute('drop schema if exists graphile_worker cascade')
  const tables = await listTables(db)
  if (tables.length > 0) await db.execute(`drop table ${tables.join(', ')} cascade`)
  const types = await db.rows<{ name: string }>(
    `select typname as name from pg_type where typnamespace = 'public'::regnamespace and typtype = 'e'`,
  )
  for (const { name } of types) await db.execute(`drop type ${name}`)
}

/** Copies the rows of one database into another that has the same schema, whatever kind of table they are in there. */
export async function copyRows(from: Database, to: Database, tables: readonly string[]): Promise<number> {
  let copied = 0
  for (const table of tables) {
    const { rows } = await from.row<{ rows: string }>(
      `select coalesce(json_agg(t), '[]')::text as rows from ${table} t`,
    )
    copied += await to.execute(
      `insert into ${table} overriding system value select * from json_populate_recordset(null::${table}, $1::json)
       on conflict do nothing`,
      [rows],
    )
  }
  for (const { sequence, table, column } of await to.rows<Identity>(identities, [tables])) {
    await to.execute(`select setval('${sequence}', coalesce((select max(${column}) from ${table}), 0) + 1, false)`)
  }
  return copied
}

interface Identity {
  sequence: string
  table: string
  column: string
}

/** Sequences must continue after the copied rows. */
const identities = `select pg_get_serial_sequence(c.relname, a.attname) as sequence, c.relname as table, a.attname as column
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attidentity <> ''
  where c.relnamespace = 'public'::regnamespace and c.relname = any($1::text[])`
