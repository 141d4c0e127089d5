/**
 * enterprise: a tenant's pages over all its users, against a bare prototype and against pgbench with the API's own
 * statement; and the statistics of a tenant, against those of one with a tenth of the transactions.
 */
import { listEnterpriseTransactions as endpoint } from '@assay/contract'
import type { Bench, Benchmark, Finding } from '../../benchmark.ts'
import { compare, measureAll, toComparison } from '../../measure.ts'
import { startApi, underLoad, checkSameData, startPrototype, type Api } from '../../world/api.ts'
import { measureLatency } from '../../world/measuring/latency.ts'
import { describeCpus, loadedSide, type LoadRequest } from '../../world/measuring/load.ts'
import { tenantToken } from '../../world/people.ts'
import { preparePgbench } from '../../world/measuring/pgbench.ts'
import { openPopulation, type Population } from '../../world/population.ts'
import type { BenchDatabase } from '../../world/postgres.ts'
import {
  prototypeTenantPageRequest,
  randomPoint,
  tenantPageRequest,
  tenantPageScript,
} from '../../world/transaction-pages.ts'

const requestsTotal = 10_000
const statistics = ['users', 'accounts-by-provider', 'balances', 'top-assets']

export const enterprise: Benchmark = {
  name: 'enterprise',
  summary: "a tenant's pages against a prototype and pgbench, its statistics with ten times the transactions",
  async run(bench) {
    const [small, large] = populationsOf(bench)
    const [few, many] = [await openPopulation(bench, small), await openPopulation(bench, large)]
    const [atFew, atMany] = [await startApi(underLoad(few.url)), await startApi(underLoad(many.url))]
    bench.onEnd(() => atFew.stop())
    bench.onEnd(() => atMany.stop())
    return [
      ...(await comparePages(bench, atMany, many, large)),
      ...(await compareStatistics(bench, { few: atFew.url, many: atMany.url }, small, large)),
    ]
  },
}

function populationsOf({ size }: Bench): [Population, Population] {
  const users = size === 'try' ? 100 : 10_000
  const transactionsEach = size === 'full' ? 100 : 5
  const small = { users, transactionsEach, positionsEach: 30 }
  return [small, { ...small, transactionsEach: transactionsEach * 10 }]
}

async function comparePages(
  bench: Bench,
  api: Api,
  { url }: BenchDatabase,
  { users, transactionsEach }: Population,
): Promise<Finding[]> {
  const { seconds } = bench
  const prototype = await startPrototype(url)
  bench.onEnd(() => prototype.stop())
  const places = Array.from({ length: requestsTotal }, randomPoint)
  const ours = { server: api, requests: places.map(tenantPageRequest) }
  const theirs = { server: prototype, requests: places.map(prototypeTenantPageRequest) }
  await checkSameData(ours, theirs)
  const apiSide = await loadedSide({ name: 'api', ...ours, seconds })
  const bareSide = await loadedSide({ name: 'prototype', ...theirs, seconds })
  const run = preparePgbench('enterprise', url, await tenantPageScript(), seconds)
  const [mine, bare, alone] = await measureAll([apiSide, bareSide, { name: 'pgbench', run }], bench)
  const title = `GET ${endpoint.path} at random depth, ${users} users × ${transactionsEach} transactions`
  const unit = 'pages/s'
  const notes = [describeCpus([apiSide, bareSide])]
  return [
    { title, unit, measured: toComparison(mine, bare), goal: { atLeast: 0.8 }, notes },
    { title: 'The same pages', unit, measured: toComparison(mine, alone), goal: undefined, notes: [] },
  ]
}

async function compareStatistics(
  bench: Bench,
  urls: { few: string; many: string },
  small: Population,
  large: Population,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const name = ({ users, transactionsEach }: Population): string => `${users * transactionsEach} transactions`
  for (const statistic of statistics) {
    const headers = { authorization: `Bearer ${tenantToken}` }
    const request: LoadRequest = { method: 'GET', path: `/enterprise/v2/stats/${statistic}`, headers }
    const seconds = bench.seconds / 4
    const measured = await compare(
      { name: name(large), run: () => measureLatency(urls.many, request, seconds) },
      { name: name(small), run: () => measureLatency(urls.few, request, seconds) },
      bench,
    )
    findings.push({ title: request.path, unit: 'ms (p50)', measured, goal: { atMost: 1.5 }, notes: [] })
  }
  return findings
}
