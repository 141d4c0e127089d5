/**
 * pages: what a page costs through the whole service (HTTP, the check of the token, admission, the query, the text),
 * against a bare prototype that serves the same data with Fastify and one statement, and against what PostgreSQL alone
 * gives to pgbench with the API's own statement.
 */
import type { Benchmark } from '../../benchmark.ts'
import { measureAll, toComparison, compare } from '../../measure.ts'
import { startApi, underLoad, checkSameData, startPrototype } from '../../world/api.ts'
import { apiConnections, describeCpus, loadedSide } from '../../world/measuring/load.ts'
import { pgbenchClients, preparePgbench } from '../../world/measuring/pgbench.ts'
import { openPopulation, pagePopulation } from '../../world/population.ts'
import {
  pageRequest,
  pageScript,
  pageSize,
  prototypePageRequest,
  randomPages,
  type TransactionPoint,
} from '../../world/transaction-pages.ts'
import { measureLatency } from '../../world/measuring/latency.ts'
import { userKeyOf } from '../../world/people.ts'

const requestsTotal = 10_000

export const pages: Benchmark = {
  name: 'pages',
  summary: 'transaction pages at random depth, against a bare prototype and against pgbench',
  async run(bench) {
    const { seconds } = bench
    const population = pagePopulation(bench.size)
    const database = await openPopulation(bench, population)
    const api = await startApi(underLoad(database.url))
    bench.onEnd(() => api.stop())
    const prototype = await startPrototype(database.url)
    bench.onEnd(() => prototype.stop())

    const wanted = randomPages(population.users, requestsTotal)
    const ours = { server: api, requests: wanted.map(pageRequest) }
    const theirs = { server: prototype, requests: wanted.map(prototypePageRequest) }
    await checkSameData(ours, theirs)
    const apiSide = await loadedSide({ name: 'api', ...ours, seconds })
    const bareSide = await loadedSide({ name: 'prototype', ...theirs, seconds })
    const run = preparePgbench('pages', database.url, await pageScript(population.users), seconds)
    const [mine, bare, alone] = await measureAll([apiSide, bareSide, { name: 'pgbench', run }], bench)

    const { users, transactionsEach } = population
    const title = `Pages of ${pageSize} at random depth, ${users} users × ${transactionsEach} transactions`
    const unit = 'pages/s'
    const notes = [`One process each, under ${apiConnections} connections.`, describeCpus([apiSide, bareSide])]
    const aloneNotes = [`pgbench -M prepared with ${pgbenchClients} clients and the API's own statement.`]
    return [
      { title, unit, measured: toComparison(mine, bare), goal: { atLeast: 0.8 }, notes },
      { title: 'The same pages', unit, measured: toComparison(mine, alone), goal: undefined, notes: aloneNotes },
    ]
  },
}

/**
 * depth: the first page and the last one of a long history must cost the same. One request at a time: latency alone.
 */
const user = 1

export const depth: Benchmark = {
  name: 'depth',
  summary: 'page 1 against the last page of one long history',
  async run(bench) {
    const transactionsEach = bench.size === 'try' ? 20_000 : 1_000_000
    const database = await openPopulation(bench, { users: 1, transactionsEach, positionsEach: 0 })
    const api = await startApi(underLoad(database.url))
    bench.onEnd(() => api.stop())

    // The row before the last page: what follows it is one page, full and without a next.
    const { occurred_at: occurredAt, id } = await database.db.row<{ occurred_at: string; id: string }>(
      'select occurred_at, id from transactions where user_key = $1 order by occurred_at, id offset $2 limit 1',
      [userKeyOf(user), pageSize],
    )
    const medianOf = async (after: TransactionPoint | undefined): Promise<number> =>
      measureLatency(api.url, pageRequest({ user, after }), bench.seconds / 2)
    const measured = await compare(
      { name: 'last page', run: () => medianOf({ occurredAt, id }) },
      { name: 'page 1', run: () => medianOf(undefined) },
      bench,
    )
    return [
      {
        title: `Page 1 and the last page of ${transactionsEach} transactions, one request at a time`,
        unit: 'ms (p50)',
        measured,
        goal: { atMost: 1.1 },
        notes: [],
      },
    ]
  },
}
