/**
 * enterprise: a tenant's pages over all its users, against pgbench with the same query; and its statistics on a database
 * and on one with ten times the transactions.
 */
import { listEnterpriseTransactions as endpoint } from '@assay/contract'
import type { Sql } from '../../apps/server/src/db/index.ts'
import { listTransactions } from '../../apps/server/src/enterprise/transactions-store.ts'
import { subjectOf } from '../../apps/server/src/http/serve.ts'
import type { Bench, Benchmark, Finding } from '../benchmark.ts'
import { compare } from '../measure.ts'
import { startApi, underLoad } from '../world/api.ts'
import { measureLatency } from '../world/latency.ts'
import { prepareLoad, type LoadRequest } from '../world/load.ts'
import { captureStatement, preparePgbench, type PgbenchScript } from '../world/pgbench.ts'
import { clientId, openPopulation, tenantId, tenantToken, type Population } from '../world/population.ts'
import {
  capturedPage,
  pageExpressions,
  pageSize,
  randomHead,
  randomPlace,
  toCursor,
} from '../world/transaction-pages.ts'

const requestsTotal = 10_000
const statistics = ['users', 'accounts-by-provider', 'balances', 'top-assets']
const headers = { authorization: `Bearer ${tenantToken}` }

export const enterprise: Benchmark = {
  name: 'enterprise',
  summary: "a tenant's pages against pgbench, its statistics when the transactions grow tenfold",
  async run(bench) {
    const [small, large] = populationsOf(bench)
    const [few, many] = [await openPopulation(bench, small), await openPopulation(bench, large)]
    const [atFew, atMany] = [await startApi(underLoad(few.url)), await startApi(underLoad(many.url))]
    bench.onEnd(() => atFew.stop())
    bench.onEnd(() => atMany.stop())
    return [
      await comparePages(bench, atMany.url, many.url, large),
      ...(await compareStatistics(bench, { few: atFew.url, many: atMany.url }, small, large)),
    ]
  },
}

function populationsOf({ size }: Bench): [Population, Population] {
  const users = size === 'try' ? 100 : 10_000
  const transactionsEach = size === 'full' ? 100 : 10
  const small = { users, transactionsEach, positionsEach: 30 }
  return [small, { ...small, transactionsEach: transactionsEach * 10 }]
}

async function comparePages(
  bench: Bench,
  apiUrl: string,
  databaseUrl: string,
  { users, transactionsEach }: Population,
): Promise<Finding> {
  const requests = Array.from({ length: requestsTotal }, randomTenantPage)
  const load = await prepareLoad('enterprise', { url: apiUrl, seconds: bench.seconds, requests })
  const pgbench = preparePgbench('enterprise', databaseUrl, await tenantPageScript(), bench.seconds)
  const measured = await compare(
    { name: 'api', run: async () => (await load()).perSecond },
    { name: 'pgbench', run: pgbench },
    bench,
  )
  return {
    title: `GET ${endpoint.path} at random depth, ${users} users × ${transactionsEach} transactions`,
    unit: 'pages/s',
    measured,
    goal: { atLeast: 0.35 },
    notes: [],
  }
}

function randomTenantPage(): LoadRequest {
  const caller = { tenantId, clientId, userId: null, grantId: null, scopes: new Set<string>() }
  const cursor = toCursor(endpoint.id, subjectOf(caller), randomPlace())
  return { method: 'GET', path: `${endpoint.path}?limit=${pageSize}&cursor=${cursor}`, headers }
}

async function tenantPageScript(): Promise<PgbenchScript> {
  const send = (sql: Sql): Promise<unknown> => listTransactions(sql, '{tenant}', capturedPage)
  return { head: randomHead(1), statement: await captureStatement(send, pageExpressions) }
}

async function compareStatistics(
  bench: Bench,
  urls: { few: string; many: string },
  small: Population,
  large: Population,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const name of statistics) {
    const request: LoadRequest = { method: 'GET', path: `/enterprise/v2/stats/${name}`, headers }
    const seconds = bench.seconds / 4
    const measured = await compare(
      {
        name: `${large.users * large.transactionsEach} transactions`,
        run: () => measureLatency(urls.many, request, seconds),
      },
      {
        name: `${small.users * small.transactionsEach} transactions`,
        run: () => measureLatency(urls.few, request, seconds),
      },
      bench,
    )
    findings.push({ title: request.path, unit: 'ms (p50)', measured, goal: { atMost: 1.5 }, notes: [] })
  }
  return findings
}
