/**
 * What all lists of the v2 API share: rows under `data`, and the place of the next page in `pagination.next_uri`, which is
 * empty or null at the end (docs.cdp.coinbase.com, coinbase-app/api-architecture/pagination). A short page is normal and
 * does not end a list.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import { readAnswer } from '../kit/answer.ts'
import type { Call } from './client.ts'
import { pageSize } from './definition.ts'

const listAnswer = z.object({
  data: z.array(z.unknown()),
  pagination: z.object({ next_uri: z.string().nullish() }).nullish(),
})

export interface ListPage {
  rows: unknown[]
  /** The query of the next page; null at the end. */
  next: string | null
}

/**
 * `position` is the query of an earlier `next`. Only the query of `next_uri` is followed: the path stays ours, so an answer
 * cannot lead a token to another place.
 */
export async function fetchListPage(call: Call, path: string, position: string | null): Promise<ListPage> {
  const query = position ?? `limit=${pageSize}&order=desc`
  const { data, pagination } = readAnswer(path.split('/').at(-1) ?? '', listAnswer, await call(`${path}?${query}`))
  const nextUri = pagination?.next_uri ?? ''
  const next = nextUri === '' ? null : new URL(nextUri, 'https://list.invalid').search.slice(1)
  // Such a list would never end, and ending it here would lose the rest of it in silence.
  if (next !== null && (next === '' || next === query)) {
    throw new SourceError('unreadable_answer', 'the place of the next page is the place of this page')
  }
  return { rows: data, next }
}
