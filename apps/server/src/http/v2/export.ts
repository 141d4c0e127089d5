/**
 * GET /accounts/v2/transactions/export. The answer is written page by page as fast as the client reads, so its length
 * costs no memory and no database connection is held between pages. The walk ends when the client disconnects. A client
 * decides how slowly it reads, so the consent is looked at again before each page: a stream that was begun before the
 * consent ended must not show what was connected after that.
 */
import { Readable } from 'node:stream'
import { exportTransactions, type ResponseOf } from '@assay/contract'
import { Refusal } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import { takeSlots, type Slots } from '../../limits/index.ts'
import type { TransactionItem } from '../../portfolio/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { allowanceOf, applicationOf, ownerOf } from '../shapes/owner.ts'
import { checkProviders } from '../shapes/providers.ts'
import { toTransactionFilters } from '../shapes/transaction-filters.ts'
import { csvHeader, toCsvRow } from './csv.ts'

type Format = 'csv' | 'ndjson'
type After = { occurredAt: string; id: string }

const rowsPerPage = 500
/**
 * A stream that is read slowly stays open for as long as its application likes, so the user's other applications have
 * places of their own.
 */
const openPerApplicationMax = 3
const openPerUserMax = 9

const mediaTypes: Readonly<Record<Format, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
}

export function registerExport(app: FastifyInstance, { serve, portfolio, oauth, slots }: FrontDoors): void {
  serve(
    app,
    exportTransactions,
    async ({ query, caller, inTurn }) => {
      checkProviders('provider_ids', query.provider_ids)
      const { format, ...wanted } = query
      const owner = ownerOf(caller)
      const filters = toTransactionFilters(wanted)
      const listPage = (after: After | undefined): Promise<TransactionItem[]> =>
        portfolio.listTransactions(owner, { limit: rowsPerPage, after, filters }, inTurn)
      const allowance = allowanceOf(caller)
      const listNext = async (after: After): Promise<TransactionItem[]> => {
        if (!(await inTurn(() => oauth.isAllowed(allowance))))
          throw new Refusal('invalid_token', 'The consent to this export has ended.')
        return listPage(after)
      }
      // Runs before the head of the answer is sent, while a refusal is still possible.
      const first = await listPage(undefined)
      const leave = await takePlace(slots, applicationOf(caller))
      const stream = Readable.from(writeLines(format, first, listNext))
      stream.once('close', leave)
      return {
        stream,
        mediaType: mediaTypes[format],
        headers: { 'Content-Disposition': `attachment; filename="transactions.${format}"` },
      }
    },
    { waits: true },
  )
}

/** A chunk of text for each page; the next page is asked for when this one has been taken. */
export async function* writeLines(
  format: Format,
  first: readonly TransactionItem[],
  listPage: (after: After) => Promise<readonly TransactionItem[]>,
): AsyncGenerator<string, void, undefined> {
  if (format === 'csv') yield csvHeader
  for (let rows = first; ;) {
    if (rows.length > 0) yield rows.map((row) => toLine(format, row)).join('')
    const last = rows.at(-1)
    if (last === undefined || rows.length < rowsPerPage) return
    rows = await listPage({ occurredAt: last.occurred_at, id: last.id })
  }
}

function toLine(format: Format, { item }: TransactionItem): string {
  // Our own rendering, so it has the contract's shape.
  return format === 'ndjson' ? `${item}\n` : toCsvRow(JSON.parse(item) as ResponseOf<typeof exportTransactions>)
}

/** Gives what frees the place. */
export async function takePlace(
  slots: Slots,
  { userKey, clientId }: { userKey: string; clientId: string },
): Promise<() => void> {
  const place = await takeSlots(slots, [
    { key: `export ${userKey} ${clientId}`, max: openPerApplicationMax, what: 'an application for a user' },
    { key: `export ${userKey}`, max: openPerUserMax, what: 'a user' },
  ])
  if ('leave' in place) return place.leave
  const { max, what } = place.full
  throw new Refusal('rate_limited', `At most ${max} exports of ${what} run at once.`, { retryAfterSeconds: 5 })
}
