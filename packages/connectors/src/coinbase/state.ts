/** What the connector remembers about an account between reads: only wallet ids. */
import { z } from 'zod'
import type { ConnectorState } from '../kit/connector.ts'

export interface CoinbaseState {
  /** Wallets that hold staked assets. */
  staked: ReadonlySet<string>
  /** Wallets that a transaction named before the list of wallets showed them. */
  discovered: ReadonlySet<string>
}

const ids = z.array(z.string()).catch([])
const stateSchema = z.object({ staked: ids, discovered: ids })

export function readState(state: ConnectorState): CoinbaseState {
  const { staked, discovered } = stateSchema.parse(state)
  return { staked: new Set(staked), discovered: new Set(discovered) }
}

/** Returns undefined when nothing is new, because a new state makes the engine list the wallets again. */
export function findLearned(
  before: ConnectorState,
  learned: { staked?: Iterable<string>; discovered?: Iterable<string> },
): ConnectorState | undefined {
  const { staked, discovered } = readState(before)
  const after = {
    staked: [...staked.union(new Set(learned.staked))].toSorted(),
    discovered: [...discovered.union(new Set(learned.discovered))].toSorted(),
  }
  const isKnown = after.staked.length === staked.size && after.discovered.length === discovered.size
  return isKnown ? undefined : after
}

/** Ids are only ever added. */
export function joinStates(one: ConnectorState, other: ConnectorState): ConnectorState {
  return findLearned(one, readState(other)) ?? one
}
