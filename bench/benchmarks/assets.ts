/** assets: all positions of a user by v1, against pgbench with the statement behind them. */
import { listAssetsV1 } from '@assay/contract'
import { listSourcePositions } from '../../apps/server/src/ledger/holdings-store.ts'
import type { Benchmark } from '../benchmark.ts'
import { compare } from '../measure.ts'
import { startApi, underLoad } from '../world/api.ts'
import { apiConnections, prepareLoad, type LoadRequest } from '../world/load.ts'
import { captureStatement, pgbenchClients, preparePgbench, type PgbenchScript } from '../world/pgbench.ts'
import { accessTokenOf, openPopulation, pagePopulation } from '../world/population.ts'
import { pageExpressions } from '../world/transaction-pages.ts'

export const assets: Benchmark = {
  name: 'assets',
  summary: 'all positions of a user, against pgbench with the same query',
  async run(bench) {
    const population = pagePopulation(bench.size)
    const database = await openPopulation(bench, population)
    const api = await startApi(underLoad(database.url))
    bench.onEnd(() => api.stop())

    const requests = Array.from({ length: population.users }, (_, index) => assetsRequest(index + 1))
    const load = await prepareLoad('assets', { url: api.url, seconds: bench.seconds, requests })
    const pgbench = preparePgbench('assets', database.url, await assetsScript(population.users), bench.seconds)
    const measured = await compare(
      { name: 'api', run: async () => (await load()).perSecond },
      { name: 'pgbench', run: pgbench },
      bench,
    )
    return [
      {
        title: `GET ${listAssetsV1.path} of users with ${population.positionsEach} positions`,
        unit: 'answers/s',
        measured,
        goal: { atLeast: 0.3 },
        notes: [
          `One API process under ${apiConnections} connections; pgbench -M prepared with ${pgbenchClients} clients.`,
        ],
      },
    ]
  },
}

function assetsRequest(user: number): LoadRequest {
  return { method: 'GET', path: listAssetsV1.path, headers: { authorization: `Bearer ${accessTokenOf(user)}` } }
}

async function assetsScript(users: number): Promise<PgbenchScript> {
  const owner = { tenantId: '{tenant}', userId: '{user}' }
  const request = { limit: undefined, after: undefined }
  const statement = await captureStatement((sql) => listSourcePositions(sql, owner, request), pageExpressions)
  return { head: `\\set user random(1, ${users})`, statement }
}
