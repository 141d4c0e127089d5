/** GET /enterprise/v2/transactions and /enterprise/v2/users/{id}/transactions */
import { listEnterpriseTransactions, listUserTransactions } from '@assay/contract'
import type { ErrorItem } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { RemovedRow, AuthorizedTenantPage, TransactionRow } from '../../enterprise/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { cutRows } from '../paging/pages.ts'
import { checkProviders } from '../shapes/providers.ts'
import { toTransactionFilters, type TransactionQuery } from '../shapes/transaction-filters.ts'
import { recordAndFindIssues, recordTenantAccess, type TenantAccess } from './issues.ts'

interface Walk {
  read: TenantAccess
  tenantKey: number
  /** All of the tenant's users when undefined. */
  userId: string | undefined
  query: TransactionQuery & { user_ids?: string[] | undefined }
  page: { limit: number; point: readonly string[] | undefined }
}

/** What a page shows. */
interface Shown {
  items: string
  issues: readonly ErrorItem[]
  /** Undefined when they were not asked for. */
  removed: readonly RemovedRow[] | undefined
  end: readonly string[] | undefined
  /**
   * The users whose rows a page shows, if one statement read it. Other pages record their users while they are read.
   */
  userKeys?: readonly string[]
}

export function registerTransactions(app: FastifyInstance, deps: FrontDoors): void {
  const { serve, enterprise } = deps
  serve.authorizedRead(app, listEnterpriseTransactions, {
    async read({ tokenHash }, { query, page }) {
      checkProviders('provider_ids', query.provider_ids)
      if (Object.keys(query).length === 0) return readPlainPage(deps, tokenHash, page)
      const caller = await enterprise.findCaller(tokenHash)
      if (caller?.scopes.has('enterprise:read') !== true) return caller && { caller, shown: nothing }
      const { tenantKey } = caller
      const read = { caller, endpoint: listEnterpriseTransactions }
      return { caller, shown: await readWalk(deps, { read, tenantKey, userId: undefined, query, page }) }
    },
    async answer({ caller, shown }, { page }) {
      await recordTenantAccess(deps, { caller, endpoint: listEnterpriseTransactions }, shown.userKeys ?? [])
      return { text: toPage(shown, page.next(shown.end)) }
    },
  })

  serve(app, listUserTransactions, async ({ params, query, page, caller }) => {
    checkProviders('provider_ids', query.provider_ids)
    const { tenantKey } = caller
    const read = { caller, endpoint: listUserTransactions }
    const shown = await readWalk(deps, { read, tenantKey, userId: params.id, query, page })
    return { text: toPage(shown, page.next(shown.end)) }
  })
}

/** For a caller without the scope, who gets a 403. */
const nothing: Shown = { items: '', issues: [], removed: undefined, end: undefined }

function toPage({ items, issues, removed }: Shown, next: string): string {
  // Leaves out the key, which is internal.
  const rows = removed?.map(({ id, removed_at }) => ({ id, removed_at }))
  const gone = rows === undefined ? '' : `,"removed":${JSON.stringify(rows)}`
  return `{"page":{"next":${JSON.stringify(next)}},"data":[${items}],"errors":${JSON.stringify(issues)}${gone}}`
}

async function readPlainPage(
  { enterprise }: FrontDoors,
  tokenHash: Buffer,
  { limit, point }: Walk['page'],
): Promise<{ caller: AuthorizedTenantPage['caller']; shown: Shown } | undefined> {
  const [from] = toListPoints(point)
  const after = from === undefined || from === 'end' ? undefined : { occurredAt: from.time, id: from.id }
  const page = await enterprise.readPage(tokenHash, { limit, after })
  if (page === undefined) return undefined
  const { caller, items, issues, end, userKeys } = page
  const last = end && { time: end.occurredAt, id: end.id }
  return { caller, shown: { items, issues, removed: undefined, end: toPoint(last, undefined), userKeys } }
}

async function readWalk(deps: FrontDoors, walk: Walk): Promise<Shown> {
  const { tenantKey, userId, query, page } = walk
  const [transactionsFrom, removedFrom] = toListPoints(page.point)
  const userIds = userId === undefined ? query.user_ids : [userId]
  const rows = await listRows(deps, walk, transactionsFrom)
  const removed =
    query.updated_since === undefined || removedFrom === 'end'
      ? []
      : await deps.enterprise.listRemoved(tenantKey, {
          since: query.updated_since,
          limit: page.limit + 1,
          after: removedFrom && { removedAt: removedFrom.time, id: removedFrom.id },
          userIds,
        })
  const { shown, last } = cutRows(rows, page.limit)
  const named = { userIds, connectionIds: query.connection_ids }
  const askedFor = await deps.enterprise.listCoveredByName(tenantKey, named, 'transactions:read')
  const { shown: shownRemoved, last: lastRemoved } = cutRows(removed, page.limit)
  return {
    items: shown.map(toText).join(','),
    // That a user has no such transaction was read, too.
    issues: await recordAndFindIssues(deps, walk.read, [
      ...shown,
      ...shownRemoved,
      ...askedFor.map((userKey) => ({ user_key: userKey })),
    ]),
    removed: query.updated_since === undefined ? undefined : shownRemoved,
    end: toPoint(
      last && { time: last.occurred_at, id: last.id },
      lastRemoved && { time: lastRemoved.removed_at, id: lastRemoved.id },
    ),
  }
}

async function listRows(
  { enterprise }: FrontDoors,
  { tenantKey, userId, query, page }: Walk,
  from: ListPoint,
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
 * A page that begins at its start has no point; a list that has ended while the other continues has an empty point.
 */
type ListPoint = { time: string; id: string } | 'end' | undefined

function toListPoints(point: readonly string[] | undefined): [transactions: ListPoint, removed: ListPoint] {
  if (point === undefined) return [undefined, undefined]
  const [time = '', id = '', removedTime = '', removedId = ''] = point
  return [time === '' ? 'end' : { time, id }, removedTime === '' ? 'end' : { time: removedTime, id: removedId }]
}

function toPoint(
  last: { time: string; id: string } | undefined,
  lastRemoved: { time: string; id: string } | undefined,
): readonly string[] | undefined {
  if (last === undefined && lastRemoved === undefined) return undefined
  const point = [last?.time ?? '', last?.id ?? '']
  return lastRemoved === undefined ? point : [...point, lastRemoved.time, lastRemoved.id]
}

/** The head with the user, then the ready text. None of the head's values needs escaping: ids and times. */
export function toText(row: Omit<TransactionRow, 'user_key' | 'occurred_at'>): string {
  return `{"id":"${row.id}","user_id":"${row.user_id}","provider_id":"${row.provider_id}","connection_id":"${row.connection_id}","updated_at":"${row.updated_at}",${row.document}`
}
