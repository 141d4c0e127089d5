import type { Database } from '../../apps/server/src/db/index.ts'
import { listTables } from '../../apps/server/src/cluster/index.ts'

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
