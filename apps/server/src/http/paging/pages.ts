/**
 * The rules of pages, in one place. A walk is named by a cursor that holds its filters, so:
 *
 * - the next page is fetched by following `next` as it is, by `cursor=` with the cursor inside it, or by `cursor=` or
 *   `next_uri=` with the whole `next` value;
 * - filters left out beside a cursor are taken from it; one that contradicts it, or that the first request lacked, is
 *   refused: the answer could only be wrong;
 * - `limit` is not a filter and may change. Beside a bare cursor it falls back to the default; a whole `next` value has
 *   its own, which a `limit` beside it overrides.
 *
 * A page is opened before the caller is known (request/serve.ts) and claimed afterwards: only then can another caller's
 * cursor be refused, and the next one be written.
 */
import { pageParameters, type Endpoint, type Paging } from '@assay/contract'
import { Refusal } from '@assay/core'
import { z } from 'zod'
import { noSubject, type Cursors, type Filters, type Point, type Subject } from './cursor.ts'
import { parseOrRefuse, refuse, wrongParameter } from '../request/invalid.ts'
import { parseQuery, queryOf, toKnownParameters, type KnownParameters, type Query } from '../request/query.ts'

export interface PageRequest {
  /** What the endpoint's query schema gives. */
  filters: Filters
  /** Null for all rows. */
  limit: number | null
  /** Undefined on the first page. */
  point: Point | undefined
  /** The `next` value for a page that ends here; empty when it was the last. */
  next(end: Point | undefined): string
  /** The bare cursor of this point. */
  cursor(at: Point): string
}

/** A page whose caller is not known yet. */
export interface OpenPage extends Pick<PageRequest, 'filters' | 'limit' | 'point'> {
  /** Refuses a cursor that was given to another user or application. */
  claim(subject: Subject): PageRequest
}

export interface PagedEndpoint {
  endpoint: Endpoint
  paging: Paging
  filters: z.ZodObject
  /**
   * The filters come in a body. They may be private, or more than a URI has room for: `next` has them in its cursor.
   */
  filtersInBody?: true
}

/**
 * Filters stand twice in a `next` value, plain and inside the cursor. With this limit, a hundred ids and more, that
 * stays below the 8 KiB for which common proxies have room, even when it is sent whole and so encoded once more.
 */
const encodedFiltersMax = 4_000
/** The cursor, which holds them, must still fit into a body beside them. */
const filtersInBodyBytesMax = 16_000

const pointSchemas = {
  link: z.strictObject(pageParameters.link),
  page: z.strictObject(pageParameters.page),
}

/** Every parameter that a list takes. */
export function listParameters(list: PagedEndpoint): KnownParameters {
  return toKnownParameters({ ...list.filters.shape, ...pageParameters[list.paging.style] })
}

/** The caller and the path of a walk: the endpoint's path with the values of this request, such as a user's id. */
interface Walker {
  subject: Subject
  path: string
}

export function openPage(list: PagedEndpoint, query: Query, path: string, cursors: Cursors): OpenPage {
  return openWalk(list, split(list, query), path, cursors)
}

/** For the list whose cursor comes in a body, and whose caller is known. */
export function continueWalk(
  list: PagedEndpoint,
  asked: PageQuery,
  { subject, path }: Walker,
  cursors: Cursors,
): PageRequest {
  return openWalk(list, asked, path, cursors).claim(subject)
}

function openWalk(list: PagedEndpoint, asked: PageQuery, path: string, cursors: Cursors): OpenPage {
  // A list inside something (a user's assets) is another list for each such thing.
  const name = path === list.endpoint.path ? list.endpoint.id : `${list.endpoint.id} ${path}`
  const sent = findSentCursor(list, asked, path)
  const found = sent && cursors.find(name, sent.cursor)
  const parameter = sent?.parameter ?? 'cursor'
  if (sent !== undefined && found === undefined) throw refuseCursor(parameter)
  const filters = found === undefined ? asked.filters : toFilters(list, found.filters)
  if (found !== undefined) {
    for (const given of [asked.filters, sent?.inside?.filters]) checkAgreement(given ?? {}, filters)
  }
  const written = found?.filters ?? asked.written
  checkSize(written, list.filtersInBody === true)
  const limit = asked.limit ?? sent?.inside?.limit ?? list.paging.limitDefault
  const page = { filters, limit, point: found?.point }

  return {
    ...page,
    claim(caller) {
      const subject = list.paging.bound === 'caller' ? caller : noSubject
      if (found?.isOf(subject) === false) throw refuseCursor(parameter)
      const cursor = (at: Point): string => cursors.write({ list: name, subject }, written, at)
      const shown = list.filtersInBody === true ? {} : written
      return {
        ...page,
        cursor,
        next: (end) => (end === undefined ? '' : nextUri(path, shown, limit, cursor(end))),
      }
    },
  }
}

function refuseCursor(parameter: string): Refusal {
  const rule = 'was altered, or is of another list, user or application; take it from the page before'
  return refuse([wrongParameter(parameter, rule)])
}

function nextUri(path: string, filters: Filters, limit: number | null, cursor: string): string {
  const parts = Object.entries(filters).map(([name, value]) => `${name}=${encodeURIComponent(toText(value))}`)
  if (limit !== null) parts.push(`limit=${limit}`)
  parts.push(`cursor=${cursor}`)
  return `${path}?${parts.join('&')}`
}

