/**
 * A circuit breaker for each provider, one for the whole fleet. While a provider is away every connection would find
 * that out for itself, with a timeout each, and meet it with a crowd when it comes back.
 *
 *   closed ──failures in a row, of several keys──▶ open ──probe due──▶ half-open: one job asks, no other
 *     ▲                                             ▲                     │        │
 *     │                                             └──no answer, longer──┘        │
 *     └───────────────────────────any answer───────────────────────────────────────┘
 *
 * An answer is anything the provider itself said, "no" and what we cannot read included. Only `venue_down` is none.
 */
import { SourceError } from '@assay/core'
import type { Logger } from 'pino'
import type { Database, Sql } from '../db/index.ts'
import type { CircuitState } from './budget-store.ts'
import * as store from './circuit-store.ts'

/** So many failures in a row, of so many different keys. When only one key fails, its own backoff is enough. */
const failuresToOpen = 5
const keysToOpen = 3

const firstProbeAfterMs = 30_000
const probeAfterMaxMs = 15 * 60_000
/** A probe that says nothing for this long has died; longer than a request may take. Not divided in sandbox mode. */
const probeLeaseMs = 30_000

/** The provider was not asked: it is known to be away. */
export class CircuitOpen extends SourceError {
  /** Epoch ms: since when it has not answered. */
  readonly sinceMs: number

  constructor(providerId: string, sinceMs: number, retryAfterMs: number) {
    super('venue_down', `${providerId} does not answer and is not asked for now`, { retryAfterMs })
    this.name = 'CircuitOpen'
    this.sinceMs = sinceMs
  }
}

export interface Circuits {
  /** `probing` for the one caller that asks a provider which is away; CircuitOpen when it may not be asked. */
  enter(providerId: string, circuit: CircuitState | undefined): Promise<'entered' | 'probing' | CircuitOpen>
  recordAnswer(providerId: string): Promise<void>
  /** `keyLane` is null for a key that is only being tried out: it says nothing about the provider, unless it probed. */
  recordSilence(providerId: string, keyLane: string | null, wasProbe: boolean): Promise<void>
}

export interface CircuitDeps {
  db: Database
  random(): number
  /** Divides every wait, in sandbox mode. */
  pace: number
  log: Logger
}

export function createCircuits({ db, random, pace, log }: CircuitDeps): Circuits {
  return {
    async enter(providerId, circuit) {
      if (circuit?.open !== true) return 'entered'
      if (circuit.wait_ms === 0 && (await store.claimProbe(db, providerId, probeLeaseMs))) return 'probing'
      return toCircuitOpen(providerId, circuit, random())
    },

    async recordAnswer(providerId) {
      if (await store.deleteOutage(db, providerId)) log.info({ provider: providerId }, 'provider answers again')
    },

    async recordSilence(providerId, keyLane, wasProbe) {
      if (keyLane === null && !wasProbe) return
      const probeInMs = await db.transaction(async (tx) => {
        const row = await store.lockOutage(tx, providerId)
        const next = afterSilence(row, { keyLane, wasProbe, random: random() })
        const paced = next.probeInMs === null ? null : next.probeInMs / pace
        await store.writeOutage(tx, providerId, { ...next, probeInMs: paced })
        return paced
      })
      if (probeInMs !== null) log.warn({ provider: providerId, probeInMs }, 'provider does not answer')
    },
  }
}

/** For a person who waits for an answer now: undefined when asking makes sense. */
export async function findCircuitOpen(sql: Sql, providerId: string): Promise<CircuitOpen | undefined> {
  const open = await store.findOpenCircuit(sql, providerId)
  return open === undefined || open.wait_ms === 0 ? undefined : toCircuitOpen(providerId, open, 0)
}

/** Later than the probe by up to a half, so that those who were sent away do not all come back in its first second. */
function toCircuitOpen(providerId: string, { failing_since, wait_ms }: CircuitState, random: number): CircuitOpen {
  const waitMs = Math.max(wait_ms, 1)
  return new CircuitOpen(providerId, Date.parse(failing_since), Math.ceil(waitMs * (1 + random / 2)))
}

interface Outage {
  failures: number
  failingKeys: string[]
  probes: number
  /** Null: the circuit stays as it is. */
  probeInMs: number | null
}

/** Pure: what a further failure makes of an outage. */
export function afterSilence(
  row: store.OutageRow,
  { keyLane, wasProbe, random }: { keyLane: string | null; wasProbe: boolean; random: number },
): Outage {
  const failures = row.failures + 1
  const isNew = keyLane !== null && !row.failing_keys.includes(keyLane) && row.failing_keys.length < keysToOpen
  const failingKeys = isNew ? [...row.failing_keys, keyLane] : row.failing_keys
  const outage = { failures, failingKeys, probes: row.probes, probeInMs: null }
  if (row.opened_at !== null) {
    // A job that was under way when the circuit opened says nothing new.
    if (!wasProbe) return outage
    return { ...outage, probes: row.probes + 1, probeInMs: probeAfterMs(row.probes + 1, random) }
  }
  const opens = failures >= failuresToOpen && failingKeys.length >= keysToOpen
  return opens ? { ...outage, probeInMs: probeAfterMs(0, random) } : outage
}

/** Doubles with every probe that found nothing, with a jitter of ±25 %. */
function probeAfterMs(probes: number, random: number): number {
  const plain = Math.min(probeAfterMaxMs, firstProbeAfterMs * 2 ** Math.min(probes, 20))
  return Math.round(plain * (0.75 + random / 2))
}
