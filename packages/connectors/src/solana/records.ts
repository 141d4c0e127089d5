/**
 * A transaction as a record, and back. The body keeps what every account had before and after; instructions and logs
 * are left out, because they are most of the bytes and say nothing about amounts that the balances do not say.
 *
 * The names of unknown tokens are kept with it, because a transaction names only mints and deriving makes no calls. So
 * is the owner of the account in the records of its list, where a transaction does not say whose it is: that of a stake
 * account, and that of a token account in transactions from before October 2021.
 */
import { z } from 'zod'
import type { StoredRecord } from '../kit/connector.ts'
import { isJsonObject, parseJson } from '../kit/json.ts'
import type { TokenName } from './assets.ts'
import { tokenPrograms } from './addresses.ts'
import { digits } from './rpc.ts'

/**
 * An instruction names the accounts of its transaction by one byte each (solana.com/docs/core/transactions). What is
 * compared with every account takes minutes for the fifty thousand that an answer may have.
 */
export const accountsMax = 256

/** Of a record in the list of an account: whether the account was the wallet's before the transaction, and after it. */
export const sidesSchema = z.object({ wasOwn: z.boolean(), isOwn: z.boolean() })
export type Sides = z.infer<typeof sidesSchema>

const tokenBalanceSchema = z.object({
  accountIndex: digits,
  mint: z.string(),
  /** Nodes have written it since October 2021. */
  owner: z.string().nullish(),
  programId: z.string().nullish(),
  uiTokenAmount: z.object({ amount: digits, decimals: digits }),
})
const transactionSchema = z.object({
  slot: digits,
  blockTime: digits,
  transaction: z.object({
    signatures: z.array(z.string()).min(1),
    message: z.object({
      accountKeys: z
        .array(z.object({ pubkey: z.string(), signer: z.boolean() }))
        .min(1)
        .max(accountsMax),
    }),
  }),
  meta: z.object({
    err: z.unknown(),
    fee: digits,
    preBalances: z.array(digits).max(accountsMax),
    postBalances: z.array(digits).max(accountsMax),
    preTokenBalances: z.array(tokenBalanceSchema).max(accountsMax).nullish(),
    postTokenBalances: z.array(tokenBalanceSchema).max(accountsMax).nullish(),
  }),
  names: z.record(z.string(), z.object({ symbol: z.string(), name: z.string() })).default({}),
  sides: sidesSchema.optional(),
})
export type TokenBalance = z.infer<typeof tokenBalanceSchema>
export type ChainTransaction = z.infer<typeof transactionSchema>

/** Throws for a body that cannot be read. */
export function readTransaction({ body }: Pick<StoredRecord, 'body'>): ChainTransaction {
  const transaction = transactionSchema.parse(parseJson(body))
  const { preBalances, postBalances } = transaction.meta
  const { length } = transaction.transaction.message.accountKeys
  if (preBalances.length !== length || postBalances.length !== length) {
    throw new RangeError('meta: there are more accounts than balances, or fewer')
  }
  return transaction
}

export function isFailed({ meta: { err } }: { meta: { err?: unknown } }): boolean {
  return err !== null && err !== undefined
}

/** From then on the nodes of the main network reported balances of tokens; their answers about earlier times have none. */
const tokenBalancesSinceMs = Date.UTC(2021, 2, 1)

interface WithTokenBalances {
  blockTime: string
  transaction: { message: { accountKeys: readonly { pubkey: string }[] } }
  meta: {
    err?: unknown
    preTokenBalances?: readonly unknown[] | null | undefined
    postTokenBalances?: readonly unknown[] | null | undefined
  }
}

/**
 * Old transactions have empty lists, and some nodes leave the lists out (github.com/solana-labs/solana, issue 30000). A
 * transaction that failed moved no tokens.
 */
export function hasTokenBalances(transaction: WithTokenBalances): boolean {
  const { preTokenBalances: before, postTokenBalances: after } = transaction.meta
  if (!Array.isArray(before) || !Array.isArray(after)) return false
  if (before.length + after.length > 0 || isFailed(transaction)) return true
  if (Number(transaction.blockTime) * 1_000 >= tokenBalancesSinceMs) return true
  const programs = new Set<string>(tokenPrograms)
  return !transaction.transaction.message.accountKeys.some(({ pubkey }) => programs.has(pubkey))
}

export interface Added {
  names?: Readonly<Record<string, TokenName>>
  sides?: Sides
}

export function toBody(verbatim: unknown, { names = {}, sides }: Added): string {
  const kept = toKept(verbatim)
  if (!isJsonObject(kept)) return JSON.stringify(kept)
  return JSON.stringify({ ...kept, ...(Object.keys(names).length > 0 && { names }), ...(sides && { sides }) })
}

const keptOfMeta = ['err', 'fee', 'preBalances', 'postBalances', 'preTokenBalances', 'postTokenBalances']

/** A transaction of an unexpected form is kept whole. */
function toKept(verbatim: unknown): unknown {
  if (!isJsonObject(verbatim)) return verbatim
  const { slot, blockTime, transaction, meta } = verbatim
  if (!isJsonObject(transaction) || !isJsonObject(meta) || !isJsonObject(transaction['message'])) return verbatim
  const { accountKeys } = transaction['message']
  if (!Array.isArray(accountKeys)) return verbatim
  const keys = (accountKeys as unknown[]).map((key) => (isJsonObject(key) ? pick(key, ['pubkey', 'signer']) : key))
  const kept = { signatures: transaction['signatures'], message: { accountKeys: keys } }
  return { slot, blockTime, transaction: kept, meta: pick(meta, keptOfMeta) }
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (name in from ? [[name, from[name]]] : [])))
}

// ---------------------------------------------------------------------------------------------------------------
// rewards

export const rewardSchema = z.object({
  epoch: digits,
  effectiveSlot: digits,
  amount: digits,
  postBalance: digits,
})

/** What an epoch paid, from `getInflationReward`. */
export type Reward = z.infer<typeof rewardSchema>

export function readReward({ body }: Pick<StoredRecord, 'body'>): Reward {
  return rewardSchema.parse(parseJson(body))
}
