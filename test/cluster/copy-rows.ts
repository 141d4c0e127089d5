/** Copies the rows of one database into another that has the same schema, whatever kind of table they are in there. */
import type { Database } from '../../apps/server/src/db/index.ts'

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
