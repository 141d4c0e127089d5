/**
 * A circuit breaker for each provider, shared by the whole fleet. A part of a provider that has hosts of its own, such
 * as the node of one network, has a circuit of its own, whose name begins with that of the provider: `evm/base node`. Without it, every connection would wait for its own
 * timeout during an outage, and all of them would call at once when the provider comes back.
 *
 *   closed ──failures in a row, at several users─▶ open ──probe due──▶ half-open: one job asks, no other
 *     ▲                                             ▲                     │        │
 *     │                                             └──no answer, longer──┘        │
 *     └───────────────────────────any answer───────────────────────────────────────┘
 *
 * Anything that the provider itself said is an answer: a refusal, a response that we cannot read, and also "we are
 * down", because it may say so about one account. Only a NoAnswer is silence.
 */
import { minuteMs, SourceError, toBackoffMs } from '@assay/core'
import type { Logger } from 'pino'
import type { Database, Sql } from '../db/index.ts'
import { partSeparator, type CircuitState } from './budget-store.ts'
import * as store from './circuit-store.ts'

/**
 * This many failures in a row, at this many different users, open a circuit. If the connections of one user fail, their
 * own backoff is enough. Keys are not counted: one user has any number of them, and a stranger may decide what a node
 * says about a wallet.
 */
const failuresToOpen = 5
const usersToOpen = 3

/** The pause before a probe doubles with every probe that got no answer. */
const probePause = { firstMs: 30_000, maxMs: 15 * minuteMs }
/**
 * After this long, a probe is presumed dead: it is longer than a request may take. Sandbox mode does not shorten it.
 */
const probeLeaseMs = 30_000

/** The provider, or a part of it, was not called, because it is known to be down. */
export class CircuitOpen extends SourceError {
  /** Epoch ms: since when it has not answered. */
  readonly sinceMs: number
  /** False for a part: the others may answer. */
  readonly isOfProvider: boolean

  constructor(name: string, sinceMs: number, retryAfterMs: number) {
    super('venue_down', `${name} does not answer and is not asked for now`, { retryAfterMs })
    this.name = 'CircuitOpen'
    this.sinceMs = sinceMs
    this.isOfProvider = !name.includes(partSeparator)
  }
}

export interface Circuits {
  /** `probing` for the one caller that probes a provider during an outage; CircuitOpen when calls are not allowed. */
  enter(
    name: string,
    circuit: CircuitState | undefined,
    by: { isProven: boolean },
  ): Promise<'entered' | 'probing' | CircuitOpen>
  recordAnswer(name: string): Promise<void>
  /** `userKey` is null for a key that was never read to the end: its failure counts only if it was the probe. */
  recordSilence(name: string, userKey: string | null, wasProbe: boolean): Promise<void>
}

export interface CircuitDeps {
  db: Database
  random(): number
  /** How long to wait instead of `ms`: shorter in sandbox mode. */
  scaleWait(this: void, ms: number): number
  log: Logger
}

export function createCircuits({ db, random, scaleWait, log }: CircuitDeps): Circuits {
  return {
    async enter(name, circuit, { isProven }) {
      if (circuit?.open !== true) return 'entered'
      const laterMs = isProven ? 0 : scaleWait(toPauseMs(circuit.probes))
      const isDue = circuit.wait_ms === 0
      if (isDue && (await store.claimProbe(db, name, { leaseMs: probeLeaseMs, laterMs }))) return 'probing'
      return toCircuitOpen(name, { ...circuit, wait_ms: isDue ? laterMs : circuit.wait_ms }, random())
    },

    async recordAnswer(name) {
      if (await store.deleteOutage(db, name)) log.info({ provider: name }, 'provider answers again')
    },

    async recordSilence(name, userKey, wasProbe) {
      if (userKey === null && !wasProbe) return
      const probeInMs = await db.transaction(async (tx) => {
        const row = await store.lockOutage(tx, name)
        const next = afterSilence(row, { userKey, wasProbe, random: random() })
        const waitMs = next.probeInMs === null ? null : scaleWait(next.probeInMs)
        await store.writeOutage(tx, name, { ...next, probeInMs: waitMs })
        return waitMs
      })
      if (probeInMs !== null) log.warn({ provider: name, probeInMs }, 'provider does not answer')
    },
  }
}

/**
 * How much later a key that was never read to the end may probe. A stranger can connect a wallet about which a node stays
 * silent, and a person who adds keys comes at any moment; as the probe, their silence would prolong the outage for
 * everyone. Connections that were told of the outage come back within half a pause, so this key probes only where none
 * of them does.
 */
function toPauseMs(probes: number): number {
  return toBackoffMs(probes + 1, probePause, 0.5)
}

/** For a request that a person waits for: undefined when the provider may be asked. */
export async function findCircuitOpen(sql: Sql, providerId: string): Promise<CircuitOpen | undefined> {
  const open = await store.findOpenCircuit(sql, providerId)
  return open === undefined || open.wait_ms === 0 ? undefined : toCircuitOpen(providerId, open, 0)
}

/** Up to half the wait later than the probe, so that callers do not all come back in the same second. */
function toCircuitOpen(name: string, { failing_since, wait_ms }: CircuitState, random: number): CircuitOpen {
  const waitMs = Math.max(wait_ms, 1)
  return new CircuitOpen(name, Date.parse(failing_since), Math.ceil(waitMs * (1 + random / 2)))
}

interface Outage {
  failures: number
  failingUsers: string[]
  probes: number
  /** Null when the circuit stays as it is. */
  probeInMs: number | null
}

/** Pure: the state of an outage after another failure. */
export function afterSilence(
  row: store.OutageRow,
  { userKey, wasProbe, random }: { userKey: string | null; wasProbe: boolean; random: number },
): Outage {
  const failures = row.failures + 1
  const isNew = userKey !== null && !row.failing_users.includes(userKey) && row.failing_users.length < usersToOpen
  const failingUsers = isNew ? [...row.failing_users, userKey] : row.failing_users
  const outage = { failures, failingUsers, probes: row.probes, probeInMs: null }
  if (row.opened_at !== null) {
    // The failure of a job that was running when the circuit opened says nothing new.
    if (!wasProbe) return outage
    return { ...outage, probes: row.probes + 1, probeInMs: toBackoffMs(row.probes + 2, probePause, random) }
  }
  const opens = failures >= failuresToOpen && failingUsers.length >= usersToOpen
  return opens ? { ...outage, probeInMs: toBackoffMs(1, probePause, random) } : outage
}
