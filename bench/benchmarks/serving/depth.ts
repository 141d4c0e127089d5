/**
 * depth: the first page and the last one of a long history must cost the same. One request at a time: latency alone.
 */
import type { Benchmark } from '../../benchmark.ts'
import { compare } from '../../measure.ts'
import { startApi, underLoad } from '../../world/api.ts'
import { measureLatency } from '../../world/measuring/latency.ts'
import { userKeyOf } from '../../world/people.ts'
import { openPopulation } from '../../world/population.ts'
import { pageRequest, pageSize, type Place } from '../../world/transaction-pages.ts'

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
    const medianOf = async (after: Place | undefined): Promise<number> =>
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
