/**
 * The statements that this process sends to PostgreSQL during some work, BEGIN and COMMIT included, seen at the driver.
 */
import pg from 'pg'
import type { Database, Sql } from './index.ts'

export interface SentStatement {
  text: string
  values: readonly unknown[]
  /** What its transaction had said before of how to plan. */
  settings: readonly string[]
}

const isSetting = /\bplan_cache_mode\b/

export async function recordStatements(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent: SentStatement[] = []
  const settings = new WeakMap<pg.Client, string[]>()
  const { query } = pg.Client.prototype
  function recording(this: pg.Client, ...args: unknown[]): unknown {
    const [given] = args
    const text = typeof given === 'string' ? given : isQuery(given) ? given.text : undefined
    if (text !== undefined) {
      const values = isQuery(given) ? (given.values ?? []).map(keep) : []
      sent.push({ text, values, settings: settings.get(this) ?? [] })
      if (/^(commit|rollback)\b/i.test(text)) settings.delete(this)
      if (isSetting.test(text)) settings.set(this, [...(settings.get(this) ?? []), text])
    }
    return Reflect.apply(query, this, args)
  }
  pg.Client.prototype.query = recording as typeof query
  try {
    await work()
  } finally {
    pg.Client.prototype.query = query
  }
  return sent
}

/** A list may continue to grow after it was sent. */
function keep(value: unknown): unknown {
  return Array.isArray(value) ? [...(value as unknown[])] : value
}

function isQuery(given: unknown): given is { text: string; values?: unknown[] } {
  return typeof given === 'object' && given !== null && 'text' in given && typeof given.text === 'string'
}

/** What PostgreSQL does for a statement, for tests of what it costs: times depend on the machine, and rows do not. */
interface Node {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}

/** How many rows the scans of a statement look at. */
export async function countScanned(
  sql: Sql,
  { text, values }: Pick<SentStatement, 'text' | 'values'>,
): Promise<number> {
  const [plan] = await sql.rows<{ 'QUERY PLAN': [{ Plan: Node }] }>(`explain (analyze, format json) ${text}`, values)
  if (plan === undefined) throw new Error(`no plan of ${text}`)
  return scannedBy(plan['QUERY PLAN'][0].Plan)
}

/**
 * How many rows of a table have been looked at since it was made, by all connections: with the plans they really had.
 * Each connection keeps its count until it is told to hand it over.
 */
export async function countRead(db: Database, table: string): Promise<number> {
  const { idle, busy } = db.usage()
  const handOver = 'select pg_stat_force_next_flush(), pg_sleep(0.05)'
  await Promise.all(Array.from({ length: idle + busy }, () => db.rows(handOver)))
  const { rows } = await db.row<{ rows: string }>(
    'select seq_tup_read + idx_tup_fetch as rows from pg_stat_user_tables where relid = $1::text::regclass',
    [table],
  )
  return Number(rows)
}

function scannedBy(node: Node): number {
  // Rows that a bitmap index scan finds are counted where the table is read.
  const own =
    /Scan$/.test(node['Node Type']) && node['Node Type'] !== 'Bitmap Index Scan'
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0
  return own + (node.Plans ?? []).reduce((sum, one) => sum + scannedBy(one), 0)
}
