/** GET /enterprise/v2/transactions and /enterprise/v2/users/{id}/transactions */
import { listEnterpriseTransactions, listUserTransactions } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { TransactionRow } from '../../ledger/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { checkProviders } from '../providers.ts'
import { toTransactionFilters, type TransactionQuery } from '../transactions.ts'
import { remarksOf } from './remarks.ts'

interface Walk {
  tenantId: string
  /** All of the tenant's users when undefined. */
  userId: string | undefined
  query: TransactionQuery & { user_ids?: string[] | undefined }
  page: { limit: number; position: readonly string[] | undefined; next(end: readonly string[] | undefined): string }
}

export function registerTransactions(app: FastifyInstance, deps: FrontDoors): void {
  deps.serve(app, listEnterpriseTransactions, async ({ query, page, caller }) => ({
    text: await writePage(deps, { tenantId: caller.tenantId, userId: undefined, query, page }),
  }))

  deps.serve(app, listUserTransactions, async ({ params, query, page, caller }) => ({
    text: await writePage(deps, { tenantId: caller.tenantId, userId: params.id, query, page }),
  }))
}

async function writePage(deps: FrontDoors, { tenantId, userId, query, page }: Walk): Promise<string> {
  checkProviders('provider_ids', query.provider_ids)
  const { enterprise } = deps
  const [occurredAt, id] = page.position ?? []
  const after = occurredAt === undefined || id === undefined ? undefined : { occurredAt, id }
  const filters = { ...toTransactionFilters(query), userIds: query.user_ids }
  const request = { limit: page.limit + 1, after, filters }
  const userIds = userId === undefined ? query.user_ids : [userId]
  const [rows, removed] = await Promise.all([
    userId === undefined
      ? enterprise.listTransactions(tenantId, request)
      : enterprise.listTransactionsOf(tenantId, userId, request),
    // With the first page, whole: what is gone has no place in the order of what is there.
    query.updated_since === undefined || after !== undefined
      ? []
      : enterprise.listRemoved(tenantId, query.updated_since, userIds),
  ])
  const shown = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? shown.at(-1) : undefined
  const next = page.next(last && [last.occurred_at, last.id])
  const errors = await remarksOf(deps, tenantId, shown)
  const gone = query.updated_since === undefined ? '' : `,"removed":${JSON.stringify(removed)}`
  return `{"page":${JSON.stringify({ next })},"data":[${shown.map(toText).join(',')}],"errors":${JSON.stringify(errors)}${gone}}`
}

/** The head with the user, then the ready text. None of the head's values needs escaping: ids and times. */
function toText(row: TransactionRow): string {
  return `{"id":"${row.id}","user_id":"${row.user_id}","provider_id":"${row.provider_id}","connection_id":"${row.connection_id}","updated_at":"${row.updated_at}",${row.document}`
}