export interface ShownRows<Row> {
  shown: Row[]
  /** The last row that is shown, where the next page begins; undefined when there is no next page. */
  last: Row | undefined
}

/** Reads one row more than the page shows, and so learns without a count whether there is a next page. */
export async function readRows<Row>(
  limit: number,
  list: (limit: number) => Promise<readonly Row[]>,
): Promise<ShownRows<Row>> {
  return cutRows(await list(limit + 1), limit)
}

/** For rows that are already there: `rows` may be longer than the page. */
export function cutRows<Row>(rows: readonly Row[], limit: number): ShownRows<Row> {
  const shown = rows.slice(0, limit)
  return { shown, last: rows.length > limit ? shown.at(-1) : undefined }
}

/** RFC 8288: v1 answers bare arrays, so a header announces the next page. */
export function linkHeaders(next: string): Readonly<Record<string, string>> {
  return next === '' ? {} : { Link: `<${next}>; rel="next"` }
}

/** The parameters of a request that are about its page. */
export interface PageQuery {
  filters: Filters
  /** The same filters as the caller wrote them, which is how `next` repeats them. */
  written: Filters
  limit: number | undefined
  cursor: string | undefined
  next_uri: string | undefined
}

function split(list: PagedEndpoint, query: Query): PageQuery {
  const shown = (name: string): string | undefined => query.get(name)
  const point: Record<string, string> = {}
  const written: Record<string, string> = {}
  const pointSchema = pointSchemas[list.paging.style]
  for (const [name, value] of query) (name in pointSchema.shape ? point : written)[name] = value
  const { limit, cursor, next_uri }: Partial<Omit<PageQuery, 'filters'>> = parseOrRefuse(pointSchema, point, shown)
  return { filters: parseOrRefuse(list.filters, written, shown) as Filters, written, limit, cursor, next_uri }
}

/** What the filters in a cursor mean. Those of a body are in it as they are compared. */
function toFilters(list: PagedEndpoint, written: Filters): Filters {
  if (list.filtersInBody === true) return written
  return parseOrRefuse(list.filters, written) as Filters
}

interface SentCursor {
  parameter: string
  cursor: string
  /** The parameters beside the cursor in a whole `next` value. */
  inside: PageQuery | undefined
}

function findSentCursor(list: PagedEndpoint, asked: PageQuery, path: string): SentCursor | undefined {
  if (asked.cursor !== undefined && asked.next_uri !== undefined) {
    throw refuse([wrongParameter('next_uri', 'is another name for cursor; send one of them')])
  }
  const parameter = asked.next_uri === undefined ? 'cursor' : 'next_uri'
  const value = asked.next_uri ?? asked.cursor
  if (value === undefined) return undefined
  if (!value.startsWith('/')) return { parameter, cursor: value, inside: undefined }

  if (value.split('?', 1)[0] !== path) throw refuse([wrongParameter(parameter, `must be a next value of ${path}`)])
  const inside = splitWhole(list, parameter, queryOf(value))
  if (inside.cursor === undefined) throw refuse([wrongParameter(parameter, 'must be a next value with a cursor in it')])
  return { parameter, cursor: inside.cursor, inside }
}

/** Mistakes inside a whole value are named by the parameter that carried it: the caller sent no other. */
function splitWhole(list: PagedEndpoint, parameter: string, text: string): PageQuery {
  try {
    return split(list, parseQuery(text, listParameters(list)))
  } catch (error) {
    if (error instanceof Refusal) throw refuse([wrongParameter(parameter, 'must be a next value as it was given')])
    throw error
  }
}

function checkAgreement(given: Filters, walk: Filters): void {
  for (const [name, value] of Object.entries(given)) {
    const inWalk = walk[name]
    if (inWalk === undefined) {
      throw refuse([wrongParameter(name, 'was not a filter of the first page; begin again without a cursor')])
    }
    if (toText(inWalk) !== toText(value)) {
      throw refuse([wrongParameter(name, `contradicts the cursor, whose pages have ${toText(inWalk)}`, toText(value))])
    }
  }
}

function checkSize(filters: Filters, isInBody: boolean): void {
  const sizeOf = (text: string): number => (isInBody ? Buffer.byteLength(text) : encodeURIComponent(text).length)
  const sizes = Object.entries(filters).map(([name, value]) => ({ name, size: sizeOf(toText(value)) }))
  const sizeMax = isInBody ? filtersInBodyBytesMax : encodedFiltersMax
  if (sizes.reduce((total, { size }) => total + size, 0) <= sizeMax) return
  const [longest] = sizes.toSorted((a, b) => b.size - a.size)
  const unit = isInBody ? 'bytes' : 'URL-encoded characters'
  throw refuse([
    wrongParameter(longest?.name ?? 'the query', `is too long: all filters have at most ${sizeMax} ${unit} together`),
  ])
}

/**
 * The form that a query carries. Parsed values are canonical (lists sorted, times in UTC), so equal texts are equal
 * filters.
 */
function toText(value: Filters[string]): string {
  return typeof value === 'object' ? value.join(',') : String(value)
}
