/**
 * derive: stored raw records become transactions again, as after a change of the rules: read, grouped, priced, rendered
 * and compared with what is stored. A worker does it, asked by a refresh, which also reads the last hour of the ledger.
 */
import type { Benchmark } from '../../benchmark.ts'
import { measure, median } from '../../measure.ts'
import { show } from '../../report.ts'
import { startInstallation } from '../../world/installation.ts'
import { ledgerUsers, openLedger } from '../../world/ledger.ts'
import { cpuSecondsOf } from '../../world/process.ts'

/** Makes all groups due, like a page of new records does (ledger/records/raw-store.ts). */
export const makeAllDue = `
  insert into due_groups (user_key, connection_key, group_key, stream, partition, occurred_at, oldest_at, mark)
  select user_key, connection_key, group_key, max(stream), max(partition), max(occurred_at), min(occurred_at), 1
  from raw_records group by 1, 2, 3`

export const derive: Benchmark = {
  name: 'derive',
  summary: 'replay of stored raw records',
  async run(bench) {
    const database = await openLedger(bench)
    const { db } = database
    const installation = await startInstallation(database, bench.say)
    bench.onEnd(() => installation.stop())
    const worker = await installation.startWorker()
    bench.onEnd(() => worker.stop())
    const { records } = await db.row<{ records: number }>('select count(*)::int as records from raw_records')

    const cpuShares: number[] = []
    const replay = async (): Promise<number> => {
      await db.execute('vacuum due_groups')
      await db.execute(makeAllDue)
      await db.execute('analyze due_groups')
      const tokens = await Promise.all([...ledgerUsers(bench).keys()].map((user) => installation.newToken(user)))
      const [cpuBefore, began] = [cpuSecondsOf(worker.pid), performance.now()]
      await installation.refresh(...tokens)
      const seconds = (performance.now() - began) / 1_000
      const { left } = await db.row<{ left: number }>('select count(*)::int as left from due_groups')
      if (left > 0) throw new Error(`${left} groups were not derived`)
      cpuShares.push((cpuSecondsOf(worker.pid) - cpuBefore) / seconds)
      return records / seconds
    }
    const measured = await measure({ name: 'one worker', run: replay }, bench)
    const busy = show(median(cpuShares.slice(1)) * 100)
    return [
      {
        title: `Replay of ${records} raw records of the simulated Kraken`,
        unit: 'records/s',
        measured,
        goal: { atLeast: 20_000 },
        notes: [`The worker had its processor for ${busy} % of the time; for the rest it waited for PostgreSQL.`],
      },
    ]
  },
}
