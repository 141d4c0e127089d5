/** What is kept of a wallet between runs: its accounts, also those that were closed. Everything in it is public. */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { ConnectorState } from '../kit/connector.ts'

const stateSchema = z.object({
  address: z.string().catch(''),
  /** Token accounts that the wallet owns or owned. */
  tokens: z.array(z.string()).catch([]),
  /** Stake accounts that only the wallet can withdraw from. */
  stakes: z.array(z.string()).catch([]),
})

export type SolanaState = z.infer<typeof stateSchema>

/** An account takes 47 bytes of the state, which may have 1 MiB, and a call in every run. */
const accountsMax = 5_000

export function readState(state: ConnectorState): SolanaState {
  return stateSchema.parse(state)
}

/** The state with these accounts, in the order in which they were found; undefined when it has all of them. */
export function withAccounts(
  { address, tokens, stakes }: SolanaState,
  found: { tokens: Iterable<string>; stakes: Iterable<string> },
): SolanaState | undefined {
  const after = {
    address,
    tokens: [...new Set([...tokens, ...found.tokens])],
    stakes: [...new Set([...stakes, ...found.stakes])],
  }
  const count = after.tokens.length + after.stakes.length
  if (count === tokens.length + stakes.length) return undefined
  if (count > accountsMax) throw new SourceError('data_hole', `a wallet with more than ${accountsMax} accounts`)
  return after
}
