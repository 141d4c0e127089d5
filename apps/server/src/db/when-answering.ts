/** A machine that boots starts everything at once, and the database may be the last to be ready: a start waits for it. */
import { setTimeout as delay } from 'node:timers/promises'
import { isDatabaseAway } from './away.ts'
import type { DatabaseLog } from './pool.ts'

const patienceMs = 30_000
const pauseMs = 500

/** `work` is tried again while the database is away; anything else is thrown at once. */
export async function whenAnswering<T>(log: DatabaseLog, work: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > giveUpAt) throw error
      log.warn({ err: error }, 'the database does not answer yet; it is tried again')
      await delay(pauseMs)
    }
  }
}
