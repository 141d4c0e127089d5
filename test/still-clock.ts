/**
 * A clock that stands still until a test advances it: what a lifetime of ten seconds allows does not depend on how long
 * the test takes.
 */
import type { Database } from '../apps/server/src/db/index.ts'

export interface StillClock {
  /** The same database, whose clock this is. */
  of(db: Database): Database
}

export function createStillClock(): StillClock {
  const beganMs = Date.now()
  let offsetMs = 0
  const nowMs = (): number => beganMs + offsetMs
  const now = (): string => new Date(nowMs()).toISOString()
  const clock = {
    now: nowMs,
    refresh: async (): Promise<void> => undefined,
    advance: async (byMs: number): Promise<number> => (offsetMs += Math.max(byMs, 0)),
  }
  return {
    of: (db) => ({ ...db, now, clock, transaction: (work) => db.transaction((tx) => work({ ...tx, now })) }),
  }
}
