/**
 * What every worker does periodically beside its jobs. graphile-worker does not notice that a worker was killed: its
 * locks, and the locks of its lanes, stay for four hours (measured). So every worker writes a heartbeat, and every
 * worker frees the locks of silent workers. A worker is named as graphile-worker names its locks: by the id of its
 * pool.
 *
 *   beat every silentAfter/6 · sweep at start and every silentAfter/2 · free workers that are silent for silentAfter
 */
import type { Logger } from 'pino'
import type { Database } from '../db/index.ts'
import * as store from './queue-store.ts'

export interface Rounds {
  stop(): Promise<void>
}

/** As many as a worker runs at a time by default. */
const raisedMax = 4

/** The workers of this process. */
export interface OwnWorkers {
  live: Set<string>
  /**
   * Those that were replaced because the database was away, with the time by performance.now(). This process lives, so
   * their jobs killed nothing: it frees them itself, and until then it beats for them, or another process would count a
   * death.
   */
  replaced: Map<string, number>
}

const listOwn = ({ live, replaced }: OwnWorkers): string[] => [...live, ...replaced.keys()]

export function startRounds(
  { db, silentAfterMs, log }: { db: Database; silentAfterMs: number; log: Logger },
  own: OwnWorkers,
): Rounds {
  const beat = repeat(silentAfterMs / 6, log, () => store.writeHeartbeats(db, listOwn(own)))
  const sweep = repeat(silentAfterMs / 2, log, async () => {
    await freeReplaced(db, silentAfterMs, own)
    await freeSilentWorkers(db, silentAfterMs, listOwn(own), log)
    await store.forgetLongSilent(db)
    await store.forgetDeaths(db)
    await store.freeOrphanedLanes(db)
    await store.deleteReplaced(db)
    await store.capRetries(db)
    await store.bringUpkeepBack(db)
    await store.endYielding(db)
    await store.raiseOverdue(db, raisedMax)
  })
  return {
    async stop() {
      await Promise.all([beat.stop(), sweep.stop()])
    },
  }
}

async function freeReplaced(db: Database, silentAfterMs: number, { replaced }: OwnWorkers): Promise<void> {
  for (const [id, replacedAtMs] of replaced) {
    if (performance.now() - replacedAtMs < silentAfterMs) continue
    await store.unlockWorkers(db, [id])
    replaced.delete(id)
    await store.forgetWorkers(db, [id])
  }
}

/** When all of them have ended. */
export async function forgetOwn(db: Database, own: OwnWorkers): Promise<void> {
  await store.unlockWorkers(db, [...own.replaced.keys()])
  await store.forgetWorkers(db, listOwn(own))
}

/**
 * Workers in `ownIds` are never silent, whatever their heartbeats say. On a busy machine heartbeats may come late, and
 * a worker that freed its own lock would run the same job twice at once.
 */
export async function freeSilentWorkers(
  db: Database,
  silentAfterMs: number,
  ownIds: readonly string[],
  log: Logger,
): Promise<void> {
  await store.bringHeartbeatsBack(db)
  const workerIds = await store.listSilent(db, silentAfterMs, { except: ownIds })
  if (workerIds.length === 0) return
  const deadly = await db.transaction((tx) => store.freeJobs(tx, workerIds))
  await store.forgetWorkers(db, workerIds)
  log.warn({ workerIds }, 'freed the jobs of workers that fell silent')
  for (const { key, deaths } of deadly)
    log.error({ key, deaths }, 'put a job aside that was running each time when workers died')
}

/**
 * The next round begins when the last has ended. A failed round (the database is unreachable) is only logged, because
 * the next one follows.
 */
export function repeat(everyMs: number, log: Logger, round: () => Promise<void>): { stop(): Promise<void> } {
  let stopped = false
  let wake: () => void = () => undefined
  const loop = async (): Promise<void> => {
    while (!stopped) {
      await round().catch((error: unknown) => log.warn({ err: error }, 'periodic round failed'))
      if (stopped) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  const running = loop()
  return {
    async stop() {
      stopped = true
      wake()
      await running
    },
  }
}
