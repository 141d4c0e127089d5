/** What is stored of a wallet between runs: its accounts, including closed ones. Everything in it is public. */
import { z } from 'zod'
import type { ConnectorState } from '../kit/connector.ts'

export const changeSchema = z.object({
  /** The transaction that changed the owner. */
  signature: z.string(),
  slot: z.number(),
  /** Whether the account is the wallet's after it. */
  isOwn: z.boolean(),
  /** False while the block of the transaction may still be dropped. */
  isFinal: z.boolean(),
})
export type OwnerChange = z.infer<typeof changeSchema>

const ownershipSchema = z.object({
  /** The newest final transaction that was looked at; null when there was none. */
  upTo: z.string().nullable(),
  /** Changes of the owner up to this slot are known. */
  slot: z.number(),
  /** Newest first. Before the oldest the account was not the wallet's. */
  changes: z.array(changeSchema),
  /** Set while the account is left out, because a transaction hides how it became the wallet's: the first and last walk. */
  hidden: z.object({ sinceMs: z.number(), untilMs: z.number() }).optional(),
  /** Set while its list has not been read since other changes were found in the time that was known. */
  isCorrected: z.literal(true).optional(),
})
export type Ownership = z.infer<typeof ownershipSchema>

const stateSchema = z.object({
  address: z.string().catch(''),
  /** Token accounts that the wallet owns or owned. */
  tokens: z.array(z.string()).catch([]),
  /** Stake accounts that only the wallet can withdraw from, or once could. */
  stakes: z.array(z.string()).catch([]),
  /** Those that a transaction which the wallet signed has shown: no stranger can add one. */
  signedStakes: z.array(z.string()).catch([]),
  /** By stake account: when it was the wallet's (ownership.ts). Absent until its transactions were looked at. */
  ownership: z.record(z.string(), ownershipSchema).catch({}),
})

export type SolanaState = z.infer<typeof stateSchema>

/**
 * Each account costs a call in every run. Strangers can open accounts in a wallet's name and take the deposits back
 * afterwards. A list that is full therefore takes no others: an error would end every run. Tokens and stakes have a
 * limit each, so that neither crowds out the other, and what the wallet itself signed for comes before what others did.
 */
const tokensMax = 2_000
const stakesMax = 200

export function readState(state: ConnectorState): SolanaState {
  return stateSchema.parse(state)
}

export interface LearnedAccounts {
  tokens: Iterable<string>
  stakes: Iterable<string>
  signedStakes?: Iterable<string>
  /** Token accounts that take the places of others when the list is full, the most important first. */
  listPreferred?: (this: void) => Iterable<string>
}

/** The state with these accounts, in the order in which they were found; undefined when it has all that it can hold. */
export function withAccounts(
  state: SolanaState,
  { listPreferred = () => [], signedStakes = [], ...found }: LearnedAccounts,
): SolanaState | undefined {
  const { tokens, stakes } = state
  const signed = join([...state.signedStakes, ...signedStakes], () => [], stakesMax)
  const after = {
    ...state,
    tokens: join([...tokens, ...found.tokens], listPreferred, tokensMax),
    stakes: join([...stakes, ...found.stakes, ...signed], () => signed, stakesMax),
    signedStakes: signed,
  }
  const isKnown =
    hasAll(tokens, after.tokens) && hasAll(stakes, after.stakes) && hasAll(state.signedStakes, after.signedStakes)
  return isKnown ? undefined : after
}

export function withOwnership(state: SolanaState, stake: string, ownership: Ownership): SolanaState {
  return { ...state, ownership: { ...state.ownership, [stake]: ownership } }
}

/** The stake accounts that are the wallet's, or once were. */
export function listOwnStakes({ stakes, ownership }: SolanaState): string[] {
  return stakes.filter((stake) => ownership[stake]?.changes.some(({ isOwn }) => isOwn) === true)
}

/** In neither the balance nor the history. */
export function isLeftOut({ ownership }: SolanaState, stake: string): boolean {
  return ownership[stake]?.hidden !== undefined
}

function join(accounts: readonly string[], listPreferred: () => Iterable<string>, countMax: number): string[] {
  const all = new Set(accounts)
  return all.size <= countMax ? [...all] : [...new Set([...listPreferred(), ...all])].slice(0, countMax)
}

function hasAll(known: readonly string[], accounts: readonly string[]): boolean {
  return new Set(accounts).isSubsetOf(new Set(known))
}
