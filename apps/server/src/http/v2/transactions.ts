/** GET /accounts/v2/transactions and /accounts/v2/transactions/{id} */
import { getTransaction, listTransactions } from '@assay/contract'
import { Refusal } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import { firstSeqAt, type FeedPlace, type Place } from '../../portfolio/index.ts'
import type { Position } from '../paging/cursor.ts'
import { checkProviders } from '../shapes/providers.ts'
import { toTransactionFilters } from '../shapes/transaction-filters.ts'
import type { FrontDoors } from '../front-doors.ts'
import { toMoment } from './moments.ts'

const idShape = /^txn_[0-9a-f]{32}$/

export function registerTransactions(
  app: FastifyInstance,
  { serve, portfolio, now, versionsKeptMs }: FrontDoors,
): void {
  const toKnownAt = (asked: string | undefined): string | undefined =>
    toMoment('known_at', asked, { latestMs: now(), earliestMs: now() - versionsKeptMs })

  serve.reading(app, listTransactions, {
    read(access, { query, page: { limit, position } }) {
      checkProviders('provider_ids', query.provider_ids)
      const knownAt = toKnownAt(query.known_at)
      if (knownAt !== undefined) {
        const [occurredAt = '', id = ''] = position ?? []
        const after = position && { occurredAt, id }
        return portfolio.readKnownAt(access, { filters: toTransactionFilters(query), limit, after, knownAt })
      }
      const places = toPlaces(position, query.updated_since)
      // This list has ended, but the other one has not.
      if (places.list === 'ended') return portfolio.readRemoved(access, { after: places.removed, limit })
      const { list: after, removed } = places
      const filters = toTransactionFilters(query)
      return portfolio.readTransactions(access, { shape: 'v2', filters, limit, after, removed })
    },
    answer({ issues, result: { page: shown, removed } }, { query, page }) {
      const next = JSON.stringify(page.next(toPosition(shown.end, removed?.end)))
      const gone = query.updated_since === undefined ? '' : `,"removed":[${removed?.items ?? ''}]`
      return { text: `{"page":{"next":${next}},"data":[${shown.items}],"errors":${JSON.stringify(issues)}${gone}}` }
    },
  })

  serve.reading(app, getTransaction, {
    read(access, { params, query }) {
      const knownAt = toKnownAt(query.known_at)
      if (!idShape.test(params.id)) throw notFound()
      if (knownAt !== undefined) return portfolio.readOneKnownAt(access, { id: params.id, knownAt })
      return portfolio.readTransaction(access, params.id)
    },
    answer({ issues, result }) {
      if (result.item === null) throw notFound()
      return { text: `{"data":${result.item},"errors":${JSON.stringify(issues)}}` }
    },
  })
}

const notFound = (): Refusal => new Refusal('not_found', 'There is no such transaction.')

/** Where the list of transactions continues, and that of removed ones, which exists only with `updated_since`. */
type Places =
  { list: Place | undefined; removed: { after: FeedPlace } | undefined } | { list: 'ended'; removed: FeedPlace }

function toPlaces(position: Position | undefined, updatedSince: string | undefined): Places {
  if (position === undefined) {
    const first = updatedSince === undefined ? undefined : { after: { seq: firstSeqAt(updatedSince), sub: '-1' } }
    return { list: undefined, removed: first }
  }
  const [occurredAt = '', id = '', seq = '', sub = ''] = position
  const removed = { seq, sub }
  if (occurredAt === '') return { list: 'ended', removed }
  return { list: { occurredAt, id }, removed: seq === '' ? undefined : { after: removed } }
}

/** Both lists in one position; the one that has ended is empty. */
function toPosition(list: Place | undefined, removed: FeedPlace | undefined): Position | undefined {
  if (removed === undefined) return list && [list.occurredAt, list.id]
  return [list?.occurredAt ?? '', list?.id ?? '', removed.seq, removed.sub]
}
