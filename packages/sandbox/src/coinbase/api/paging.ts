/**
 * Lists of the v2 API.
 * Source: https://docs.cdp.coinbase.com/coinbase-app/api-architecture/pagination
 *
 * A cursor is the id of the last object, so a row that is booked during a walk neither hides another row nor shows it
 * twice. The end of a list is an empty `next_uri` and nothing else: a page may hold fewer objects than its limit.
 */
import { CoinbaseRefusal } from '../wire.ts'

const limitDefault = 25
const limitMax = 100

export interface Paging {
  limit: number
  order: 'asc' | 'desc'
  startingAfter: string | null
  endingBefore: string | null
}

/** Some clients in use request more than 100 and get 100. */
export function parsePaging(query: URLSearchParams): Paging {
  const text = query.get('limit') ?? String(limitDefault)
  const order = query.get('order') ?? 'desc'
  if (!/^[1-9]\d{0,5}$/.test(text) || (order !== 'asc' && order !== 'desc'))
    throw new CoinbaseRefusal('invalid_request')
  return {
    limit: Math.min(Number(text), limitMax),
    order,
    startingAfter: query.get('starting_after'),
    endingBefore: query.get('ending_before'),
  }
}

/** Where a page begins and how long it is, when a cursor's object is the `position`-th of the list. */
export function spanOf(
  paging: Paging,
  position: (id: string) => { index: number; isThere: boolean } | undefined,
): Span {
  const cursor = paging.startingAfter ?? paging.endingBefore
  if (cursor === null) return { offset: 0, size: paging.limit }
  const found = position(cursor)
  if (found === undefined) throw new CoinbaseRefusal('invalid_request', 'unknown cursor')
  if (paging.startingAfter !== null) {
    return { offset: found.index + (found.isThere ? 1 : 0), size: paging.limit }
  }
  const offset = Math.max(0, found.index - paging.limit)
  return { offset, size: found.index - offset }
}

export interface Span {
  offset: number
  size: number
}

/** The page as it goes out. `more` says whether objects follow, `before` whether some came before. */
export function toPage(
  path: string,
  { limit, order, startingAfter, endingBefore }: Paging,
  data: readonly { id: string }[],
  { before, more }: { before: boolean; more: boolean },
): object {
  const [first, last] = [data[0]?.id, data.at(-1)?.id]
  const uri = (cursor: string): string => `${path}?limit=${limit}&${order === 'asc' ? 'order=asc&' : ''}${cursor}`
  const next = more && last !== undefined ? last : null
  const previous = before && first !== undefined ? first : null
  return {
    pagination: {
      ending_before: endingBefore,
      starting_after: startingAfter,
      previous_ending_before: previous,
      next_starting_after: next,
      limit,
      order,
      previous_uri: previous === null ? null : uri(`ending_before=${previous}`),
      next_uri: next === null ? null : uri(`starting_after=${next}`),
    },
    data,
  }
}
