/**
 * What a sync left behind, and whether it is what it should be: equal to the evidence of an undisturbed run, row for
 * row and byte for byte; and right by the provider's own books, which know nothing of runs.
 */
import type { Database } from '../../apps/server/src/db/index.ts'
import { ofConnection } from '../of-connection.ts'
import { explainedBySymbol, movedBySymbol, type KrakenState, type ServedTransaction } from '../reconciler.ts'

/** By table: the key of each row, and the sum of what it says. */
export type Evidence = Map<string, Map<string, string>>

/**
 * Everything but the times at which we wrote, and days whose changes cancel out: those have a row only if the changes
 * were written in two batches. Coverage is compared by the sandbox's books: its end is when a run began.
 */
const tables: Record<string, string> = {
  raw_records: `select stream || ' ' || partition || ' ' || source_key as key, md5(row(group_key, occurred_at, body)::text) as sum
    from raw_records where ${ofConnection}`,
  due_groups: `select group_key as key, '' as sum from due_groups where ${ofConnection}`,
  transactions: `select id::text as key,
      md5(row(occurred_at, provider_id, group_key, type, category, pending, document)::text) as sum
    from transactions where ${ofConnection}`,
  postings: `select a.id || ' ' || p.transaction_id || ' ' || p.ordinal as key,
      row(p.occurred_at, p.staked, p.side, p.amount)::text as sum
    from postings p join assets a using (asset_key) where ${ofConnection}`,
  daily_changes: `select a.id || ' ' || d.day as key, trim_scale(d.amount)::text as sum
    from daily_changes d join assets a using (asset_key) where ${ofConnection} and d.amount <> 0`,
  holdings: `select a.id as key, row(h.liquid, h.staked, h.spam)::text as sum
    from holdings h join assets a using (asset_key) where ${ofConnection}`,
  poison_groups: `select group_key as key, reason as sum from poison_groups where ${ofConnection}`,
  covered_windows: `select stream || ' ' || partition || ' ' || window_start as key, '' as sum from covered_windows where ${ofConnection}`,
  stream_bookmarks: `select stream || ' ' || partition || ' ' || window_start as key, position as sum from stream_bookmarks where ${ofConnection}`,
  removed_transactions: `select id::text as key, '' as sum from removed_transactions
    where user_key = (select user_key from connections where id = $1)`,
  counters: `select id as key, row(record_count, transaction_count, history_from)::text as sum
    from connections where id = $1`,
}

/** `queries`: by table, the `key` and the `sum` of each row of connection $1. */
export async function gatherEvidence(db: Database, connectionId: string, queries = tables): Promise<Evidence> {
  const evidence: Evidence = new Map()
  for (const [table, query] of Object.entries(queries)) {
    const rows = await db.rows<{ key: string; sum: string }>(query, [connectionId])
    evidence.set(table, new Map(rows.map(({ key, sum }) => [key, sum])))
  }
  return evidence
}

/** In words; empty when they are the same. */
export function compareEvidence(undisturbed: Evidence, disturbed: Evidence): string[] {
  return [...undisturbed].flatMap(([table, before]) => {
    const after = disturbed.get(table) ?? new Map<string, string>()
    const lost = [...before.keys()].filter((key) => !after.has(key))
    const added = [...after.keys()].filter((key) => !before.has(key))
    const changed = [...before].filter(([key, sum]) => after.has(key) && after.get(key) !== sum).map(([key]) => key)
    return [
      ...say(table, 'lost', lost),
      ...say(table, 'that an undisturbed run does not have', added),
      ...say(table, 'that differ', changed),
    ]
  })
}

function say(table: string, what: string, keys: readonly string[]): string[] {
  return keys.length === 0 ? [] : [`${table}: ${keys.length} rows ${what}, such as ${keys[0]}`]
}

/** Compared with what the provider has. Entries before `fromMs` were not requested. */
export async function holdAgainstBooks(
  db: Database,
  connectionId: string,
  books: KrakenState | undefined,
  fromMs: number,
): Promise<string[]> {
  if (books === undefined) return []
  const windows = await db.rows<{ window_start: string; window_end: string }>(
    `select window_start, window_end from covered_windows where ${ofConnection} and stream = 'ledger'`,
    [connectionId],
  )
  const rows = await db.rows<{ source_key: string }>(
    `select source_key from raw_records where ${ofConnection} and stream = 'ledger'`,
    [connectionId],
  )
  const kept = new Set(rows.map((row) => row.source_key))
  const isCovered = (ms: number): boolean =>
    windows.some(({ window_start, window_end }) => ms >= Number(window_start) && ms < Number(window_end))
  const asked = books.ledger.filter(({ time }) => time * 1_000 >= fromMs)
  const lost = asked.filter(({ id, time }) => isCovered(time * 1_000) && !kept.has(id)).map(({ id }) => id)
  const uncovered = asked.filter(({ time }) => !isCovered(time * 1_000)).map(({ id }) => id)
  const known = new Set(books.ledger.map(({ id }) => id))
  const invented = [...kept].filter((id) => !known.has(id))
  const documents = await db.rows<{ document: string }>(`select document from transactions where ${ofConnection}`, [
    connectionId,
  ])
  const served = documents.map(({ document }) => JSON.parse(`{${document}`) as ServedTransaction)
  const read = { ...books, ledger: books.ledger.filter(({ id }) => kept.has(id)) }
  return [
    ...say('the provider’s ledger', 'lost although their window counts as covered', lost),
    ...say('the provider’s ledger', 'not covered', uncovered),
    ...say('raw_records', 'that the provider does not have', invented),
    ...(isSame(explainedBySymbol(served), movedBySymbol(read))
      ? []
      : ['transactions do not add up to the records read']),
  ]
}

function isSame(a: ReadonlyMap<string, bigint>, b: ReadonlyMap<string, bigint>): boolean {
  return a.size === b.size && [...a].every(([key, units]) => b.get(key) === units)
}
