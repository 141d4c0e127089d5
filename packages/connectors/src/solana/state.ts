/** What is stored of a wallet between runs: its accounts, including closed ones. Everything in it is public. */
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

/**
 * Each account costs a call in every run. Strangers can open accounts in a wallet's name and take the deposits back
 * afterwards. A list that is full therefore takes no others: an error would end every run. Tokens and stakes have a
 * limit each, so that neither crowds out the other.
 */
const tokensMax = 2_000
const stakesMax = 200

export function readState(state: ConnectorState): SolanaState {
  return stateSchema.parse(state)
}

export interface LearnedAccounts {
  tokens: Iterable<string>
  stakes: Iterable<string>
  /** Token accounts that take the places of others when the list is full. */
  preferred?: Iterable<string>
}

/** The state with these accounts, in the order in which they were found; undefined when it has all that it can hold. */
export function withAccounts(
  { address, tokens, stakes }: SolanaState,
  { preferred = [], ...found }: LearnedAccounts,
): SolanaState | undefined {
  const after = {
    address,
    tokens: join([...tokens, ...found.tokens], preferred, tokensMax),
    stakes: join([...stakes, ...found.stakes], [], stakesMax),
  }
  const isKnown = hasAll(tokens, after.tokens) && hasAll(stakes, after.stakes)
  return isKnown ? undefined : after
}

function join(accounts: readonly string[], preferred: Iterable<string>, countMax: number): string[] {
  const all = new Set(accounts)
  return all.size <= countMax ? [...all] : [...new Set([...preferred, ...all])].slice(0, countMax)
}

function hasAll(known: readonly string[], accounts: readonly string[]): boolean {
  return new Set(accounts).isSubsetOf(new Set(known))
}
