/** Sums over a tenant's users, made when asked; `as_of` says when. Only what consents in force cover is counted. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { AssetStats, BalanceStats, ProviderStats, UserStats } from '../enterprise.ts'
import { successErrors } from '../errors.ts'
import { time } from '../values.ts'
import { errorsNone } from './examples.ts'

const stats = { family: 'enterprise_v2', method: 'GET', scope: 'enterprise:read', errors: [] } as const
const asOf = { as_of: '2026-03-02T10:11:12.345Z' }

function answerOf<Data extends z.ZodType>(data: Data) {
  return z.object({ data, as_of: time, errors: successErrors })
}

export const getUserStats = defineEndpoint({
  ...stats,
  id: 'getUserStats',
  path: '/enterprise/v2/stats/users',
  response: answerOf(UserStats),
  summary: 'Count users',
  description: 'Users with a consent in force, and how many of them have connected something.',
  example: { response: { data: { users: 1200, users_with_accounts: 1100 }, ...asOf, ...errorsNone } },
})

export const getAccountStats = defineEndpoint({
  ...stats,
  id: 'getAccountStats',
  path: '/enterprise/v2/stats/accounts-by-provider',
  response: answerOf(z.array(ProviderStats)),
  summary: 'Count connections by provider',
  description: 'The provider with the most connections first.',
  example: {
    response: { data: [{ provider_id: 'kraken', name: 'Kraken', accounts: 900, users: 850 }], ...asOf, ...errorsNone },
  },
})

export const getBalanceStats = defineEndpoint({
  ...stats,
  id: 'getBalanceStats',
  path: '/enterprise/v2/stats/balances',
  response: answerOf(BalanceStats),
  summary: 'Sum balances',
  description:
    'The value of all positions in US dollars. Positions without a price are counted, not guessed; spam is left out. Of a user with more than 2,000 assets, those that were known first count.',
  example: {
    response: {
      data: { value_in_usd: '1234567.89', users: 850, positions: 5200, positions_without_price: 12 },
      ...asOf,
      ...errorsNone,
    },
  },
})

export const getTopAssets = defineEndpoint({
  ...stats,
  id: 'getTopAssets',
  path: '/enterprise/v2/stats/top-assets',
  response: answerOf(z.array(AssetStats)),
  summary: 'List the largest assets',
  description: 'The thirty largest by value; those without a price come last. A user counts as in the sum of balances.',
  example: {
    response: {
      data: [
        {
          asset_id: 'crypto:bitcoin',
          asset_symbol: 'BTC',
          total_holdings: '10.5',
          price_in_usd: '64000.5',
          value_in_usd: '672005.25',
          users: 420,
        },
      ],
      ...asOf,
      ...errorsNone,
    },
  },
})
