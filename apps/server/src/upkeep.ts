/**
 * Upkeep runs every minute. It deletes what has lapsed (provisional connections with their keys and data, sessions,
 * codes, tokens) and brings statistics up to date. One job serves the whole fleet and queues itself again; the queue
 * keeps it through restarts, and a sandbox clock that jumps makes it due like every other job.
 *
 * Every step asks an index for what is due, so that a round with nothing to do costs the same for ten connections and
 * for a million. Each step is a bulkhead: a failure is logged, does not stop the other steps, and is retried in the
 * next round.
 */
import type { Logger } from 'pino'
import { chainAudit } from './audit-log/index.ts'
import { sweepConnect } from './connect/index.ts'
import type { Connections } from './connections/index.ts'
import type { Database, Sql } from './db/index.ts'
import { sweepFeed, type Statistics } from './enterprise/index.ts'
import { addJob, type Handler } from './jobs/index.ts'
import type { Ledger } from './ledger/index.ts'
import type { Oauth } from './oauth/index.ts'
import type { Prices } from './prices/index.ts'
import type { Sync } from './sync/index.ts'
import type { Webhooks } from './webhooks/index.ts'

export interface UpkeepDeps {
  db: Database
  connections: Pick<Connections, 'sweep' | 'removeAbandoned'>
  oauth: Pick<Oauth, 'sweep' | 'listLapsed' | 'markLapseSeen'>
  webhooks: Pick<Webhooks, 'sweep'>
  ledger: Pick<Ledger, 'sweep' | 'reprice'>
  prices: Pick<Prices, 'backfill'>
  sync: Pick<Sync, 'sweep'>
  statistics: Pick<Statistics, 'fold'>
  /** How long clients that follow changes have to read that something is gone. */
  removalsKeptMs: number
  /** How long a request can ask what was known of transactions at an earlier moment. */
  versionsKeptMs: number
  /** How long connections are kept after the last grant of their user has ended. */
  abandonedAfterMs: number
  log: Logger
}

const everyMs = 60_000
/** Grants that are looked at in one step. */
const abandonedBatchSize = 100

export async function queueUpkeep(sql: Sql, delayMs = 0): Promise<void> {
  await addJob(sql, 'upkeep', {}, { delayMs })
}

export function createUpkeep(deps: UpkeepDeps): Handler<'upkeep'> {
  const { db, log } = deps
  return async () => {
    // The next round is queued before this one begins, so that a failure costs one round and not all.
    await queueUpkeep(db, everyMs)
    const failed: string[] = []
    for (const [step, run] of Object.entries(stepsOf(deps))) {
      try {
        await run()
      } catch (error) {
        failed.push(step)
        log.error({ err: error, step }, 'upkeep step failed')
      }
    }
    if (failed.length > 0) throw new Error(`upkeep failed: ${failed.join(', ')}`)
  }
}

function stepsOf(deps: UpkeepDeps): Record<string, () => Promise<void>> {
  const { db, connections, oauth, sync, webhooks, ledger, prices, statistics } = deps
  return {
    connections: () => connections.sweep(),
    abandoned: () => removeAbandoned(deps),
    webhooks: () => webhooks.sweep(),
    ledger: () => ledger.sweep(deps),
    sessions: () => sweepConnect(db),
    sync: () => sync.sweep(),
    async oauth() {
      while ((await oauth.sweep()) > 0);
    },
    statistics: () => statistics.fold(),
    audit: () => chainAudit(db, deps.log),
    feed: () => sweepFeed(db, deps.removalsKeptMs),
    // Prices come last, because they wait for an outside source and no other step needs them.
    prices: () => prices.backfill(),
    reprice: () => ledger.reprice(),
  }
}

/** Removes connections of users whose last grant ended that long ago, in one transaction for each user. */
async function removeAbandoned({ db, oauth, connections, abandonedAfterMs }: UpkeepDeps): Promise<void> {
  const before = new Date(db.clock.now() - abandonedAfterMs).toISOString()
  for (;;) {
    // Each user is marked, so that the next step finds others. One tenant may end the consents of thousands in a day.
    const lapsed = await oauth.listLapsed(before, abandonedBatchSize)
    for (const owner of lapsed) {
      await db.transaction(async (tx) => {
        if (await oauth.markLapseSeen(tx, owner, before)) await connections.removeAbandoned(tx, owner)
      })
    }
    if (lapsed.length === 0) return
  }
}
