/** What a replay found, counted by provider and category, with a few examples. Pure; as long as a list of categories. */
import type { ComposedBatch } from './compose.ts'
import type { ReplayedConnection, StoredTransaction } from './replay-store.ts'

export interface ReplayReport {
  connections: number
  /** Removed while the replay went on. */
  gone: number
  groups: number
  /** Groups that cannot be read; what they had become before stays. */
  unreadable: number
  changes: CategoryChanges[]
  examples: Example[]
}

export interface CategoryChanges {
  provider_id: string
  /** After the change; of what is removed, before it. */
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
  /** Members that differ; all of them is too much to read for one that is added or removed. */
  fields: { field: string; before: string; after: string }[]
}

const examplesMax = 5
const fieldsMax = 12
const valueLengthMax = 80

export interface Tally {
  add(connection: ReplayedConnection, before: readonly StoredTransaction[], composed: ComposedBatch): void
  countConnection(outcome: 'replayed' | 'gone'): void
  toReport(groups: number): ReplayReport
}

export function createTally(): Tally {
  const changes = new Map<string, CategoryChanges>()
  const examples: Example[] = []
  const counts = { connections: 0, gone: 0, unreadable: 0 }

  function count(connection: ReplayedConnection, change: Change, id: string, texts: Partial<Texts>): void {
    const { providerId, connectionId } = connection
    const category = texts.after?.category ?? texts.before?.category ?? ''
    const key = `${providerId} ${category}`
    const row = changes.get(key) ?? { provider_id: providerId, category, added: 0, changed: 0, removed: 0 }
    row[change] += 1
    changes.set(key, row)
    if (examples.length === examplesMax) return
    const fields =
      texts.before && texts.after
        ? listDifferences(texts.before.document, texts.after.document).slice(0, fieldsMax)
        : []
    examples.push({ change, id, provider_id: providerId, connection_id: connectionId, fields })
  }

  return {
    add(connection, stored, composed) {
      counts.unreadable += composed.poison.size
      const after = new Map(composed.rendered.map((one) => [one.id, one]))
      const before = new Map(stored.map((one) => [one.id, one]))
      for (const [id, one] of after) {
        const was = before.get(id)
        if (was === undefined) count(connection, 'added', id, { after: one })
        else if (was.document !== one.document) count(connection, 'changed', id, { before: was, after: one })
      }
      for (const [id, one] of before) if (!after.has(id)) count(connection, 'removed', id, { before: one })
    },
    countConnection(outcome) {
      if (outcome === 'gone') counts.gone += 1
      else counts.connections += 1
    },
    toReport(groups) {
      const byName = [...changes.values()].toSorted(
        (a, b) => a.provider_id.localeCompare(b.provider_id) || a.category.localeCompare(b.category),
      )
      return { ...counts, groups, changes: byName, examples }
    },
  }
}

interface Texts {
  before: { category: string; document: string }
  after: { category: string; document: string }
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
