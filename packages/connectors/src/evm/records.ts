/**
 * Rows of an index and receipts of a node, from stored text to typed values. Shapes: docs.etherscan.io (txlist,
 * txlistinternal, tokentx, tokennfttx, token1155tx, txsBeaconWithdrawal) and Blockscout's address_view.ex. Only members
 * that we use are parsed, and all numbers are text. Addresses come in lower case (Etherscan) or with a checksum, and
 * are in lower case from here on.
 *
 * A transfer of a token or between contracts has no id that all indexes give (`traceId` is Etherscan's, `index` and
 * `logIndex` are Blockscout's). Its content is its id, with a number for the second of two equal rows, so that an
 * operator can change the index without duplicating a history.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parseJson, readAnswer } from '../kit/json.ts'
import type { StreamName } from './definition.ts'

/** Contracts count in 256 bits. A larger number cannot be sent back to a contract. */
const digits = z
  .string()
  .regex(/^\d{1,78}$/, { abort: true })
  .refine((text) => BigInt(text) < 2n ** 256n, 'more than 256 bits')
const hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/i)
  .transform((text) => text.toLowerCase())
const address = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/i)
  .transform((text) => text.toLowerCase())
/** Contract creations have no recipient. */
const maybeAddress = z
  .union([address, z.literal('')])
  .nullish()
  .transform((text) => text ?? '')
const text = z.string().nullish()
const block = z.string().regex(/^\d{1,12}$/)
const seconds = z.string().regex(/^\d{1,11}$/)

const transaction = z.object({
  blockNumber: block,
  timeStamp: seconds,
  hash,
  blockHash: text,
  from: address,
  to: maybeAddress,
  contractAddress: maybeAddress,
  value: digits,
  gasPrice: z.union([digits, z.literal('')]).nullish(),
  gasUsed: digits,
  isError: text,
  /** Empty before Byzantium, when receipts had no status. */
  txreceipt_status: text,
  functionName: text,
  /** In wei, where the index of a rollup gives it. */
  l1Fee: digits.nullish(),
})
const internal = z.object({
  blockNumber: block,
  timeStamp: seconds,
  hash: hash.nullish(),
  transactionHash: hash.nullish(),
  from: address,
  to: maybeAddress,
  contractAddress: maybeAddress,
  value: digits,
  type: text,
  callType: text,
  index: text,
  isError: text,
})
const token = z.object({
  blockNumber: block,
  timeStamp: seconds,
  hash,
  blockHash: text,
  from: address,
  to: address,
  contractAddress: address,
  tokenName: text,
  tokenSymbol: text,
  /** Added to the row when it is read. */
  contractDecimals: z
    .string()
    .regex(/^\d{1,2}$/)
    .exactOptional(),
  value: digits.nullish(),
  tokenID: digits.nullish(),
  tokenValue: digits.nullish(),
  /** Blockscout, for a batch of ERC-1155. */
  tokenIDs: z.array(digits).nullish(),
  values: z.array(digits).nullish(),
})
const withdrawal = z.object({
  withdrawalIndex: digits,
  validatorIndex: digits,
  address,
  /** In gwei. */
  amount: digits,
  blockNumber: block,
  timestamp: seconds,
})
const quantity = z.string().regex(/^0x[0-9a-f]{1,64}$/i)
const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: z.string().regex(/^0x[0-9a-f]{1,12}$/i),
  l1Fee: quantity.nullish(),
  /**
   * Added when it is read, to that of a deposit from the first layer: the coins that were made for the sender before
   * the transaction ran (specs.optimism.io, "Deposits").
   */
  mint: quantity.nullish(),
})
/** Only what is asked for beside the receipt. */
const typed = z.object({ type: text })
const minting = z.object({ mint: quantity.nullish() })

export type Transaction = z.infer<typeof transaction>
export type TokenRow = z.infer<typeof token>
export type Withdrawal = z.infer<typeof withdrawal>
export type Receipt = z.infer<typeof receipt>
export type Internal = Omit<z.infer<typeof internal>, 'hash' | 'transactionHash'> & { hash: string }

