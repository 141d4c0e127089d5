/**
 * The present, by the database's clock. The database is the reference because every process shares it: a worker whose
 * own time is wrong must not mark a window as read that has not happened yet. Each process keeps its offset to it,
 * advanced between two readings by the machine's monotonic clock, and passes the present to statements as a parameter.
 * In sandbox mode the clock is ahead by an offset that only grows.
 */
import type { Clock, Queries } from './sql.ts'

export interface ClockOptions {
  /** For tests, whose database runs on the same machine: works before the first reading. */
  trustMachineClock?: boolean
}

// `clock_timestamp()` and not `now()`, which is when the transaction began.
const look = `select (extract(epoch from clock_timestamp()) * 1000 + coalesce(
    (select sandbox_clock.offset_ms from sandbox_clock join installation on installation.sandbox), 0)
  )::double precision as now_ms`

export function createClock(
  sql: Pick<Queries, 'row' | 'maybeRow'>,
  { trustMachineClock = false }: ClockOptions,
): Clock {
  let epochMs = trustMachineClock ? Date.now() - performance.now() : undefined
  let asked = 0
  let heard = 0

  async function refresh(): Promise<void> {
    const askedMs = performance.now()
    const turn = (asked += 1)
    const { now_ms } = await sql.row<{ now_ms: number }>(look)
    // An older question may be answered later, with the time of before the sandbox's clock was moved.
    if (turn < heard) return
    heard = turn
    // The database looked at its clock at some moment since it was asked, so these bound its epoch. An epoch between
    // them stays: otherwise each slow answer would set the time of this process back.
    const [earliest, latest] = [now_ms - performance.now(), now_ms - askedMs]
    if (epochMs !== undefined && earliest <= epochMs && epochMs <= latest) return
    // A clock that is behind is safer than one that is ahead.
    epochMs = earliest
  }

  return {
    now() {
      if (epochMs === undefined) throw new Error('the database’s clock was not read before it was needed')
      return Math.floor(epochMs + performance.now())
    },
    refresh,
    async advance(byMs) {
      const moved = await sql.maybeRow<{ offset_ms: string }>(
        `update sandbox_clock set offset_ms = offset_ms + greatest($1::bigint, 0)
         from installation where installation.sandbox returning offset_ms`,
        [byMs],
      )
      if (moved === undefined) throw new Error('only the sandbox clock can be moved')
      await refresh()
      return Number(moved.offset_ms)
    },
  }
}
