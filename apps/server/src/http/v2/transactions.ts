/** GET /accounts/v2/transactions and /accounts/v2/transactions/{id} */
import { getTransaction, listTransactions } from '@assay/contract'
import { hasIdShape, Refusal } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { TransactionRow } from '../../ledger/index.ts'
import { ownerOf } from '../owner.ts'
import { checkProviders } from '../providers.ts'
import { toTransactionFilters } from '../transactions.ts'
import type { FrontDoors } from '../front-doors.ts'

export function registerTransactions(app: FastifyInstance, { serve, connections, ledger }: FrontDoors): void {
  serve(app, listTransactions, async ({ query, page, caller }) => {
    checkProviders('provider_ids', query.provider_ids)
    const owner = ownerOf(caller)
    const [occurredAt, id] = page.position ?? []
    const after = occurredAt === undefined || id === undefined ? undefined : { occurredAt, id }
    const [rows, errors, removed] = await Promise.all([
      ledger.listTransactions(owner, {
        limit: page.limit + 1,
        after,
        filters: toTransactionFilters(query),
      }),
      connections.listRemarks(owner),
      // With the first page, whole: what is gone has no place in the order of what is there.
      query.updated_since === undefined || after !== undefined ? [] : ledger.listRemoved(owner, query.updated_since),
    ])
    const shown = rows.slice(0, page.limit)
    const last = rows.length > page.limit ? shown.at(-1) : undefined
    const next = page.next(last && [last.occurred_at, last.id])
    const gone = query.updated_since === undefined ? '' : `,"removed":${JSON.stringify(removed)}`
    const texts = shown.map(toText).join(',')
    return { text: `{"page":${JSON.stringify({ next })},"data":[${texts}],"errors":${JSON.stringify(errors)}${gone}}` }
  })

  serve(app, getTransaction, async ({ params, caller }) => {
    const owner = ownerOf(caller)
    const row = hasIdShape('txn', params.id) ? await ledger.findTransaction(owner, params.id) : undefined
    if (row === undefined) throw new Refusal('not_found', 'There is no such transaction.')
    const errors = await connections.listRemarks(owner)
    return { text: `{"data":${toText(row)},"errors":${JSON.stringify(errors)}}` }
  })
}

/** The head in v2's words, then the ready text. None of the head's values needs escaping: ids and times. */
export function toText(row: TransactionRow): string {
  return `{"id":"${row.id}","provider_id":"${row.provider_id}","connection_id":"${row.connection_id}","updated_at":"${row.updated_at}",${row.document}`
}
