/** growth: the same pages from a small and from a large database. The work is the same; only the indexes are deeper. */
import type { Bench, Benchmark } from '../../benchmark.ts'
import { compare } from '../../measure.ts'
import { startApi, underLoad } from '../../world/api.ts'
import { loadedSide } from '../../world/measuring/load.ts'
import { openPopulation, pagePopulation, type Population } from '../../world/population.ts'
import { pageRequest, pageSize, randomPages } from '../../world/transaction-pages.ts'

const requestsTotal = 10_000

export const growth: Benchmark = {
  name: 'growth',
  summary: 'pages at 200 thousand rows and at many more (10 million with --full)',
  async run(bench) {
    const [small, large] = populationsOf(bench)
    const rows = (population: Population): number => population.users * population.transactionsEach
    const measured = await compare(
      { name: `${rows(large)} rows`, run: await startSide(bench, large) },
      { name: `${rows(small)} rows`, run: await startSide(bench, small) },
      bench,
    )
    return [
      {
        title: `Pages of ${pageSize} at random depth in a small and a large database`,
        unit: 'ms a page, of one API process under load',
        measured,
        goal: { atMost: 1.25 },
        notes: [],
      },
    ]
  },
}

function populationsOf({ size }: Bench): [Population, Population] {
  if (size === 'try') return [{ ...pagePopulation(size), users: 10 }, pagePopulation(size)]
  const small = { ...pagePopulation(size), users: 40 }
  return [small, size === 'full' ? { ...small, users: 2_000 } : pagePopulation(size)]
}

async function startSide(bench: Bench, population: Population): Promise<() => Promise<number>> {
  const database = await openPopulation(bench, population)
  const api = await startApi(underLoad(database.url))
  bench.onEnd(() => api.stop())
  const requests = randomPages(population.users, requestsTotal).map(pageRequest)
  const side = await loadedSide({
    name: `growth of ${population.users}`,
    server: api,
    requests,
    seconds: bench.seconds,
  })
  return async () => 1_000 / (await side.run())
}
