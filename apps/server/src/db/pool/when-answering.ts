/**
 * A start waits for its database, and begins again from its first step when the database dies at a later one. Every
 * step of a start may therefore be done twice.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isDatabaseAway } from '../away.ts'
import { errorCodeOf } from '../error-code.ts'
import type { DatabaseLog } from './pool.ts'
import type { Database } from '../sql.ts'

export interface Waiting {
  /** Left out when the database is known to have answered before. */
  db?: Pick<Database, 'rows'>
  log: DatabaseLog
  /** Ends the wait: the promise is then rejected with the signal's reason. */
  signal?: AbortSignal | undefined
}

/** For a database that has never answered: its address may be wrong, and the operator must learn about it. */
const patienceMs = 30_000
const pauseMs = 250
/** During a long outage, one log line in this time is enough. */
const logEveryMs = 5_000

/**
 * Retries `work` while the database is away; throws anything else at once. For a database that has answered once it
 * waits without a limit: a failover or crash recovery may take minutes, and a process that gave up would only have to
 * be started again.
 */
export async function whenAnswering<T>({ db, log, signal }: Waiting, work: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + patienceMs
  let hasAnswered = db === undefined
  let loggedAt = -Infinity
  for (;;) {
    signal?.throwIfAborted()
    try {
      await db?.rows('select 1')
      hasAnswered = true
      return await work()
    } catch (error) {
      hasAnswered ||= isRunningServer(error)
      if (!isDatabaseAway(error) || (!hasAnswered && performance.now() > giveUpAt)) throw error
      if (performance.now() - loggedAt > logEveryMs) {
        loggedAt = performance.now()
        log.warn({ err: error }, 'the database does not answer; the start waits for it')
      }
    }
    await delay(pauseMs, undefined, { signal }).catch(() => undefined)
  }
}

/** PostgreSQL itself says that it is starting, stopping, full (SQLSTATE classes 57P and 53) or a standby (25006). */
function isRunningServer(error: unknown): boolean {
  return /^(57P|53|25006)/.test(errorCodeOf(error) ?? '')
}
