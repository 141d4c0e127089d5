/** assets: all positions of a user by v1, against pgbench with the statement behind them. */
import { listAssetsV1 } from '@assay/contract'
import { readSourcePositions } from '../../../apps/server/src/portfolio/positions-store.ts'
import type { Benchmark } from '../../benchmark.ts'
import { compare } from '../../measure.ts'
import { startApi, underLoad } from '../../world/api.ts'
import { apiConnections, describeCpus, loadedSide, type LoadRequest } from '../../world/measuring/load.ts'
import { accessTokenOf } from '../../world/people.ts'
import { captureScript, pgbenchClients, preparePgbench, type PgbenchScript } from '../../world/measuring/pgbench.ts'
import { openPopulation, pagePopulation } from '../../world/population.ts'
import { capturedAccess, setRandomUser, userExpressions } from '../../world/transaction-pages.ts'

export const assets: Benchmark = {
  name: 'assets',
  summary: 'all positions of a user, against pgbench with the same statement',
  async run(bench) {
    const population = pagePopulation(bench.size)
    const database = await openPopulation(bench, population)
    const api = await startApi(underLoad(database.url))
    bench.onEnd(() => api.stop())

    const requests = Array.from({ length: population.users }, (_, index) => assetsRequest(index + 1))
    const side = await loadedSide({ name: 'api', server: api, requests, seconds: bench.seconds })
    const run = preparePgbench('assets', database.url, await assetsScript(population.users), bench.seconds)
    const measured = await compare(side, { name: 'pgbench', run }, bench)
    return [
      {
        title: `GET ${listAssetsV1.path} of users with ${population.positionsEach} positions`,
        unit: 'answers/s',
        measured,
        goal: { atLeast: 0.3 },
        notes: [
          `One API process under ${apiConnections} connections; pgbench -M prepared with ${pgbenchClients} clients and the API's own statement.`,
          describeCpus([side]),
        ],
      },
    ]
  },
}

function assetsRequest(user: number): LoadRequest {
  return { method: 'GET', path: listAssetsV1.path, headers: { authorization: `Bearer ${accessTokenOf(user)}` } }
}

async function assetsScript(users: number): Promise<PgbenchScript> {
  const request = { limit: undefined, after: undefined }
  return captureScript(setRandomUser(users), userExpressions, (sql) =>
    readSourcePositions(sql, capturedAccess, request),
  )
}
