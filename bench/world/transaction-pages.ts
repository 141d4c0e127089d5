/**
 * Requests for pages of transactions, of a user and of a whole tenant, to the API and to the prototype; and for
 * pgbench.
 */
import { listEnterpriseTransactions, listTransactions } from '@assay/contract'
import { createCursors } from '../../apps/server/src/http/paging/cursor.ts'
import { subjectOf } from '../../apps/server/src/http/request/serve.ts'
import { readTenantPage } from '../../apps/server/src/enterprise/transactions/page-store.ts'
import { testKeyring } from '../../apps/server/src/test-keys.ts'
import { readTransactions } from '../../apps/server/src/portfolio/pages-store.ts'
import type { LoadRequest } from './measuring/load.ts'
import { captureScript, type PgbenchScript } from './measuring/pgbench.ts'
import * as people from './people.ts'
import { historyEndMs, historyStartMs } from './population.ts'

export const pageSize = 30

export interface TransactionPoint {
  occurredAt: string
  id: string
}

/** A page of a user from a position in the history; the first page without one. */
export interface Wanted {
  user: number
  after: TransactionPoint | undefined
}

/** Signed with the key that the API is started with, so that a walk can begin anywhere. */
const cursors = createCursors(testKeyring('bench').derive('cursor'))
const middleId = '80000000000000000000000000000000'

export function randomUser(users: number): number {
  return 1 + Math.floor(Math.random() * users)
}

/** A cursor need not name a row that exists. */
export function randomPoint(): TransactionPoint {
  const atMs = historyStartMs + Math.random() * (historyEndMs - historyStartMs)
  return { occurredAt: new Date(atMs).toISOString(), id: middleId }
}

export function randomPages(users: number, count: number): Wanted[] {
  return Array.from({ length: count }, () => ({ user: randomUser(users), after: randomPoint() }))
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

export function pageRequest({ user, after }: Wanted): LoadRequest {
  const headers = bearer(people.accessTokenOf(user))
  return { method: 'GET', path: toPath(listTransactions, people.userIdOf(user), after), headers }
}

export function tenantPageRequest(after: TransactionPoint): LoadRequest {
  return {
    method: 'GET',
    path: toPath(listEnterpriseTransactions, null, after),
    headers: bearer(people.tenantToken),
  }
}

function toPath(
  endpoint: { id: string; path: string },
  userId: string | null,
  after: TransactionPoint | undefined,
): string {
  const path = `${endpoint.path}?limit=${pageSize}`
  if (after === undefined) return path
  const { tenantId, clientId } = people
  const unused = { tenantKey: 0, userKey: null, grantId: null, scopes: new Set<string>(), expiresAt: '' }
  const subject = subjectOf({ ...unused, tenantId, clientId, userId })
  return `${path}&cursor=${cursors.write({ list: endpoint.id, subject }, {}, [after.occurredAt, after.id])}`
}

/** The same page from programs/prototype.mjs, whose cursor is the point itself. */
export function prototypePageRequest({ user, after }: Wanted): LoadRequest {
  return { method: 'GET', path: prototypePath('user', after), headers: bearer(people.accessTokenOf(user)) }
}

export function prototypeTenantPageRequest(after: TransactionPoint): LoadRequest {
  return { method: 'GET', path: prototypePath('tenant', after), headers: bearer(people.tenantToken) }
}

function prototypePath(whose: string, after: TransactionPoint | undefined): string {
  const place = after === undefined ? '' : `&after=${after.occurredAt}_${after.id}`
  return `/${whose}/transactions?limit=${pageSize}${place}`
}

/** pgbench's choice of a moment, as `:at`. */
const setMoment = `\\set at random(${historyStartMs / 1_000}, ${historyEndMs / 1_000})`
const moment = { '{at}': 'to_timestamp(:at)' }
const after = { occurredAt: '{at}', id: middleId }

/** pgbench's choice of a user, as `:key`. */
export function setRandomUser(users: number): string[] {
  return [`\\set user random(1, ${users})`, people.setUserKey]
}

/** What replaces a user and the user's token in a captured statement. */
export const userExpressions = { '{key}': ':key', '{token}': people.tokenHashSql(':key') }
export const capturedAccess = { userKey: '{key}', tokenHash: Buffer.from('{token}') }

export async function pageScript(users: number): Promise<PgbenchScript> {
  const request = { shape: 'v2', filters: {}, limit: pageSize, after } as const
  return captureScript([...setRandomUser(users), setMoment], { ...userExpressions, ...moment }, (sql) =>
    readTransactions(sql, capturedAccess, request),
  )
}

export async function tenantPageScript(): Promise<PgbenchScript> {
  // The token in the form in which PostgreSQL reads bytes from text. Every page uses the same token.
  const tokenHash = Buffer.from(`\\x${people.sha256(people.tenantToken).toString('hex')}`)
  return captureScript([setMoment], moment, (sql) => readTenantPage(sql, tokenHash, { limit: pageSize, after }))
}
