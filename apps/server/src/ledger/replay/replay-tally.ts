/** Counts what a replay found by provider and category, and keeps a few examples. Pure; its size has a limit. */
import { parseDocument, toTransactionId } from '../deriving/document.ts'
import type { RenderedBatch } from '../deriving/render-batch.ts'
import type { ReplayedChange, ReplayedConnection } from './replay-store.ts'

export interface ReplayReport {
  connections: number
  /** Connections that were removed during the replay. */
  gone: number
  groups: number
  /** Records that belong to another group than before. */
  regrouped: number
  /** Groups that cannot be read. Their transactions stay as they were. */
  unreadable: number
  changes: CategoryChanges[]
  examples: Example[]
}

export interface CategoryChanges {
  provider_id: string
  /** The category after the change; for a removed transaction, the one before. */
  category: string
  added: number
  changed: number
  removed: number
}

type Change = 'added' | 'changed' | 'removed'

export interface Example {
  change: Change
  id: string
  provider_id: string
  connection_id: string
  /** Members that differ. Empty for an added or removed transaction, where all of them differ. */
  fields: { field: string; before: string; after: string }[]
}

const examplesMax = 5
const fieldsMax = 12
const valueLengthMax = 80

export interface Tally {
  add(connection: ReplayedConnection, rendered: RenderedBatch): void
  countConnection(outcome: 'replayed' | 'gone'): void
  countRegrouped(records: number): void
  toReport(groups: number): ReplayReport
}

export function createTally(): Tally {
  const changes = new Map<string, CategoryChanges>()
  const examples: Example[] = []
  const counts = { connections: 0, gone: 0, regrouped: 0, unreadable: 0 }

  function count(connection: ReplayedConnection, change: Change, storedId: string, texts: Partial<Texts>): void {
    const { providerId, connectionId } = connection
    const id = toTransactionId(storedId)
    const category = categoryOf(texts.after ?? texts.before ?? '')
    const key = `${providerId} ${category}`
    const row = changes.get(key) ?? { provider_id: providerId, category, added: 0, changed: 0, removed: 0 }
    row[change] += 1
    changes.set(key, row)
    if (examples.length === examplesMax) return
    const fields = texts.before && texts.after ? listDifferences(texts.before, texts.after).slice(0, fieldsMax) : []
    examples.push({ change, id, provider_id: providerId, connection_id: connectionId, fields })
  }

  return {
    add(connection, { poison, rendered, gone }) {
      counts.unreadable += poison.size
      for (const { id, former, document } of rendered) {
        if (former === undefined) count(connection, 'added', id, { after: document })
        else if (former.document !== document)
          count(connection, 'changed', id, { before: former.document, after: document })
      }
      for (const { id, document } of gone) count(connection, 'removed', id, { before: document })
    },
    countConnection(outcome) {
      if (outcome === 'gone') counts.gone += 1
      else counts.connections += 1
    },
    countRegrouped(records) {
      counts.regrouped += records
    },
    toReport(groups) {
      const byName = [...changes.values()].toSorted(
        (a, b) => a.provider_id.localeCompare(b.provider_id) || a.category.localeCompare(b.category),
      )
      return { ...counts, groups, changes: byName, examples }
    },
  }
}

/** Pure: what a batch would change, each with its reason. */
export function toFindings({ rendered, gone }: RenderedBatch): ReplayedChange[] {
  const written = rendered.flatMap(({ id, groupKey, former, document }): ReplayedChange[] => {
    if (former === undefined) {
      const reason = 'The records make a transaction that was not there.'
      return [{ id, groupKey, change: 'added', before: null, after: document, reason }]
    }
    if (former.document === document) return []
    const fields = listDifferences(former.document, document).map(({ field }) => field)
    const more = fields.length > fieldsMax ? `, and ${fields.length - fieldsMax} more` : ''
    const reason = `The rules now give another ${fields.slice(0, fieldsMax).join(', ')}${more}.`
    return [{ id, groupKey, change: 'changed', before: former.document, after: document, reason }]
  })
  const reason = 'The records no longer make this transaction.'
  const lost = gone.map(({ id, groupKey, document }): ReplayedChange => ({
    id,
    groupKey,
    change: 'removed',
    before: document,
    after: null,
    reason,
  }))
  return [...written, ...lost]
}

/** A document before and after the change. */
interface Texts {
  before: string
  after: string
}

function categoryOf(document: string): string {
  return document === '' ? '' : parseDocument(document).categorization.category
}

/** Member by member, down to the values: `categorization.category`, `inputs.0.amount`. */
function listDifferences(before: string, after: string): Example['fields'] {
  const [was, is] = [before, after].map((text) => new Map(listMembers(JSON.parse(`{${text}`), '')))
  const fields = new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])])
  return [...fields].flatMap((field) => {
    const [one, two] = [was, is].map((members) => (members?.get(field) ?? '–').slice(0, valueLengthMax))
    return one === two || one === undefined || two === undefined ? [] : [{ field, before: one, after: two }]
  })
}

function listMembers(value: unknown, path: string): [string, string][] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    return [[path, JSON.stringify(value)]]
  }
  return Object.entries(value).flatMap(([name, member]) => listMembers(member, path === '' ? name : `${path}.${name}`))
}
