/** All SQL about where tables lie: what Citus says of the cluster, and the calls that move tables. */
import type { Sql } from '../db/index.ts'

// Tables of an extension, such as Citus itself, are not ours.
const ownTables = `select c.oid, c.relname as name from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`

/** In the order in which the schema makes them, so that each comes after what it refers to. */
export async function listTables(sql: Pick<Sql, 'rows'>): Promise<string[]> {
  return (await sql.rows<{ name: string }>(`select name from (${ownTables}) t order by t.oid`)).map(({ name }) => name)
}

export interface Extension {
  /** Null: not in this database. */
  installed: string | null
  /** Null: not on this server. */
  available: string | null
}

export async function findExtension(sql: Sql): Promise<Extension> {
  return sql.row<Extension>(
    `select (select extversion from pg_extension where extname = 'citus') as installed,
       (select default_version from pg_available_extensions where name = 'citus') as available`,
  )
}

export interface Node {
  address: string
  isCoordinator: boolean
  holdsShards: boolean
  isActive: boolean
}

export async function listNodes(sql: Sql): Promise<Node[]> {
  return sql.rows<Node>(
    `select nodename || ':' || nodeport as address, groupid = 0 as "isCoordinator",
       shouldhaveshards as "holdsShards", isactive as "isActive"
     from pg_dist_node where noderole = 'primary' order by groupid`,
  )
}

export async function isCoordinator(sql: Sql): Promise<boolean> {
  return (await sql.row<{ is: boolean }>('select citus_is_coordinator() as is')).is
}

/** The workers that do not answer, as the coordinator sees them, and what they said. */
export async function listAway(sql: Sql): Promise<{ address: string; said: string }[]> {
  return sql.rows<{ address: string; said: string }>(
    `select nodename || ':' || nodeport as address, result as said
     from run_command_on_workers('select 1') where not success order by 1`,
  )
}

/** Other connections of this program: a service that runs, or another command. */
export async function countDatabaseSessions(sql: Sql): Promise<number> {
  const row = await sql.row<{ sessions: number }>(
    `select count(*)::integer as sessions from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and application_name like 'assay%'
       and backend_type = 'client backend'`,
  )
  return row.sessions
}

export interface Lying {
  name: string
  kind: 'distributed' | 'reference' | 'other'
  column: string | null
}

/** Tables that Citus has moved already. Those that it knows and keeps on the coordinator are not among them. */
export async function listMoved(sql: Sql): Promise<Lying[]> {
  return sql.rows<Lying>(
    `select c.relname as name, case p.partmethod when 'h' then 'distributed' when 'n' then 'reference' else 'other' end as kind,
       case when p.partmethod = 'h' then column_to_column_name(p.logicalrelid, p.partkey) end as column
     from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
     where c.relnamespace = 'public'::regnamespace
       and not (p.partmethod = 'n' and p.repmodel <> 't')
     order by c.oid`,
  )
}

export interface ForeignKey {
  table: string
  refersTo: string
  name: string
  definition: string
}

export async function listForeignKeys(sql: Sql): Promise<ForeignKey[]> {
  return sql.rows<ForeignKey>(
    `select t.name as table, r.name as "refersTo", k.conname as name, pg_get_constraintdef(k.oid) as definition
     from (${ownTables}) t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
     join (${ownTables}) r on r.oid = k.confrelid order by 1, 3`,
  )
}

// Moving a large table takes longer than a statement may, so these are scripts, which have no limit and no parameters.
// The names are those of layout.ts.

export async function copyEverywhere(tx: Sql, table: string): Promise<void> {
  await tx.execute(`select create_reference_table('${table}')`)
}

/**
 * Placed together with the tables that are distributed already: a user's rows of all tables are on one node. A shard is
 * moved to another node by logical replication while the service writes, which finds a row by its primary key or else
 * by all its columns.
 */
export async function distributeByUser(tx: Sql, table: string, beside: string | undefined): Promise<void> {
  if (!(await hasPrimaryKey(tx, table))) await tx.execute(`alter table ${table} replica identity full`)
  await tx.execute(`select create_distributed_table('${table}', 'user_key', colocate_with => '${beside ?? 'default'}')`)
}

async function hasPrimaryKey(tx: Sql, table: string): Promise<boolean> {
  const found = 'exists (select from pg_index where indrelid = $1::text::regclass and indisprimary)'
  return (await tx.row<{ has: boolean }>(`select ${found} as has`, [table])).has
}

export async function dropForeignKey(tx: Sql, { table, name }: ForeignKey): Promise<void> {
  await tx.execute(`alter table ${table} drop constraint ${name}`)
}

export async function addForeignKey(tx: Sql, { table, name, definition }: ForeignKey): Promise<void> {
  await tx.execute(`alter table ${table} add constraint ${name} ${definition}`)
}

/** Locks until the end of the transaction: one process at a time moves tables. */
export async function lockLayout(tx: Sql): Promise<void> {
  await tx.execute("select pg_advisory_xact_lock(hashtextextended('assay cluster layout', 0))")
}

/**
 * Applies until the end of the transaction: Citus has to make shards one after the other where foreign keys connect
 * them.
 */
export async function useOneConnection(tx: Sql): Promise<void> {
  await tx.execute("set local citus.multi_shard_modify_mode to 'sequential'")
}
