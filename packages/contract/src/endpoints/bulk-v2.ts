/** Everything at once: the export of transactions, and what holdings were worth over time. */
import { z } from 'zod'
import { AssetHistoryPoint } from '../assets.ts'
import { defineEndpoint } from '../endpoint.ts'
import { successErrors } from '../errors.ts'
import { transactionFilters } from '../filters.ts'
import { Transaction } from '../transactions.ts'
import { isoTimeParameter, oneOf, refuseEmptyRange } from '../values.ts'
import { errorsNone, transactionV2 } from './examples.ts'

const family = 'accounts_v2'

export const exportTransactions = defineEndpoint({
  id: 'exportTransactions',
  family,
  method: 'GET',
  path: '/accounts/v2/transactions/export',
  scope: 'transactions:read',
  query: z
    .strictObject({
      format: oneOf(['csv', 'ndjson'], 'csv: a table with a header row; ndjson: one transaction a line.'),
      ...transactionFilters,
    })
    .check(refuseEmptyRange),
  response: Transaction,
  mediaType: 'application/x-ndjson',
  csv: true,
  summary: 'Export transactions',
  description:
    'All transactions that match, newest first, as one stream. An answer that ends early is cut off and not complete. In the table a cell that a spreadsheet could take for a formula begins with an apostrophe.',
  errors: [],
  example: { response: transactionV2 },
})

export const getAssetHistory = defineEndpoint({
  id: 'getAssetHistory',
  family,
  method: 'GET',
  path: '/accounts/v2/assets/history',
  scope: 'assets:read',
  query: z
    .strictObject({
      start_time: isoTimeParameter('The first day, UTC; by default a month before the last.').optional(),
      end_time: isoTimeParameter('Before this moment; by default now.').optional(),
      interval: oneOf(['day'], 'The time between two points.').optional(),
    })
    .check(refuseEmptyRange),
  response: z.object({ data: z.array(AssetHistoryPoint), errors: successErrors }),
  summary: 'Get what holdings were worth',
  description:
    'One point a day, oldest first, at most 366. Observed where every connection was read that day; otherwise derived backwards from today’s balances through the transactions, down to where the history has a hole. What was cut off, and why, is in errors.',
  errors: [],
  example: {
    response: {
      data: [
        { date: '2026-03-01', value_in_usd: '32010.5', method: 'derived', incomplete: ['price'] },
        { date: '2026-03-02', value_in_usd: '32640.255', method: 'observed', incomplete: [] },
      ],
      ...errorsNone,
    },
  },
})
