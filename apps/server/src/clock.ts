/**
 * The service's clock outside SQL. In sandbox mode it can be ahead of the machine's by an offset that lies in the
 * database, where `assay_now()` reads it too; elsewhere it is the machine's. The offset is read again at the beginning
 * of every job: nothing in a job depends on a clock that moves under it.
 */
import type { Database } from './db/index.ts'

export interface Clock {
  now(): number
  refresh(): Promise<void>
  /** Moves forward and returns the new offset; the offset never shrinks. */
  advance(byMs: number): Promise<number>
}

export function createClock(db: Database, sandbox: boolean): Clock {
  let offsetMs = 0

  return {
    now: () => Date.now() + offsetMs,
    async refresh() {
      if (!sandbox) return
      const row = await db.row<{ offset_ms: string }>('select offset_ms from sandbox_clock')
      offsetMs = Number(row.offset_ms)
    },
    async advance(byMs) {
      if (!sandbox) throw new Error('only the sandbox clock can be moved')
      const row = await db.row<{ offset_ms: string }>(
        'update sandbox_clock set offset_ms = offset_ms + greatest($1::bigint, 0) returning offset_ms',
        [byMs],
      )
      offsetMs = Number(row.offset_ms)
      return offsetMs
    },
  }
}
