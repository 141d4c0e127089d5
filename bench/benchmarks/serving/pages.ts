/**
 * pages: what a page costs through the whole service (HTTP, the check of the token, admission, the query, the text),
 * against a bare prototype that serves the same data with Fastify and one statement, and against what PostgreSQL alone
 * gives to pgbench with the API's own statement.
 */
import type { Benchmark } from '../../benchmark.ts'
import { measureAll, toComparison } from '../../measure.ts'
import { startApi, underLoad } from '../../world/api.ts'
import { apiConnections, describeCpus, loadedSide } from '../../world/measuring/load.ts'
import { pgbenchClients, preparePgbench } from '../../world/measuring/pgbench.ts'
import { openPopulation, pagePopulation } from '../../world/population.ts'
import { checkSameData, startPrototype } from '../../world/prototype.ts'
import { pageRequest, pageScript, pageSize, prototypePageRequest, randomPages } from '../../world/transaction-pages.ts'

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
