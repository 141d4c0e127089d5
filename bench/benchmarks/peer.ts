/**
 * peer: the same pages of the same table by PostGraphile 5, one process each. Twice: first pages, where the peer is at
 * its best (its cursors become an OR of comparisons, which PostgreSQL cannot use as a range of the index), and pages at
 * random depth. The peer checks no token; ours does.
 */
import path from 'node:path'
import type { Bench, Benchmark, Finding } from '../benchmark.ts'
import { compare } from '../measure.ts'
import { startApi, underLoad } from '../world/api.ts'
import { prepareLoad, type LoadRequest } from '../world/load.ts'
import { openPopulation, pagePopulation, tenantId, userIdOf } from '../world/population.ts'
import { startProcess } from '../world/process.ts'
import { pageRequest, pageSize, randomPlace, type Place } from '../world/transaction-pages.ts'

const program = path.resolve(import.meta.dirname, '../programs/postgraphile.mjs')
const requestsTotal = 2_000

const query = `query Page($userId: String!, $after: Cursor) {
  allTransactions(condition: { tenantId: "${tenantId}", userId: $userId }, orderBy: [OCCURRED_AT_DESC, ROW_ID_DESC],
                  first: ${pageSize}, after: $after) {
    nodes { rowId connectionId providerId updatedAt document }
    pageInfo { hasNextPage endCursor }
  }
}`

export const peer: Benchmark = {
  name: 'peer',
  summary: 'the same pages of the same table by PostGraphile 5',
  async run(bench) {
    const population = pagePopulation(bench.size)
    const database = await openPopulation(bench, population)
    const api = await startApi(underLoad(database.url))
    bench.onEnd(() => api.stop())
    const words = [program, database.url]
    const postgraphile = await startProcess({ name: 'postgraphile', words, ready: /ready at (http\S+)/ })
    bench.onEnd(() => postgraphile.stop())
    const sides = { ours: api.url, theirs: postgraphile.ready }
    const toCursor = await findCursorShape(sides.theirs)

    const users = Array.from({ length: requestsTotal }, () => 1 + Math.floor(Math.random() * population.users))
    const first = users.map((user) => ({ user, after: undefined }))
    const deep = users.map((user) => ({ user, after: randomPlace() }))
    return [
      await comparePages(bench, sides, 'First pages of random users', first, toCursor),
      await comparePages(bench, sides, 'Pages at random depth', deep, toCursor),
    ]
  },
}

interface Wanted {
  user: number
  after: Place | undefined
}

type ToCursor = (wanted: Wanted) => string | undefined

async function comparePages(
  bench: Bench,
  sides: { ours: string; theirs: string },
  title: string,
  wanted: readonly Wanted[],
  toCursor: ToCursor,
): Promise<Finding> {
  const { seconds } = bench
  const ours = wanted.map(({ user, after }) => pageRequest(user, after))
  const theirs = wanted.map((one) => peerRequest(one.user, toCursor(one)))
  const api = await prepareLoad('peer.api', { url: sides.ours, seconds, requests: ours })
  const postgraphile = await prepareLoad('peer.postgraphile', { url: sides.theirs, seconds, requests: theirs })
  const measured = await compare(
    { name: 'api', run: async () => (await api()).perSecond },
    { name: 'postgraphile', run: async () => (await postgraphile()).perSecond },
    bench,
  )
  return { title: `${title}, ${pageSize} rows each`, unit: 'pages/s', measured, goal: { atLeast: 4 }, notes: [] }
}

function peerRequest(user: number, after: string | undefined): LoadRequest {
  const variables = { userId: userIdOf(user), after: after ?? null }
  return {
    method: 'POST',
    path: '/graphql',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  }
}

/** Its cursor is base64 of [digest of the order, occurred_at, id, tenant, user, id]: learned from a real one. */
async function findCursorShape(url: string): Promise<ToCursor> {
  const { path: target, method, headers, body } = peerRequest(1, undefined)
  const response = await fetch(`${url}${target}`, { method, headers, body: body ?? null })
  const answer = (await response.json()) as { data: { allTransactions: { pageInfo: { endCursor: string } } } }
  const real = answer.data.allTransactions.pageInfo.endCursor
  const [digest, ...values] = JSON.parse(Buffer.from(real, 'base64').toString()) as string[]
  if (values.length !== 5) throw new Error(`PostGraphile changed its cursors: ${JSON.stringify(values)}`)
  return ({ user, after }) => {
    if (after === undefined) return undefined
    const { occurredAt, id } = after
    const place = [digest, occurredAt.replace('Z', '000+00:00'), id, tenantId, userIdOf(user), id]
    return Buffer.from(JSON.stringify(place)).toString('base64')
  }
}
