/**
 * POST /enterprise/v2/users/search. Names may be many and private, so they travel in a body, and with them limit and
 * cursor; the rules are those of every list (http/pages.ts): names left out beside a cursor are taken from it, others
 * than the cursor's are refused.
 */
import { limitDefault, searchUsers, type BodyOf } from '@assay/contract'
import { invalidParameter } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { queryOf } from '../query.ts'
import { subjectOf, type Caller } from '../serve.ts'
import { remarksOf } from './remarks.ts'

type Body = BodyOf<typeof searchUsers>

/** With both lists full the cursor, which holds them, must still fit into a body beside them. */
const namesLengthMax = 16_000

export function registerSearch(app: FastifyInstance, deps: FrontDoors): void {
  deps.serve(app, searchUsers, async ({ body, caller }) => {
    const limit = body.limit ?? limitDefault
    const { names, after, next } = readPlace(deps, caller, body)
    const rows = await deps.enterprise.listUsers(caller.tenantId, {
      limit: limit + 1,
      after,
      names: names && { externalUserIds: names.external_user_ids, emails: names.emails },
    })
    const shown = rows.slice(0, limit)
    const last = rows.length > limit ? shown.at(-1) : undefined
    const errors = await remarksOf(deps, caller.tenantId, shown)
    return { json: { page: { next: last === undefined ? '' : next(last.user_id, limit) }, data: shown, errors } }
  })
}

interface Names {
  external_user_ids: string[]
  emails: string[]
}

interface Place {
  /** Undefined: everybody. */
  names: Names | undefined
  after: string | undefined
  next: (userId: string, limit: number) => string
}

function readPlace({ cursors }: Pick<FrontDoors, 'cursors'>, caller: Caller, body: Body): Place {
  const walk = { list: searchUsers.id, subject: subjectOf(caller) }
  const given = toNames(body)
  const found = body.cursor === undefined ? undefined : cursors.find(walk, toCursor(body.cursor))
  if (body.cursor !== undefined && found === undefined) {
    throw invalidParameter('cursor', 'was altered, or is of another list or application; take it from page.next')
  }
  // Signed by us, so these are the names of the first request.
  const walked = found && (Object.keys(found.filters).length === 0 ? undefined : (found.filters as unknown as Names))
  if (found !== undefined && given !== undefined && JSON.stringify(given) !== JSON.stringify(walked)) {
    throw invalidParameter('cursor', 'belongs to a search for other names; leave them out or send the same')
  }
  const names = found === undefined ? given : walked
  return {
    names,
    after: found?.position[0],
    next: (userId, limit) =>
      `${searchUsers.path}?limit=${limit}&cursor=${cursors.write(walk, names === undefined ? {} : { ...names }, [userId])}`,
  }
}

function toNames(body: Body): Names | undefined {
  if (body.external_user_ids === undefined && body.emails === undefined) return undefined
  // As they are kept: e-mail trimmed and in lower case, the tenant's own ids to the letter.
  const emails = (body.emails ?? []).map((email) => email.trim().toLowerCase()).toSorted()
  const names = { external_user_ids: (body.external_user_ids ?? []).toSorted(), emails }
  const length = Object.values(names).flat().join('').length
  if (length > namesLengthMax) {
    throw invalidParameter('external_user_ids', `and emails must have at most ${namesLengthMax} characters together`)
  }
  return names
}

/** The bare cursor, or the whole `next` value it came in. */
function toCursor(given: string): string {
  return given.startsWith('/') ? (new URLSearchParams(queryOf(given)).get('cursor') ?? '') : given
}
