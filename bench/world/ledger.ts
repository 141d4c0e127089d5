/**
 * Histories that the product itself read, kept and derived, for benchmarks of what it stores: the user `one` has an
 * account with 100,000 ledger entries (53,000 transactions), and with `--full` the user `others` has nine more. They
 * are read once for each run of the program.
 */
import type { Bench } from '../benchmark.ts'
import { startInstallation } from './installation.ts'
import type { BenchDatabase } from './postgres.ts'

/** How many accounts each user has. */
export function ledgerUsers({ size }: Pick<Bench, 'size'>): ReadonlyMap<string, number> {
  return new Map<string, number>([['one', 1], ...(size === 'full' ? ([['others', 9]] as const) : [])])
}

export async function openLedger(bench: Bench): Promise<BenchDatabase> {
  const postgres = await bench.postgres()
  return postgres.sharedDatabase('bench_ledger', async (database) => {
    const installation = await startInstallation(database, bench.say)
    try {
      const worker = await installation.startWorker()
      try {
        for (const [user, accounts] of ledgerUsers(bench)) {
          for (let account = 1; account <= accounts; account += 1) {
            const token = await installation.newToken(user)
            await installation.connect(token, await installation.sandbox.newAccount(scenarioOf(bench)))
          }
        }
      } finally {
        await worker.stop()
      }
    } finally {
      await installation.stop()
    }
    await database.db.execute('vacuum analyze')
  })
}

const scenarioOf = ({ size }: Bench): string => (size === 'try' ? 'default' : 'large')
