/**
 * pages: what a page costs through the whole service (HTTP, the token check, admission, the query, the text) against
 * what PostgreSQL alone can give, asked by pgbench for the same rows with the same prepared statement.
 */
import type { Benchmark } from '../benchmark.ts'
import { compare } from '../measure.ts'
import { startApi, underLoad } from '../world/api.ts'
import { apiConnections, prepareLoad } from '../world/load.ts'
import { pgbenchClients, preparePgbench } from '../world/pgbench.ts'
import { openPopulation, pagePopulation } from '../world/population.ts'
import { pageScript, pageSize, randomPage } from '../world/transaction-pages.ts'

const requestsTotal = 10_000

export const pages: Benchmark = {
  name: 'pages',
  summary: 'transaction pages at random depth, against pgbench with the same query',
  async run(bench) {
    const population = pagePopulation(bench.size)
    const database = await openPopulation(bench, population)
    const api = await startApi(underLoad(database.url))
    bench.onEnd(() => api.stop())

    const requests = Array.from({ length: requestsTotal }, () => randomPage(population.users))
    const load = await prepareLoad('pages', { url: api.url, seconds: bench.seconds, requests })
    const pgbench = preparePgbench('pages', database.url, await pageScript(population.users), bench.seconds)
    const measured = await compare(
      { name: 'api', run: async () => (await load()).perSecond },
      { name: 'pgbench', run: pgbench },
      bench,
    )
    return [
      {
        title: `Pages of ${pageSize} at random depth, ${population.users} users × ${population.transactionsEach} transactions`,
        unit: 'pages/s',
        measured,
        goal: { atLeast: 0.35 },
        notes: [
          `One API process under ${apiConnections} connections; pgbench -M prepared with ${pgbenchClients} clients.`,
        ],
      },
    ]
  },
}
