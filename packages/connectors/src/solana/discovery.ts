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
  /** The mints of the tokens that the wallet had before or after. */
  mints: readonly string[]
  /** Token accounts whose change is also in the record of the wallet's own list. */
  inWalletList: ReadonlySet<string>
}

const tokenBalance = z.object({ accountIndex: z.string(), mint: z.string(), owner: z.string().nullish() })
const shape = z.object({
  transaction: z.object({
    message: z.object({
      accountKeys: z.array(z.object({ pubkey: z.string() })).max(accountsMax),
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
  if (!parsed.success) return { tokens: [], stakes: [], mints: [], inWalletList: new Set() }
  const { meta, transaction: given } = parsed.data
  const keys = given.message.accountKeys.map(({ pubkey }) => pubkey)
  const balances = [...(meta.preTokenBalances ?? []), ...(meta.postTokenBalances ?? [])]
  const keyOf = ({ accountIndex }: { accountIndex: string }): string => keys[Number(accountIndex)] ?? ''
  const own = balances.filter(({ owner }) => owner === address)
  return {
    tokens: unique(own.map(keyOf)),
    stakes: findStakes(listStakeFacts(transaction, address), stakes),
    mints: unique(own.map(({ mint }) => mint)),
    inWalletList: new Set(
      balances.filter(({ owner }) => typeof owner === 'string' && keys.includes(address)).map(keyOf),
    ),
  }
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '')
}

/** `stakes` are those that are known. */
function findStakes(facts: readonly StakeFact[], stakes: readonly string[]): string[] {
  const own = new Set(stakes)
  for (const fact of facts) {
    if (fact.kind === 'owner' && (fact.isClaimed || fact.isOwn === true)) own.add(fact.account)
    if (fact.kind === 'split' && own.has(fact.from)) own.add(fact.account)
    if (fact.kind === 'merge' && fact.accounts.some((account) => own.has(account))) {
      for (const account of fact.accounts) own.add(account)
    }
  }
  return [...own].filter((account) => !stakes.includes(account))
}
