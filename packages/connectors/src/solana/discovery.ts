/**
 * Which accounts of a wallet a transaction shows. A closed account is no longer in any list of the node, but its
 * history has to be read as well. Pure.
 *
 * Token accounts are recognised by their owner. Stake accounts are recognised by stake program instructions that prove
 * who may withdraw (stake-instructions.ts), or that the wallet signed as the owner; one that is split off an own account,
 * or merged with one, has the same authorities. Whether and when such an account was the wallet's is another question
 * (ownership.ts).
 */
import { z } from 'zod'
import { accountsMax } from './records.ts'
import { listStakeFacts, type StakeFact } from './stake-instructions.ts'

export interface FoundAccounts {
  tokens: readonly string[]
  stakes: readonly string[]
  /** Stake accounts, known or not, in a transaction that the wallet signed. */
  signedStakes: readonly string[]
  /** The mints of the tokens that the wallet had before or after. */
  mints: readonly string[]
  /** Token accounts whose change is also in the record of the wallet's own list. */
  inWalletList: ReadonlySet<string>
}

const tokenBalance = z.object({ accountIndex: z.string(), mint: z.string(), owner: z.string().nullish() })
const shape = z.object({
  transaction: z.object({
    message: z.object({
      accountKeys: z.array(z.object({ pubkey: z.string(), signer: z.boolean() })).max(accountsMax),
    }),
  }),
  meta: z.object({
    preTokenBalances: z.array(tokenBalance).max(accountsMax).nullish(),
    postTokenBalances: z.array(tokenBalance).max(accountsMax).nullish(),
  }),
})

/**
 * `transaction` has numbers as text. A transaction of unexpected form shows no accounts; its record is marked.
 *
 * A failed transaction shows no stake accounts, because its instructions may name any account and any wallet. Token
 * balances are safe: the node reports the owners that the chain has.
 */
export function findAccounts(transaction: unknown, address: string, stakes: readonly string[]): FoundAccounts {
  const parsed = shape.safeParse(transaction)
  if (!parsed.success) return { tokens: [], stakes: [], signedStakes: [], mints: [], inWalletList: new Set() }
  const { meta, transaction: given } = parsed.data
  const keys = given.message.accountKeys.map(({ pubkey }) => pubkey)
  const balances = [...(meta.preTokenBalances ?? []), ...(meta.postTokenBalances ?? [])]
  const keyOf = ({ accountIndex }: { accountIndex: string }): string => keys[Number(accountIndex)] ?? ''
  const own = balances.filter(({ owner }) => owner === address)
  const isSigned = given.message.accountKeys.some(({ pubkey, signer }) => signer && pubkey === address)
  const shown = findStakes(listStakeFacts(transaction, address), stakes)
  return {
    tokens: unique(own.map(keyOf)),
    stakes: shown.filter((account) => !stakes.includes(account)),
    signedStakes: isSigned ? shown : [],
    mints: unique(own.map(({ mint }) => mint)),
    inWalletList: new Set(
      balances.filter(({ owner }) => typeof owner === 'string' && keys.includes(address)).map(keyOf),
    ),
  }
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '')
}

/** The wallet's stake accounts that a transaction names. `known` are those that are known. */
function findStakes(facts: readonly StakeFact[], known: readonly string[]): string[] {
  const shown = new Set<string>()
  const isOwn = (account: string): boolean => shown.has(account) || known.includes(account)
  for (const fact of facts) {
    if (fact.kind === 'owner' && (fact.isClaimed || fact.isOwn === true || isOwn(fact.account))) shown.add(fact.account)
    if (fact.kind === 'split' && isOwn(fact.from)) for (const account of [fact.from, fact.account]) shown.add(account)
    if (fact.kind === 'merge' && fact.accounts.some(isOwn)) for (const account of fact.accounts) shown.add(account)
  }
  return [...shown]
}