export const parseTransaction = (body: string): Transaction => transaction.parse(parseJson(body))
export const parseToken = (body: string): TokenRow => token.parse(parseJson(body))
export const parseWithdrawal = (body: string): Withdrawal => withdrawal.parse(parseJson(body))
export const readReceipt = (answer: unknown): Receipt => readAnswer('eth_getTransactionReceipt', receipt, answer)
/** The type of transaction that brings coins from the first layer of an OP stack. */
export const isDeposit = (answer: unknown): boolean => typed.safeParse(answer).data?.type === '0x7e'
export const readMint = (answer: unknown): string | undefined =>
  readAnswer('eth_getTransactionByHash', minting, answer).mint ?? undefined
export const parseReceipt = (body: string): Receipt => receipt.parse(parseJson(body))

export function parseInternal(body: string): Internal {
  const { hash: named, transactionHash, ...row } = internal.parse(parseJson(body))
  const found = named ?? transactionHash
  if (found === undefined || found === null) throw new RangeError('an internal transaction without a hash')
  return { ...row, hash: found }
}

/**
 * The code of another contract runs with the caller's own money, so nothing moves. A failed call moved nothing either.
 */
export function movesValue({ isError, callType, type }: Pick<Internal, 'isError' | 'callType' | 'type'>): boolean {
  return isError !== '1' && ![callType, type].some((kind) => /^(?:delegatecall|staticcall|callcode)$/i.test(kind ?? ''))
}

/** What paging needs to know of a row. */
export interface Head {
  /** Unique within its list, except for identical rows of one transaction. */
  name: string
  block: number
  occurredAtMs: number
  /** Null for rows that no transaction caused. */
  hash: string | null
  blockHash: string | null
  from: string | null
  /** A batch of collectibles lists one for each piece. */
  moves: number
}

interface Dated {
  blockNumber: string
  timeStamp: string
}

type Named = Omit<Head, 'block' | 'occurredAtMs' | 'moves'>

function headOf({ blockNumber, timeStamp }: Dated, more: Named, moves = 1): Head {
  return { block: Number(blockNumber), occurredAtMs: Number(timeStamp) * 1000, ...more, moves }
}

function contentName(of: string, ...parts: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return `${of}:${digest.slice(0, 16)}`
}

function readToken(body: string): Head {
  const row = parseToken(body)
  const { hash: of, from, to, contractAddress, value, tokenID, tokenValue, tokenIDs, values } = row
  const what = [value ?? '', tokenID ?? '', tokenValue ?? '', tokenIDs ?? [], values ?? []]
  const name = contentName(of, contractAddress, from, to, ...what)
  return headOf(row, { name, hash: of, blockHash: row.blockHash ?? null, from }, tokenIDs?.length)
}

export const headReaders: Readonly<Record<StreamName, (body: string) => Head>> = {
  transactions(body) {
    const row = parseTransaction(body)
    return headOf(row, { name: row.hash, hash: row.hash, blockHash: row.blockHash ?? null, from: row.from })
  },
  internal(body) {
    const row = parseInternal(body)
    const name = contentName(row.hash, row.from, row.to, row.contractAddress, row.value, movesValue(row))
    return headOf(row, { name, hash: row.hash, blockHash: null, from: row.from })
  },
  erc20: readToken,
  erc721: readToken,
  erc1155: readToken,
  withdrawals(body) {
    const row = parseWithdrawal(body)
    const dated = { blockNumber: row.blockNumber, timeStamp: row.timestamp }
    return headOf(dated, { name: row.withdrawalIndex, hash: null, blockHash: null, from: null })
  },
}

/** A receipt lies beside its transaction, in the same list. */
export function receiptKey(of: string): string {
  return `${of}:receipt`
}

export function isReceiptKey(key: string): boolean {
  return key.endsWith(':receipt')
}
