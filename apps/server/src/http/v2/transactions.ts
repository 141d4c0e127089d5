/** GET /accounts/v2/transactions and /accounts/v2/transactions/{id} */
import { getTransaction, listTransactions } from '@assay/contract'
import { notFound } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import { finishPage, firstSeqAt, type FeedPoint, type TransactionPoint } from '../../portfolio/index.ts'
import type { Point } from '../paging/cursor.ts'
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

  serve.authorizedRead(app, listTransactions, {
    read(token, { query, page: { limit, point } }) {
      checkProviders('provider_ids', query.provider_ids)
      const knownAt = toKnownAt(query.known_at)
      if (knownAt !== undefined) {
        const [occurredAt = '', id = ''] = point ?? []
        const after = point && { occurredAt, id }
        return portfolio.readKnownAt(token, { filters: toTransactionFilters(query), limit, after, knownAt })
      }
      const points = toListPoints(point, query.updated_since)
      // The list of transactions has ended, but that of removed ones has not.
      if (points.list === 'ended') return portfolio.readRemoved(token, { after: points.removed, limit })
      const { list: after, removed } = points
      const filters = toTransactionFilters(query)
      return portfolio.readTransactions(token, { shape: 'v2', filters, limit, after, removed })
    },
    async answer({ issues, result }, { query, page, inTurn }) {
      const { removed } = result
      const shown = await finishPage(result, inTurn)
      const next = JSON.stringify(page.next(toPoint(shown.end, removed?.end)))
      const gone = query.updated_since === undefined ? '' : `,"removed":[${removed?.items ?? ''}]`
      return { text: `{"page":{"next":${next}},"data":[${shown.items}],"errors":${JSON.stringify(issues)}${gone}}` }
    },
  })

  serve.authorizedRead(app, getTransaction, {
    read(token, { params, query }) {
      const knownAt = toKnownAt(query.known_at)
      if (!idShape.test(params.id)) throw notFound('transaction')
      if (knownAt !== undefined) return portfolio.readOneKnownAt(token, { id: params.id, knownAt })
      return portfolio.readTransaction(token, params.id)
    },
    answer({ issues, result }, { query }) {
      if (result.item === null) throw notFound(query.known_at === undefined ? 'transaction' : 'transaction_at_moment')
      return { text: `{"data":${result.item},"errors":${JSON.stringify(issues)}}` }
    },
  })
}

/** Where the list of transactions continues, and that of removed ones, which exists only with `updated_since`. */
type ListPoints =
  | { list: TransactionPoint | undefined; removed: { after: FeedPoint } | undefined }
  | { list: 'ended'; removed: FeedPoint }

function toListPoints(point: Point | undefined, updatedSince: string | undefined): ListPoints {
  if (point === undefined) {
    const first = updatedSince === undefined ? undefined : { after: { seq: firstSeqAt(updatedSince), sub: '-1' } }
    return { list: undefined, removed: first }
  }
  const [occurredAt = '', id = '', seq = '', sub = ''] = point
  const removed = { seq, sub }
  if (occurredAt === '') return { list: 'ended', removed }
  return { list: { occurredAt, id }, removed: seq === '' ? undefined : { after: removed } }
}

/** Both lists in one point; the one that has ended is empty. */
function toPoint(list: TransactionPoint | undefined, removed: FeedPoint | undefined): Point | undefined {
  if (removed === undefined) return list && [list.occurredAt, list.id]
  return [list?.occurredAt ?? '', list?.id ?? '', removed.seq, removed.sub]
}
