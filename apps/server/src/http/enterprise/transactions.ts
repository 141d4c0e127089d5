/** GET /enterprise/v2/transactions and /enterprise/v2/users/{id}/transactions */
import { listEnterpriseTransactions, listUserTransactions } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { TransactionRow } from '../../enterprise/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { checkProviders } from '../providers.ts'
import { toTransactionFilters, type TransactionQuery } from '../transactions.ts'
import { issuesOf } from './issues.ts'

interface Walk {
  tenantKey: number
  /** All of the tenant's users when undefined. */
  userId: string | undefined
  query: TransactionQuery & { user_ids?: string[] | undefined }
  page: { limit: number; position: readonly string[] | undefined; next(end: readonly string[] | undefined): string }
}

export function registerTransactions(app: FastifyInstance, deps: FrontDoors): void {
  deps.serve(app, listEnterpriseTransactions, async ({ query, page, caller }) => ({
    text: await writePage(deps, { tenantKey: caller.tenantKey, userId: undefined, query, page }),
  }))

  deps.serve(app, listUserTransactions, async ({ params, query, page, caller }) => ({
    text: await writePage(deps, { tenantKey: caller.tenantKey, userId: params.id, query, page }),
  }))
}

async function writePage(deps: FrontDoors, { tenantKey, userId, query, page }: Walk): Promise<string> {
  checkProviders('provider_ids', query.provider_ids)
  const { enterprise } = deps
  const [transactionsFrom, removedFrom] = toPlaces(page.position)
  const [rows, removed] = await Promise.all([
    listRows(deps, { tenantKey, userId, query, page }, transactionsFrom),
    query.updated_since === undefined || removedFrom === 'end'
      ? []
      : enterprise.listRemoved(tenantKey, {
          since: query.updated_since,
          limit: page.limit + 1,
          after: removedFrom && { removedAt: removedFrom.time, id: removedFrom.id },
          userIds: userId === undefined ? query.user_ids : [userId],
        }),
  ])
  const shown = rows.slice(0, page.limit)
  const shownRemoved = removed.slice(0, page.limit)
  const last = rows.length > page.limit ? shown.at(-1) : undefined
  const lastRemoved = removed.length > page.limit ? shownRemoved.at(-1) : undefined
  const next = page.next(
    toPosition(
      last && { time: last.occurred_at, id: last.id },
      lastRemoved && { time: lastRemoved.removed_at, id: lastRemoved.id },
    ),
  )
  const errors = await issuesOf(deps, shown)
  const gone = query.updated_since === undefined ? '' : `,"removed":${JSON.stringify(shownRemoved)}`
  return `{"page":${JSON.stringify({ next })},"data":[${shown.map(toText).join(',')}],"errors":${JSON.stringify(errors)}${gone}}`
}

async function listRows(
  { enterprise }: FrontDoors,
  { tenantKey, userId, query, page }: Walk,
  from: Place,
): Promise<TransactionRow[]> {
  const filters = { ...toTransactionFilters(query), userIds: query.user_ids }
  const after = from === undefined || from === 'end' ? undefined : { occurredAt: from.time, id: from.id }
  // Where the list has ended, a user whose consent does not cover it is still a 404.
  const request = { limit: from === 'end' ? 0 : page.limit + 1, after, filters }
  return userId === undefined
    ? enterprise.listTransactions(tenantKey, request)
    : enterprise.listTransactionsOf(tenantKey, userId, request)
}

/**
 * A page that begins at its start has no position; one list that has ended while the other goes on has an empty place.
 */
type Place = { time: string; id: string } | 'end' | undefined

function toPlaces(position: readonly string[] | undefined): [transactions: Place, removed: Place] {
  if (position === undefined) return [undefined, undefined]
  const [time = '', id = '', removedTime = '', removedId = ''] = position
  return [time === '' ? 'end' : { time, id }, removedTime === '' ? 'end' : { time: removedTime, id: removedId }]
}

function toPosition(
  last: { time: string; id: string } | undefined,
  lastRemoved: { time: string; id: string } | undefined,
): readonly string[] | undefined {
  if (last === undefined && lastRemoved === undefined) return undefined
  const place = [last?.time ?? '', last?.id ?? '']
  return lastRemoved === undefined ? place : [...place, lastRemoved.time, lastRemoved.id]
}

/** The head with the user, then the ready text. None of the head's values needs escaping: ids and times. */
export function toText(row: Omit<TransactionRow, 'user_key' | 'occurred_at'>): string {
  return `{"id":"${row.id}","user_id":"${row.user_id}","provider_id":"${row.provider_id}","connection_id":"${row.connection_id}","updated_at":"${row.updated_at}",${row.document}`
}
