/**
 * What has to be cleared away, a minute after it has lapsed at the latest: provisional connections with their keys and
 * data, sessions, codes, tokens; and statistics to be brought up to date. One job for the whole fleet, which queues itself again; the queue keeps it through
 * restarts, and a sandbox clock that jumps makes it due like everything else.
 */
import { sweepConnect } from './connect/index.ts'
import type { Connections } from './connections/index.ts'
import type { Database, Sql } from './db/index.ts'
import type { Statistics } from './enterprise/index.ts'
import { addJob, type Task } from './jobs/index.ts'
import type { Ledger } from './ledger/index.ts'
import type { Oauth } from './oauth/index.ts'
import type { Prices } from './prices/index.ts'
import type { Webhooks } from './webhooks/index.ts'
import type { Sync } from './sync/index.ts'

export interface UpkeepDeps {
  db: Database
  connections: Pick<Connections, 'sweep'>
  oauth: Pick<Oauth, 'sweep'>
  webhooks: Pick<Webhooks, 'sweep'>
  ledger: Pick<Ledger, 'sweep' | 'reprice'>
  prices: Pick<Prices, 'backfill'>
  sync: Pick<Sync, 'sweep'>
  statistics: Pick<Statistics, 'fold'>
}

const everyMs = 60_000

export async function queueUpkeep(sql: Sql, delayMs = 0): Promise<void> {
  await addJob(sql, { task: 'upkeep', payload: {}, key: 'upkeep', delayMs })
}

export function createUpkeep(deps: UpkeepDeps): Task {
  const { db, connections, oauth, sync, webhooks, ledger, prices, statistics } = deps
  return async () => {
    // The next round is certain before this one begins: a failure costs one round, not all.
    await queueUpkeep(db, everyMs)
    await connections.sweep()
    await webhooks.sweep()
    await ledger.sweep()
    await sweepConnect(db)
    await sync.sweep()
    while ((await db.transaction(oauth.sweep)) > 0);
    await statistics.fold()
    // Last: it waits for a source outside, and nothing here waits for it.
    await prices.backfill()
    await ledger.reprice()
  }
}
