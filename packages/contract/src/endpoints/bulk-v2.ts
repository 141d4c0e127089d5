/** Everything at once: the export of transactions, and what holdings were worth over time. */
import { z } from 'zod'
import { AssetHistoryPoint } from '../assets.ts'
import { defineEndpoint } from '../endpoint.ts'
import { successErrors } from '../errors.ts'
import { Transaction, transactionFilters } from '../transactions.ts'
import { oneOf, rangeTimeParameter, readRange } from '../values.ts'
import { errorsNone, thisYear, transactionV2 } from './examples.ts'

const family = 'accounts_v2'

const csvLines = [
  'id,timestamp,type,category,status,provider_id,connection_id,input_amounts,input_assets,output_amounts,output_assets,fee_amounts,fee_assets,inputs_in_usd,outputs_in_usd,fees_in_usd,network,hash,from_address,to_address,counterpart,spam,provider_reference,description,incomplete,updated_at',
  `${transactionV2.id},${transactionV2.timestamp},input_and_output,trade,confirmed,kraken,${transactionV2.connection_id},0.01,BTC,640,USD,1.02,USD,640.005,640,1.02,,,,,,false,${transactionV2.provider_reference},,,${transactionV2.updated_at}`,
  '',
].join('\r\n')

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
    .check(readRange),
  response: Transaction,
  mediaType: 'application/x-ndjson',
  csv: csvLines,
  summary: 'Export transactions',
  description:
    'All transactions that match, newest first, as one stream. An answer that ends early is cut off and not complete. In the table a cell that a spreadsheet could take for a formula begins with an apostrophe.',
  errors: [],
  example: { query: { format: 'ndjson', ...thisYear }, response: transactionV2 },
})

export const getAssetHistory = defineEndpoint({
  id: 'getAssetHistory',
  family,
  method: 'GET',
  path: '/accounts/v2/assets/history',
  scope: 'assets:read',
  query: z
    .strictObject({
      start_time: rangeTimeParameter('The first day, UTC; by default a month before the last.').optional(),
      end_time: rangeTimeParameter('Before this moment; by default now.').optional(),
      interval: oneOf(['day'], 'The time between two points.').optional(),
    })
    .check(readRange),
  response: z.object({ data: z.array(AssetHistoryPoint), errors: successErrors }),
  summary: 'See what holdings were worth',
  description:
    'One point a day, oldest first, at most 366. Observed where every connection was read that day; otherwise derived backwards from today’s balances through the transactions, down to where the history has a hole. What was cut off, and why, is in errors.',
  errors: [],
  example: {
    query: { start_time: '2026-03-01T00:00:00Z', end_time: '2026-03-03T00:00:00Z', interval: 'day' },
    response: {
      data: [
        { date: '2026-03-01', value_in_usd: '32010.5', method: 'derived', incomplete: ['price'] },
        { date: '2026-03-02', value_in_usd: '32640.255', method: 'observed', incomplete: [] },
      ],
      ...errorsNone,
    },
  },
})
