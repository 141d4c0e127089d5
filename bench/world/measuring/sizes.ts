/** How much space rows take, and how they are laid out on disk. */
import type { Database } from '../../../apps/server/src/db/index.ts'

export interface TableSize {
  name: string
  /** The table with its TOAST table. */
  heapBytes: number
  indexBytes: number
}

/** Every table of ours that has rows or indexes; vacuumed, so that what a run left behind does not count. */
export async function listSizes(db: Database): Promise<TableSize[]> {
  await db.execute('vacuum')
  return db.rows<TableSize>(
    `select relname as name, pg_table_size(oid)::float8 as "heapBytes", pg_indexes_size(oid)::float8 as "indexBytes"
     from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`,
  )
}

/** What each table has grown by. */
export function subtractSizes(after: readonly TableSize[], before: readonly TableSize[]): TableSize[] {
  const old = new Map(before.map((table) => [table.name, table]))
  return after.map(({ name, heapBytes, indexBytes }) => {
    const was = old.get(name)
    return {
      name,
      heapBytes: heapBytes - (was?.heapBytes ?? 0),
      indexBytes: indexBytes - (was?.indexBytes ?? 0),
    }
  })
}

export interface PageLayout {
  /** Blocks of the table in which the rows of a page lie, on average over all pages of a user. */
  blocks: number
  /**
   * How many such rows fit into a block: a page of neighbouring rows lies in its row count divided by this, plus one.
   */
  rowsPerBlock: number
}

/** Examines the pages of the user with the most transactions. */
export async function findPageLayout(db: Database, rowsPerPage: number): Promise<PageLayout> {
  return db.row<PageLayout>(
    `with rows as (
       select (t.ctid::text::point)[0] as block,
         (row_number() over (order by t.occurred_at desc, t.id desc) - 1) / $1::integer as page,
         pg_column_size(t.*) + 4 as bytes
       from transactions t
       where t.user_key = (select user_key from transactions group by user_key order by count(*) desc limit 1)
     )
     select (select avg(blocks)::float8 from (select count(distinct block) as blocks from rows group by page) p) as blocks,
       (8192 - 24) / avg(bytes)::float8 as "rowsPerBlock" from rows`,
    [rowsPerPage],
  )
}
