/**
 * What can go wrong between a reader and a provider, and when. A fault is set over the control API or is part of a
 * scenario's weather; which calls it hits is decided here, what it does to the call in `provider-server.ts`. Providers
 * only supply their own error texts (such as "slow down" or "unknown key").
 */
import { z } from 'zod'

const kinds = [
  'http_429',
  'http_429_retry_after',
  'http_418',
  'http_5xx',
  'reset',
  'truncated_json',
  'html',
  'stall',
  'clock_skew',
  'duplicate_rows',
  'shifting_page',
  'wrong_count',
  'rate_limited',
  'service_unavailable',
  'down',
  'revoked',
  'latency_ms',
] as const
export type FaultKind = (typeof kinds)[number]

// This is half a day. A longer skew or stall is a typing mistake.
const msMax = 43_200_000
const lateMsMax = 10 * 365 * 86_400_000

/** A fault as the control API takes it. Without `times` and `duration_ms` it stays until it is cleared. */
export const faultSchema = z.strictObject({
  kind: z.enum(kinds),
  /** How many calls it hits. */
  times: z.int().min(1).max(1_000_000).optional(),
  /** How many calls pass before the first hit. */
  after: z.int().min(0).max(1_000_000).optional(),
  /** How long it stays, by the sandbox's clock; for `stall`, how long each call hangs (60 s by default). */
  duration_ms: z.int().min(1).max(msMax).optional(),
  account_id: z.string().max(200).optional(),
  /** Only calls whose path ends in this, such as `Ledgers`. */
  endpoint: z.string().max(100).optional(),
  /** http_5xx: which one (503). */
  status: z.int().min(500).max(599).optional(),
  /** http_429_retry_after, http_418: the header's seconds (1). */
  retry_after_s: z.int().min(0).max(86_400).optional(),
  /** clock_skew: how far the provider's clock is ahead, negative for behind (10 minutes). */
  skew_ms: z.int().min(-msMax).max(msMax).optional(),
  /** latency_ms: added to every answer (50). */
  latency_ms: z.int().min(0).max(msMax).optional(),
  /** shifting_page: how long before now the inserted row happened that moves the others (0). */
  late_ms: z.int().min(0).max(lateMsMax).optional(),
  /** wrong_count: how many rows the provider says there are (0). */
  count: z.int().min(0).max(1_000_000_000).optional(),
  /** duplicate_rows: how many rows of the page before are sent again (3). */
  rows: z.int().min(1).max(1_000).optional(),
})
export type Fault = z.infer<typeof faultSchema>

interface Armed {
  fault: Fault
  passed: number
  hits: number
  untilMs: number
}

export interface Call {
  accountId: string | undefined
  path: string
  nowMs: number
}

export interface Faults {
  arm(fault: Fault, nowMs: number): void
  clear(): void
  list(): readonly Fault[]
  /** The faults that hit this call, each counted. Those that act on rows are counted by `takeForPage` instead. */
  take(call: Call): Fault[]
  takeForPage(call: Call): Fault[]
}

const onRows: ReadonlySet<FaultKind> = new Set(['duplicate_rows', 'shifting_page'])
const armedMax = 1_000

export function createFaults(): Faults {
  let armed: Armed[] = []

  function hit(call: Call, wanted: (kind: FaultKind) => boolean): Fault[] {
    armed = armed.filter((one) => call.nowMs < one.untilMs && one.hits < (one.fault.times ?? Number.POSITIVE_INFINITY))
    const hits: Fault[] = []
    for (const one of armed) {
      const { fault } = one
      if (!wanted(fault.kind)) continue
      if (fault.account_id !== undefined && fault.account_id !== call.accountId) continue
      if (fault.endpoint !== undefined && !call.path.endsWith(fault.endpoint)) continue
      if (one.passed < (fault.after ?? 0)) {
        one.passed += 1
        continue
      }
      one.hits += 1
      hits.push(fault)
    }
    return hits
  }

  return {
    arm(fault, nowMs) {
      if (armed.length >= armedMax) throw new RangeError(`more than ${armedMax} faults are set: clear some`)
      const lastsMs = fault.kind === 'stall' ? undefined : fault.duration_ms
      armed.push({ fault, passed: 0, hits: 0, untilMs: nowMs + (lastsMs ?? Number.POSITIVE_INFINITY) })
    },
    clear() {
      armed = []
    },
    list: () => armed.map((one) => one.fault),
    take: (call) => hit(call, (kind) => !onRows.has(kind)),
    takeForPage: (call) => hit(call, (kind) => onRows.has(kind)),
  }
}

export function actsOnRows(kind: FaultKind): boolean {
  return onRows.has(kind)
}
