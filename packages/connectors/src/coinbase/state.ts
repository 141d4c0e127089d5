/** What the connector keeps about an account between two reads: ids of wallets, nothing else. */
import { z } from 'zod'
import type { ConnectorState } from '../kit/connector.ts'

export interface CoinbaseState {
  /** Wallets that hold what is staked. */
  staked: ReadonlySet<string>
  /** Wallets that a list of transactions named and that the list of wallets had not shown yet. */
  discovered: ReadonlySet<string>
}

const ids = z.array(z.string()).catch([])
const stateSchema = z.object({ staked: ids, discovered: ids })

export function readState(state: ConnectorState): CoinbaseState {
  const { staked, discovered } = stateSchema.parse(state)
  return { staked: new Set(staked), discovered: new Set(discovered) }
}

/** Undefined when nothing was learned: a new state makes the engine list the wallets again. */
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
