/** Requests for pages of a user's transactions, and the statement behind them for pgbench. */
import { listTransactions as endpoint } from '@assay/contract'
import { createCursors } from '../../apps/server/src/http/index.ts'
import { subjectOf } from '../../apps/server/src/http/serve.ts'
import { parseKeyring } from '../../apps/server/src/keys.ts'
import { listTransactions } from '../../apps/server/src/ledger/pages-store.ts'
import { sealingKeys } from './api.ts'
import type { LoadRequest } from './load.ts'
import { captureStatement, type PgbenchScript } from './pgbench.ts'
import * as people from './population.ts'

export const pageSize = 30

export interface Place {
  occurredAt: string
  id: string
}

/** Signed with the key that the API is started with, so that a walk can begin anywhere. */
const cursors = createCursors(parseKeyring(sealingKeys).derive('cursor'))

/** The page below some moment of some user's history; a cursor need not name a row that is there. */
export function randomPage(users: number): LoadRequest {
  return pageRequest(1 + Math.floor(Math.random() * users), randomPlace())
}

export function randomPlace(): Place {
  const atMs = people.historyStartMs + Math.random() * (people.historyEndMs - people.historyStartMs)
  return { occurredAt: new Date(atMs).toISOString(), id: 'txn_8' }
}

export function pageRequest(user: number, after: Place | undefined): LoadRequest {
  const { tenantId, clientId } = people
  const caller = { tenantId, clientId, userId: people.userIdOf(user), grantId: null, scopes: new Set<string>() }
  const cursor = after && toCursor(endpoint.id, subjectOf(caller), after)
  return {
    method: 'GET',
    path: `${endpoint.path}?limit=${pageSize}${cursor === undefined ? '' : `&cursor=${cursor}`}`,
    headers: { authorization: `Bearer ${people.accessTokenOf(user)}` },
  }
}

export function toCursor(list: string, subject: string, { occurredAt, id }: Place): string {
  return cursors.write({ list, subject }, {}, [occurredAt, id])
}

/** pgbench's choice of a user and a moment, as `:user` and `:at`. */
export function randomHead(users: number): string {
  const [start, end] = [people.historyStartMs / 1_000, people.historyEndMs / 1_000]
  return `\\set user random(1, ${users})\n\\set at random(${start}, ${end})`
}

/** What pgbench puts in the place of these values. */
export const pageExpressions = {
  '{tenant}': `'${people.tenantId}'`,
  '{user}': people.userIdSql(':user'),
  '{at}': 'to_timestamp(:at)',
  '{id}': "'txn_8'",
}

/** One more row than the page has, as the service asks, to know whether another page follows. */
export const capturedPage = { filters: {}, limit: pageSize + 1, after: { occurredAt: '{at}', id: '{id}' } }

export async function pageScript(users: number): Promise<PgbenchScript> {
  const owner = { tenantId: '{tenant}', userId: '{user}' }
  const statement = await captureStatement((sql) => listTransactions(sql, owner, capturedPage), pageExpressions)
  return { head: randomHead(users), statement }
}
