/**
 * Enterprise v2: what a tenant sees of its users, with a token of its own (client_credentials). Only what a user's
 * consents in force cover is ever in an answer.
 */
import { z } from 'zod'
import { AssetPosition } from '../assets.ts'
import { defineEndpoint } from '../endpoint.ts'
import { EnterpriseAccount, EnterpriseChange, EnterpriseUser, userId } from '../enterprise.ts'
import { successErrors } from '../errors.ts'
import { EnterpriseTransaction, RemovedTransaction, transactionFilters } from '../transactions.ts'
import { limitDefault, limitMax, limitRule, pageOf, pageParameters, pagesV2 } from '../pages.ts'
import { ProviderMetadata } from '../providers.ts'
import { list, readRange, text } from '../values.ts'
import {
  account,
  catalogued,
  changesCursor,
  enterpriseUser,
  errorsNone,
  pageLast,
  positionV2,
  removedTransactionId,
  thisYear,
  transactionOfUser,
} from './examples.ts'

const reading = { family: 'enterprise_v2', method: 'GET', scope: 'enterprise:read', errors: [] } as const
const ofUser = { ...reading, params: z.object({ id: z.string() }), errors: ['not_found'] } as const
const noFilters = z.strictObject({})
const idExample = { id: enterpriseUser.user_id }

const transactionPage = pageOf(EnterpriseTransaction).extend({ removed: z.array(RemovedTransaction).optional() })
const transactionExample = {
  query: { ...thisYear, limit: '30' },
  response: { page: pageLast, data: [transactionOfUser], ...errorsNone },
}

export const listEnterpriseTransactions = defineEndpoint({
  ...reading,
  id: 'listEnterpriseTransactions',
  path: '/enterprise/v2/transactions',
  paging: pagesV2,
  query: z
    .strictObject({ user_ids: list('Only these users, separated by commas.').optional(), ...transactionFilters })
    .check(readRange),
  response: transactionPage,
  summary: 'List transactions of all users',
  description: 'Newest first by (timestamp, id), of users whose consent covers transactions:read.',
  example: transactionExample,
})

export const listEnterpriseChanges = defineEndpoint({
  ...reading,
  id: 'listEnterpriseChanges',
  path: '/enterprise/v2/changes',
  paging: pagesV2,
  query: noFilters,
  response: pageOf(EnterpriseChange).extend({
    cursor: z.string().meta({ description: 'Always there: send it later to read what has changed since this page.' }),
  }),
  summary: 'Follow changes of transactions of all users',
  description:
    'Oldest change first. Without a cursor the feed starts with everything there is. A client that applies the pages in order has, after the last page, exactly what the list of transactions shows. An item may come again, in its present state. Changes appear within two seconds. A cursor that is older than the removals we keep (90 days by default) is a 400 with the cause cursor_expired: start again without one.',
  example: {
    query: { limit: '30' },
    response: {
      page: pageLast,
      cursor: changesCursor,
      data: [
        { op: 'upsert', user_id: enterpriseUser.user_id, transaction: transactionOfUser },
        {
          op: 'remove',
          user_id: enterpriseUser.user_id,
          id: removedTransactionId,
          removed_at: '2026-03-02T10:15:00.000Z',
        },
        { op: 'remove_user', user_id: 'usr_01jq8p2m3n4b5v6c7x8z9a0s1d' },
      ],
      ...errorsNone,
    },
  },
})

export const listUsers = defineEndpoint({
  ...reading,
  id: 'listUsers',
  path: '/enterprise/v2/users',
  paging: pagesV2,
  query: noFilters,
  response: pageOf(EnterpriseUser),
  summary: 'List users',
  description: 'Users with a consent in force, in the order of their ids.',
  example: { query: { limit: '30' }, response: { page: pageLast, data: [enterpriseUser], ...errorsNone } },
})

const names = z.array(text(255)).min(1).max(100).optional()
const searchPlace = z.strictObject(pageParameters.page)
/** In a body a cursor that holds two hundred long names has room. */
const placeLengthMax = 40_000

