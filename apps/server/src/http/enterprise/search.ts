/**
 * /enterprise/v2/users/search. Names may be many and private, so they travel in a body; limit and cursor may travel
 * there too, or in the query. The rules are those of every list (http/paging/pages.ts). POST starts a search, and its
 * `next` can be followed as it is, by POST or by GET.
 */
import { continueUserSearch, pagesV2, searchUsers, type BodyOf, type QueryOf } from '@assay/contract'
import { invalidParameter } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { FrontDoors } from '../front-doors.ts'
import type { Filters } from '../paging/cursor.ts'
import { continueWalk, readRows, type PageQuery, type PagedEndpoint } from '../paging/pages.ts'
import { subjectOf, type Caller } from '../request/serve.ts'
import { toStoredEmail } from '../../tenants/index.ts'
import { recordAndFindIssues } from './issues.ts'
import { toUser } from './users.ts'

type Query = QueryOf<typeof searchUsers>
type Body = NonNullable<BodyOf<typeof searchUsers>>

/** The names that were searched for, in the form that a cursor holds. */
interface Names {
  external_user_ids?: readonly string[]
  emails?: readonly string[]
}

const list: PagedEndpoint = { endpoint: searchUsers, paging: pagesV2, filters: z.strictObject({}), filtersInBody: true }

export function registerSearch(app: FastifyInstance, deps: FrontDoors): void {
  deps.serve(app, searchUsers, async ({ query, body, caller }) => search(deps, caller, toAsked(query, body ?? {})))
  deps.serve(app, continueUserSearch, async ({ query, caller }) => search(deps, caller, toAsked(query, {})))
}

async function search(deps: FrontDoors, caller: Caller, asked: PageQuery) {
  const place = { subject: subjectOf(caller), path: searchUsers.path }
  const { filters, point, next, limit: wanted } = continueWalk(list, asked, place, deps.cursors)
  const limit = wanted ?? pagesV2.limitDefault
  // Read from this body, or signed by us in a cursor.
  const names: Names = filters
  const isForAll = names.external_user_ids === undefined && names.emails === undefined
  const wantedNames = isForAll
    ? undefined
    : { externalUserIds: names.external_user_ids ?? [], emails: names.emails ?? [] }
  const { shown, last } = await readRows(limit, (rows) =>
    deps.enterprise.listUsers(caller.tenantKey, { limit: rows, after: point?.[0], names: wantedNames }),
  )
  const errors = await recordAndFindIssues(deps, { caller, endpoint: searchUsers }, shown)
  return { json: { page: { next: next(last && [last.user_id]) }, data: shown.map(toUser), errors } }
}

function toAsked(query: Query, body: Body): PageQuery {
  for (const name of ['cursor', 'next_uri'] as const) {
    if (query[name] !== undefined && body[name] !== undefined) {
      throw invalidParameter(name, 'must be given once, in the query or in the body')
    }
  }
  const filters: Filters & Names = {
    // In their stored form. Text that is not an address has none, and no user is found by it.
    ...(body.external_user_ids && { external_user_ids: body.external_user_ids.toSorted() }),
    ...(body.emails && { emails: body.emails.map((email) => toStoredEmail(email) ?? email).toSorted() }),
  }
  return {
    filters,
    written: filters,
    limit: body.limit ?? query.limit,
    cursor: body.cursor ?? query.cursor,
    next_uri: body.next_uri ?? query.next_uri,
  }
}
