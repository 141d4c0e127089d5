/** What PostgreSQL does for a statement, for tests of what it costs: times depend on the machine, and rows do not. */
import type { Database } from './index.ts'
import type { SentStatement } from './test-statements.ts'

interface Node {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}

/** How many rows the scans of a statement look at. */
export async function countScanned(db: Database, { text, values }: SentStatement): Promise<number> {
  const [plan] = await db.rows<{ 'QUERY PLAN': [{ Plan: Node }] }>(`explain (analyze, format json) ${text}`, values)
  if (plan === undefined) throw new Error(`no plan of ${text}`)
  return scannedBy(plan['QUERY PLAN'][0].Plan)
}

function scannedBy(node: Node): number {
  // Rows that a bitmap index scan finds are counted where the table is read.
  const own =
    /Scan$/.test(node['Node Type']) && node['Node Type'] !== 'Bitmap Index Scan'
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0
  return own + (node.Plans ?? []).reduce((sum, one) => sum + scannedBy(one), 0)
}