export const searchUsers = defineEndpoint({
  family: 'enterprise_v2',
  method: 'POST',
  scope: 'enterprise:read',
  id: 'searchUsers',
  path: '/enterprise/v2/users/search',
  query: searchPlace,
  body: z
    .strictObject({
      external_user_ids: names,
      emails: names,
      limit: z.int(limitRule).min(1, limitRule).max(limitMax, limitRule).meta({ default: limitDefault }).optional(),
      cursor: text(placeLengthMax).optional(),
      next_uri: text(placeLengthMax).optional(),
    })
    .optional(),
  response: pageOf(EnterpriseUser),
  summary: 'Search users',
  description:
    'Users with a consent in force who have one of the names. The names are private and may be many, so page.next holds them in its cursor alone. For the next page post to page.next as it is, or send the cursor inside it as cursor, or the whole of it as cursor or next_uri; in the query or in the body.',
  errors: [],
  example: {
    query: { limit: '30' },
    body: { external_user_ids: ['4711'] },
    response: { page: pageLast, data: [enterpriseUser], ...errorsNone },
  },
})

export const continueUserSearch = defineEndpoint({
  ...reading,
  id: 'continueUserSearch',
  path: searchUsers.path,
  query: searchPlace,
  response: pageOf(EnterpriseUser),
  summary: 'Continue a search of users',
  description: 'Follows the page.next of a search. Without a cursor, all users with a consent in force.',
  example: { query: { limit: '30' }, response: { page: pageLast, data: [enterpriseUser], ...errorsNone } },
})

export const getUser = defineEndpoint({
  ...ofUser,
  id: 'getUser',
  path: '/enterprise/v2/users/{id}',
  response: z.object({ data: EnterpriseUser, errors: successErrors }),
  summary: 'Get a user',
  description: 'A user without a consent in force is a 404 like a missing one.',
  example: { params: idExample, response: { data: enterpriseUser, ...errorsNone } },
})

export const listUserAssets = defineEndpoint({
  ...ofUser,
  id: 'listUserAssets',
  path: '/enterprise/v2/users/{id}/assets',
  paging: pagesV2,
  query: noFilters,
  response: pageOf(AssetPosition),
  summary: 'List asset positions of a user',
  description: 'One row for each connection and asset. A user whose consent does not cover assets:read is a 404.',
  example: {
    params: idExample,
    query: { limit: '30' },
    response: { page: pageLast, data: [positionV2], ...errorsNone },
  },
})

export const listUserTransactions = defineEndpoint({
  ...ofUser,
  id: 'listUserTransactions',
  path: '/enterprise/v2/users/{id}/transactions',
  paging: pagesV2,
  query: z.strictObject(transactionFilters).check(readRange),
  response: transactionPage,
  summary: 'List transactions of a user',
  description: 'Newest first. A user whose consent does not cover transactions:read is a 404.',
  example: { params: idExample, ...transactionExample },
})

export const endUser = defineEndpoint({
  ...ofUser,
  method: 'DELETE',
  scope: 'enterprise:manage',
  id: 'endUser',
  path: '/enterprise/v2/users/{id}',
  response: z.object({ data: z.object({ user_id: userId, grants_ended: z.int() }), errors: successErrors }),
  summary: 'End the consents of a user',
  description: 'Every consent of the user to the tenant’s applications ends at once, and with it every token.',
  example: {
    params: idExample,
    response: { data: { user_id: enterpriseUser.user_id, grants_ended: 1 }, ...errorsNone },
  },
})

export const listAccounts = defineEndpoint({
  ...reading,
  id: 'listAccounts',
  path: '/enterprise/v2/accounts',
  paging: pagesV2,
  query: noFilters,
  response: pageOf(EnterpriseAccount),
  summary: 'List connections of all users',
  description: 'Oldest first, of users whose consent covers providers:read.',
  example: { query: { limit: '30' }, response: { page: pageLast, data: [account], ...errorsNone } },
})

export const listEnterpriseProviders = defineEndpoint({
  ...reading,
  id: 'listEnterpriseProviders',
  path: '/enterprise/v2/providers',
  paging: pagesV2,
  query: noFilters,
  response: pageOf(ProviderMetadata),
  summary: 'List providers',
  description: 'Every provider that users can connect.',
  example: { query: { limit: '30' }, response: { page: pageLast, data: [catalogued], ...errorsNone } },
})
