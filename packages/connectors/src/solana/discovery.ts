/**
 * Which accounts of a wallet a transaction shows. A closed account is no longer in any list of the node, but its
 * history has to be read as well. Pure.
 *
 * Token accounts are recognised by their owner. Stake accounts are recognised by stake program instructions that name
 * who may withdraw (github.com/anza-xyz/agave, transaction-status/src/parse_stake.rs); one that is split off an own
 * account, or merged with one, has the same authorities.
 */
import { z } from 'zod'
import { accountsMax } from './records.ts'

export interface FoundAccounts {
  tokens: readonly string[]
  stakes: readonly string[]
  /** The mints of the tokens that the wallet had before or after. */
  mints: readonly string[]
  /** Token accounts whose change is also in the record of the wallet's own list. */
  inWalletList: ReadonlySet<string>
}

const tokenBalance = z.object({ accountIndex: z.string(), mint: z.string(), owner: z.string().nullish() })
const instruction = z.object({
  program: z.string().nullish(),
  parsed: z
    .object({ type: z.string(), info: z.record(z.string(), z.unknown()) })
    .optional()
    .catch(undefined),
})
const instructions = z.array(instruction)
const shape = z.object({
  transaction: z.object({
    message: z.object({
      accountKeys: z.array(z.object({ pubkey: z.string() })).max(accountsMax),
      instructions: instructions.catch([]),
    }),
  }),
  meta: z.object({
    err: z.unknown(),
    preTokenBalances: z.array(tokenBalance).max(accountsMax).nullish(),
    postTokenBalances: z.array(tokenBalance).max(accountsMax).nullish(),
    innerInstructions: z.array(z.object({ instructions })).nullish().catch(null),
  }),
})

/**
 * `transaction` has numbers as text. A transaction of unexpected form shows no accounts; its record is marked.
 *
 * A failed transaction shows no stake accounts. Any sender can write any account and this wallet into an instruction
 * that the stake program then refuses, and the history of that account would be read as the wallet's own. Token
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
  const inner = (meta.innerInstructions ?? []).flatMap((one) => one.instructions)
  const executed = isFailed(meta) ? [] : [...given.message.instructions, ...inner]
  return {
    tokens: unique(own.map(keyOf)),
    stakes: findStakes(executed, address, stakes),
    mints: unique(own.map(({ mint }) => mint)),
    inWalletList: new Set(
      balances.filter(({ owner }) => typeof owner === 'string' && keys.includes(address)).map(keyOf),
    ),
  }
}

function isFailed({ err }: { err?: unknown }): boolean {
  return err !== null && err !== undefined
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '')
}

function findStakes(all: readonly z.infer<typeof instruction>[], address: string, known: readonly string[]): string[] {
  const own = new Set(known)
  for (const { program, parsed } of all) {
    if (program !== 'stake' || parsed === undefined) continue
    const { info } = parsed
    const { stakeAccount, newSplitAccount, source, destination } = info
    const authorized = z.object({ withdrawer: z.string() }).safeParse(info['authorized'])
    const withdrawers = [info['withdrawAuthority'], info['withdrawer'], authorized.data?.withdrawer]
    if (withdrawers.includes(address)) add(own, [stakeAccount])
    if (parsed.type === 'split' && isIn(own, [stakeAccount])) add(own, [newSplitAccount])
    if (parsed.type === 'merge' && isIn(own, [source, destination])) add(own, [source, destination])
  }
  return [...own].filter((account) => !known.includes(account))
}

function add(own: Set<string>, accounts: readonly unknown[]): void {
  for (const account of accounts) if (typeof account === 'string') own.add(account)
}

function isIn(own: ReadonlySet<string>, accounts: readonly unknown[]): boolean {
  return accounts.some((account) => typeof account === 'string' && own.has(account))
}
