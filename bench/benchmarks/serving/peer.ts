/**
 * peer: the same pages of the same table by PostGraphile 5, one process each. It runs twice: with first pages, where
 * the peer is at its best (its cursors become an OR of comparisons, which PostgreSQL cannot use as a range of the
 * index), and with pages at random depth. The peer checks no token; ours does.
 */
import path from 'node:path'
import type { Bench, Benchmark, Finding } from '../../benchmark.ts'
import { compare } from '../../measure.ts'
import { startApi, underLoad } from '../../world/api.ts'
import { describeCpus, loadedSide, type LoadedServer, type LoadRequest } from '../../world/measuring/load.ts'
import { userKeyOf } from '../../world/people.ts'
import { openPopulation, pagePopulation } from '../../world/population.ts'
import { startProcess } from '../../world/process.ts'
import { pageRequest, pageSize, randomPages, type Wanted } from '../../world/transaction-pages.ts'

const program = path.resolve(import.meta.dirname, '../../programs/postgraphile.mjs')
const requestsTotal = 2_000

const query = `query Page($userKey: BigInt!, $after: Cursor) {
  allTransactions(condition: { userKey: $userKey }, orderBy: [OCCURRED_AT_DESC, ROW_ID_DESC],
                  first: ${pageSize}, after: $after) {
    nodes { rowId connectionKey providerId updatedAt document }
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
    const servers = { ours: api, theirs: { ...postgraphile, url: postgraphile.ready } }
    const toCursor = await findCursorShape(servers.theirs.url)

    const deep = randomPages(population.users, requestsTotal)
    const first = deep.map(({ user }) => ({ user, after: undefined }))
    return [
      await comparePages(bench, servers, 'First pages of random users', first, toCursor),
      await comparePages(bench, servers, 'Pages at random depth', deep, toCursor),
    ]
  },
}

type ToCursor = (wanted: Wanted) => string | undefined

async function comparePages(
  bench: Bench,
  servers: Record<'ours' | 'theirs', LoadedServer['server']>,
  title: string,
  wanted: readonly Wanted[],
  toCursor: ToCursor,
): Promise<Finding> {
  const { seconds } = bench
  const theirs = wanted.map((one) => peerRequest(one.user, toCursor(one)))
  const api = await loadedSide({ name: 'api', server: servers.ours, requests: wanted.map(pageRequest), seconds })
  const postgraphile = await loadedSide({ name: 'postgraphile', server: servers.theirs, requests: theirs, seconds })
  const measured = await compare(api, postgraphile, bench)
  const notes = [describeCpus([api, postgraphile])]
  return { title: `${title}, ${pageSize} rows each`, unit: 'pages/s', measured, goal: { atLeast: 3 }, notes }
}

function peerRequest(user: number, after: string | undefined): LoadRequest {
  const variables = { userKey: userKeyOf(user), after: after ?? null }
  return {
    method: 'POST',
    path: '/graphql',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  }
}

interface PeerPage {
  data: { allTransactions: { nodes: { rowId: string }[]; pageInfo: { endCursor: string } } }
}

async function fetchPage(url: string, user: number, after: string | undefined): Promise<PeerPage> {
  const { path: target, method, headers, body } = peerRequest(user, after)
  const response = await fetch(`${url}${target}`, { method, headers, body: body ?? null })
  return (await response.json()) as PeerPage
}

/** Its cursor is base64 of [digest of the order, occurred_at, id, user_key, id], which we learn from a real one. */
async function findCursorShape(url: string): Promise<ToCursor> {
  const { pageInfo, nodes } = (await fetchPage(url, 1, undefined)).data.allTransactions
  const [digest, ...values] = JSON.parse(Buffer.from(pageInfo.endCursor, 'base64').toString()) as string[]
  const [, id, userKey, idAgain] = values
  if (values.length !== 4 || id !== nodes.at(-1)?.rowId || userKey !== userKeyOf(1) || idAgain !== id)
    throw new Error(`PostGraphile changed its cursors: ${JSON.stringify(values)}`)
  return ({ user, after }) => {
    if (after === undefined) return undefined
    const uuid = after.id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    const place = [digest, after.occurredAt.replace('Z', '000+00:00'), uuid, userKeyOf(user), uuid]
    return Buffer.from(JSON.stringify(place)).toString('base64')
  }
}
