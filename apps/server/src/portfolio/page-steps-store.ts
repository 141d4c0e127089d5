/**
 * Reads on where the first statement of a page with filters did not fill it. The filter with few rows leads, and the
 * others are conditions (pages-store.ts). Where all of them have many rows and hardly any in common, a page looks at a
 * whole history, and as one statement that took half a second for 50,000 transactions: callers with such filters kept
 * the connections of a whole tenant busy. So it is read in steps of some milliseconds, each in a turn of its own, and
 * other callers read in between. The page is as full as the contract says: its clients may stop at an empty one.
 */
import type { InTurn } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import { knownUserText } from './authorized-read-store.ts'
import {
  countResult,
  createBinder,
  createStatements,
  formOf,
  headColumns,
  pageRows,
  stepEnd,
  type Binder,
  type Filter,
  type Lead,
  type Shape,
  type TransactionPoint,
  type UserPageRequest,
} from './pages-query-store.ts'

export interface StepSizes {
  /** A filter that leads to fewer rows than this is rare. */
  rareMax: number
  /** How many rows a step looks at. */
  stepMax: number
}

/**
 * `rareMax` is few enough that PostgreSQL walks the index in order and stops. For a thousand, a generic plan read and
 * sorted all postings of a common asset to count the first of them. `stepMax` rows take 15 ms where each of them is
 * looked up by the key of its transaction.
 */
const stepSizes: StepSizes = { rareMax: 250, stepMax: 2_000 }
/** $1 of a statement for a known user. */
const reservedForUser = 1

export interface ShapedRequest extends UserPageRequest {
  shape: Shape
}

export interface TransactionItem {
  occurred_at: string
  id: string
  /** Ready JSON. */
  item: string
}

type User = Pick<Owner, 'userKey'>

const keepStatement = createStatements<ShapedRequest>()

/** The rows of a page that has filters, from its beginning. */
export async function listFurther(
  sql: Sql,
  user: User,
  asked: ShapedRequest,
  inTurn: InTurn,
  { rareMax, stepMax } = stepSizes,
): Promise<TransactionItem[]> {
  const { lead, isRare } = await inTurn(() => findLead(sql, user, asked, rareMax))
  if (isRare || (lead !== 'walk' && lead !== 'asset')) return inTurn(() => listRows(sql, user, lead, asked))
  return walkInSteps(asked, inTurn, (step) => listStep(sql, user, { lead, max: stepMax }, step))
}

export interface StepRows {
  found: TransactionItem[]
  /** The last row that was looked at; undefined when the walk ends. */
  until: TransactionPoint | undefined
}

/** The rows of a page from its beginning, some thousand rows at a time, each time in a turn. */
export async function walkInSteps<Request extends UserPageRequest>(
  asked: Request,
  inTurn: InTurn,
  readStep: (step: Request) => Promise<StepRows>,
): Promise<TransactionItem[]> {
  const rows: TransactionItem[] = []
  for (let { after } = asked; ;) {
    const step = { ...asked, after, limit: asked.limit - rows.length }
    const { found, until } = await inTurn(() => readStep(step))
    rows.push(...found)
    if (until === undefined || rows.length >= asked.limit) return rows
    after = until
  }
}

export function listRows(sql: Sql, user: User, lead: Lead, asked: ShapedRequest): Promise<TransactionItem[]> {
  return ask(sql, user, asked, `rows ${lead} ${asked.shape}`, (binder) => pageRows(formOf(asked), lead, binder))
}

interface Step {
  lead: 'walk' | 'asset'
  max: number
}

async function listStep(sql: Sql, user: User, { lead, max }: Step, asked: ShapedRequest): Promise<StepRows> {
  const [end] = await ask<Omit<TransactionItem, 'item'>>(sql, user, asked, `end ${lead} ${max}`, (binder) =>
    stepEnd(formOf(asked), { lead, max }, binder),
  )
  const until: TransactionPoint | undefined = end && { occurredAt: end.occurred_at, id: end.id }
  return { found: await listRows(sql, user, lead, { ...asked, until }), until }
}

interface ChosenLead {
  lead: Lead
  /** It leads to fewer rows than a step has. */
  isRare: boolean
}

async function findLead(sql: Sql, user: User, asked: ShapedRequest, rareMax: number): Promise<ChosenLead> {
  const form = formOf(asked)
  const { leads } = form
  if (leads.length === 1 && leads[0] === 'kind') return { lead: 'kind', isRare: false }
  const [counts = {}] = await ask<Partial<Record<Filter, number>>>(sql, user, asked, `count ${rareMax}`, (binder) =>
    countResult(form, rareMax, binder),
  )
  const rare = leads.find((lead) => (counts[lead] ?? rareMax) < rareMax)
  if (rare !== undefined) return { lead: rare, isRare: true }
  return { lead: leads[0] === 'asset' ? 'asset' : 'walk', isRare: false }
}

function ask<Row = TransactionItem>(
  sql: Sql,
  { userKey }: User,
  asked: ShapedRequest,
  name: string,
  toResult: (binder: Binder<ShapedRequest>) => string,
): Promise<Row[]> {
  const { text, toValues } = keepStatement(`${name} ${formOf(asked).name}`, () => {
    const binder = createBinder<ShapedRequest>(reservedForUser)
    const result = toResult(binder)
    return { text: knownUserText({ columns: headColumns[asked.shape], result }), toValues: binder.toValues }
  })
  return sql.rows<Row>(text, [userKey, ...toValues(asked)])
}
