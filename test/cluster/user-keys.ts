/**
 * Which user tables a statement reads or writes without naming the user. PostgreSQL itself says so: its plan for any
 * parameters (EXPLAIN GENERIC_PLAN) has every table behind every view, and the conditions that reach each of them, with
 * what follows from equalities. A search in the text of a statement would believe what it reads.
 *
 * A table is named when its `user_key` equals a parameter, or the `user_key` of something that is named: another table,
 * or the result of a subquery, whose own tables are checked like all others. A list of keys (`= any($1)`, `unnest`) is
 * not a name: it stands for many users.
 */
import type { TestClient } from '../../apps/server/src/db/test-client.ts'

/** By table: the place of `user_key` among its columns. */
export type UserTables = ReadonlyMap<string, number>

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  Alias?: string
  Operation?: string
  Output?: string[]
  'Subplan Name'?: string
  Plans?: PlanNode[]
  [condition: `${string} Cond` | `${string} Filter`]: string | undefined
  Filter?: string
}

/** Every table of the schema that has the column. */
export async function listUserTables(client: TestClient): Promise<UserTables> {
  const { rows } = await client.query<{ table_name: string; place: number }>(
    `select c.relname as table_name,
       (select count(*)::integer from pg_attribute earlier
        where earlier.attrelid = c.oid and earlier.attnum between 1 and a.attnum - 1 and not earlier.attisdropped) as place
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_key'
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
  )
  return new Map(rows.map(({ table_name: name, place }) => [name, place]))
}

export function isPlannable(text: string): boolean {
  return /^[\s(]*(select|insert|update|delete|with|merge|values)\b/i.test(text)
}

/** The user tables that the statement touches without the key of one user; each once. */
export async function findUnnamedTables(client: TestClient, tables: UserTables, text: string): Promise<string[]> {
  // Without values, so that the driver asks in the one way in which PostgreSQL accepts parameters that have none.
  const explained = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (generic_plan, verbose, costs off, format json) ${text}`,
  )
  const plan = explained.rows[0]?.['QUERY PLAN'][0].Plan
  if (plan === undefined) throw new Error(`no plan for ${text}`)
  const nodes = listNodes(plan)
  const named = findNamed(nodes)
  const unnamed = nodes.flatMap((node) => {
    const table = node['Relation Name']
    const place = table === undefined ? undefined : tables.get(table)
    if (table === undefined || place === undefined) return []
    if (node['Node Type'] === 'ModifyTable') {
      // What an UPDATE or DELETE touches is scanned below it.
      if (node.Operation !== 'Insert') return []
      const source = node.Plans?.find(({ 'Subplan Name': subplan }) => subplan === undefined)
      return isNamed(toInserted(source, place), named) ? [] : [table]
    }
    return named.has(node.Alias ?? '') ? [] : [table]
  })
  return [...new Set(unnamed)].toSorted()
}

/**
 * What an INSERT writes into the column at this place. The result of a subquery has names of its own: the first column
 * without one is called by its type or `?column?`, and later ones get a number.
 */
function toInserted(source: PlanNode | undefined, place: number): string {
  const expression = source?.Output?.[place] ?? ''
  if (source?.['Node Type'] !== 'Subquery Scan') return expression
  const inner = source.Plans?.[0]?.Output ?? []
  const column = expression.slice(expression.lastIndexOf('.') + 1)
  if (column === 'user_key') return inner.find((item) => userKey.test(item)) ?? ''
  const isFirst = column === 'int8' || column === '"?column?"'
  return (isFirst ? inner.find((item) => !columnOnly.test(item)) : undefined) ?? ''
}

function listNodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(listNodes)]
}

const name = String.raw`(?:\w+|"[^"]+")`
const cast = String.raw`(?:::[\w ]+)?`
const value = String.raw`(?:\$\d+|${name}\.${name}|\(InitPlan \d+\)\.col\d+)`
const operand = String.raw`(?:\(${value}\)|${value})${cast}`
const equality = new RegExp(`^(${operand}) = (${operand})$`)
const userKey = new RegExp(`^(${name})\\.(?:user_key|"userKey")$`)
const columnOnly = new RegExp(`^${name}\\.${name}$`)
/** The rows of these come from tables that stand elsewhere in the plan. */
const derived = new Set(['CTE Scan', 'Subquery Scan', 'WorkTable Scan'])

/** The aliases whose `user_key` is known to be that of one user. */
function findNamed(nodes: readonly PlanNode[]): ReadonlySet<string> {
  const named = new Set(nodes.flatMap((node) => (derived.has(node['Node Type']) ? [node.Alias ?? ''] : [])))
  const equalities = nodes.flatMap((node) => listConditions(node).flatMap(toEquality))
  for (let before = -1; before < named.size;) {
    before = named.size
    for (const [left, right] of equalities) {
      for (const [one, other] of [
        [left, right],
        [right, left],
      ] as const) {
        const alias = userKey.exec(strip(one))?.[1]
        if (alias !== undefined && isNamed(other, named)) named.add(alias)
      }
    }
  }
  return named
}

function toEquality(condition: string): [left: string, right: string][] {
  const [, left, right] = equality.exec(condition) ?? []
  return left === undefined || right === undefined ? [] : [[left, right]]
}

/** What must hold of every row: the parts of a condition that are joined by AND, and not those of an OR. */
function listConditions(node: PlanNode): string[] {
  return Object.entries(node).flatMap(([key, value]) =>
    typeof value === 'string' && / Cond$|Filter$/.test(key) ? toConjuncts(value) : [],
  )
}

function toConjuncts(condition: string): string[] {
  const bare =
    condition.startsWith('(') && closingOf(condition, 0) === condition.length - 1 ? condition.slice(1, -1) : condition
  const parts: string[] = []
  for (let at = 0; ;) {
    // Either in parentheses, or a column that is true or false.
    const end = bare[at] === '(' ? closingOf(bare, at) + 1 : at + (/^[\w."]+/.exec(bare.slice(at))?.[0].length ?? 0)
    parts.push(bare.slice(at, end))
    if (end >= bare.length) return parts.length === 1 ? [bare] : parts.flatMap(toConjuncts)
    if (!bare.startsWith(' AND ', end)) return [bare]
    at = end + ' AND '.length
  }
}

/** Where the parenthesis closes that opens here; texts in quotes do not count. */
function closingOf(text: string, from: number): number {
  let depth = 0
  let quote = ''
  for (let at = from; at < text.length; at += 1) {
    const char = text[at] ?? ''
    if (quote !== '') quote = char === quote ? '' : quote
    else if (char === "'" || char === '"') quote = char
    else if (char === '(') depth += 1
    else if (char === ')' && (depth -= 1) === 0) return at
  }
  return text.length
}

function isNamed(expression: string, named: ReadonlySet<string>): boolean {
  const bare = strip(expression)
  if (/^\$\d+$/.test(bare) || /^\(InitPlan \d+\)\.col\d+$/.test(bare)) return true
  const alias = userKey.exec(bare)?.[1]
  return alias !== undefined && named.has(alias)
}

/** Without a cast, and without the parentheses around a whole operand. */
function strip(expression: string): string {
  const bare = expression.replace(/::[\w ]+$/, '')
  const inner = /^\(([^()]*)\)$/.exec(bare)?.[1]
  return inner ?? bare
}
