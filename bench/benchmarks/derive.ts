/**
 * derive: stored raw records become transactions again, as after a change of the rules: read, grouped, priced, rendered
 * and compared with what is there. By a worker, asked for by a refresh, which also reads the last hour of the ledger.
 */
import type { Bench, Benchmark } from '../benchmark.ts'
import { measure, median } from '../measure.ts'
import { show } from '../report.ts'
import { startInstallation, type Installation } from '../world/installation.ts'
import { cpuSecondsOf } from '../world/process.ts'

/** Of 100,000 ledger entries each. */
const accountsFull = 10

export const derive: Benchmark = {
  name: 'derive',
  summary: 'replay of stored raw records',
  async run(bench) {
    const database = await (await bench.postgres()).newDatabase('bench_derive')
    const installation = await startInstallation(bench, database)
    const worker = await installation.startWorker()
    bench.onEnd(() => worker.stop())
    await readAccounts(bench, installation)
    const { db } = database
    const { records } = await db.row<{ records: number }>('select count(*)::int as records from raw_records')

    const cpuShares: number[] = []
    const replay = async (): Promise<number> => {
      await db.execute('update raw_records set derived = false')
      await db.execute('vacuum analyze')
      const token = await installation.newToken(user)
      const [cpuBefore, began] = [cpuSecondsOf(worker.pid), performance.now()]
      await installation.refresh(token)
      const seconds = (performance.now() - began) / 1_000
      const { left } = await db.row<{ left: number }>('select count(*)::int as left from raw_records where not derived')
      if (left > 0) throw new Error(`${left} records were not derived`)
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

const user = 'replay'

async function readAccounts({ size, say }: Bench, { sandbox, ...assay }: Installation): Promise<void> {
  const accounts = size === 'full' ? accountsFull : 1
  for (let account = 1; account <= accounts; account += 1) {
    say(`reading account ${account} of ${accounts}`)
    const token = await assay.newToken(user)
    await assay.connect(token, await sandbox.newAccount(size === 'try' ? 'default' : 'large'))
  }
}
