/**
 * The service's clock outside SQL: the database's, as `assay_now()` tells it, carried on between two looks by a clock of
 * the machine that nobody sets. A worker whose own time is wrong must not mark a time as read that has not come yet. In
 * sandbox mode the database's can be ahead by an offset. It is looked at again at the beginning of every job.
 */
import type { Database } from './db/index.ts'

export interface Clock {
  now(): number
  refresh(): Promise<void>
  /** Moves forward and returns the new offset; the offset never shrinks. */
  advance(byMs: number): Promise<number>
}

export function createClock(db: Database, sandbox: boolean): Clock {
  // Until the first look: the machine's.
  let epochMs = Date.now() - performance.now()

  async function refresh(): Promise<void> {
    const { now_ms } = await db.row<{ now_ms: number }>(
      'select (extract(epoch from assay_now()) * 1000)::double precision as now_ms',
    )
    // The answer took a moment: rather behind the database than ahead of it.
    epochMs = now_ms - performance.now()
  }

  return {
    now: () => Math.floor(epochMs + performance.now()),
    refresh,
    async advance(byMs) {
      if (!sandbox) throw new Error('only the sandbox clock can be moved')
      const { offset_ms } = await db.row<{ offset_ms: string }>(
        'update sandbox_clock set offset_ms = offset_ms + greatest($1::bigint, 0) returning offset_ms',
        [byMs],
      )
      await refresh()
      return Number(offset_ms)
    },
  }
}
