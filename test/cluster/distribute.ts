/**
 * How the schema lies on a Citus cluster: a user's rows on one shard, found by `user_key`; what every node needs to
 * answer from its own shards, on every node; everything else on the coordinator.
 *
 * A table with a `user_key` can be distributed by it when every unique key of the table has it: Citus checks uniqueness
 * inside a shard only. The others are found before the user is known: the directory of users, sessions by their secret,
 * and the tenant's feed.
 */
import type { Database, Sql } from '../../apps/server/src/db/index.ts'

const ownTables = `select c.oid, c.relname as name from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`

export interface Distribution {
  distributed: string[]
  reference: string[]
  local: string[]
}

/** In the order in which the schema makes them, so that each comes after what it refers to. */
export async function listTables(sql: Pick<Sql, 'rows'>): Promise<string[]> {
  return (await sql.rows<{ name: string }>(`select name from (${ownTables}) t order by t.oid`)).map(({ name }) => name)
}

/** Small, read by statements over user tables, and seldom written. */
const referenceTables = [
  'tenants',
  'clients',
  'client_secrets',
  'users',
  'assets',
  'current_prices',
  'daily_prices',
  'webhooks',
]

export async function distribute(db: Database): Promise<Distribution> {
  for (const table of referenceTables) await db.execute('select create_reference_table($1)', [table])
  const distributable = await listDistributable(db)
  const keys = await dropForeignKeys(db, distributable)
  for (const table of distributable) {
    await db.execute(`select create_distributed_table($1, 'user_key', colocate_with => $2)`, [
      table,
      table === distributable[0] ? 'default' : distributable[0],
    ])
  }
  for (const { table, name, definition } of keys) {
    await db.execute(`alter table ${table} add constraint ${name} ${definition}`)
  }
  const all = await listTables(db)
  const elsewhere = new Set([...referenceTables, ...distributable])
  return { distributed: distributable, reference: referenceTables, local: all.filter((name) => !elsewhere.has(name)) }
}

async function listDistributable(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ name: string }>(
    `select t.name from (${ownTables}) t
     join pg_attribute a on a.attrelid = t.oid and a.attname = 'user_key' and not a.attisdropped
     where not exists (
       select from pg_index i where i.indrelid = t.oid and i.indisunique and not a.attnum = any(i.indkey::int2[]))
       and t.name <> all($1::text[])
     order by t.name`,
    [referenceTables],
  )
  return rows.map(({ name }) => name)
}

interface ForeignKey {
  table: string
  name: string
  definition: string
}

/** Between tables that are still local and tables that are distributed already a key cannot stand. */
async function dropForeignKeys(sql: Sql, tables: readonly string[]): Promise<ForeignKey[]> {
  const keys = await sql.rows<ForeignKey>(
    `select t.name as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
     from (${ownTables}) t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
     where t.name = any($1::text[])`,
    [tables],
  )
  for (const { table, name } of keys) await sql.execute(`alter table ${table} drop constraint ${name}`)
  return keys
}

/** Drops everything but the extension. */
export async function emptyDatabase(db: Database): Promise<void> {
  await db.execute('drop schema if exists graphile_worker cascade')
  const tables = await listTables(db)
  if (tables.length > 0) await db.execute(`drop table ${tables.join(', ')} cascade`)
  const types = await db.rows<{ name: string }>(
    `select typname as name from pg_type where typnamespace = 'public'::regnamespace and typtype = 'e'`,
  )
  for (const { name } of types) await db.execute(`drop type ${name}`)
}
