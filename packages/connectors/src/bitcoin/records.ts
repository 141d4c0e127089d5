/**
 * Converts a transaction of the chain to a record and back. The body keeps the amounts and addresses. Scripts,
 * signatures and witnesses are left out, because they are most of the bytes and say nothing about amounts.
 */
import { z } from 'zod'
import type { RawRecord, StoredRecord, Window } from '../kit/connector.ts'
import { isJsonObject, parseJson } from '../kit/json.ts'
import { toRawRecord } from '../kit/records.ts'
import { confirmationsNeeded } from './definition.ts'

const digits = z.string().regex(/^\d{1,18}$/)
const txidSchema = z.string().regex(/^[0-9a-f]{64}$/)

const outputSchema = z.object({ scriptpubkey_address: z.string().nullish(), value: digits })
const inputSchema = z.object({ is_coinbase: z.boolean().default(false), prevout: outputSchema.nullish() })
const statusSchema = z.object({
  confirmed: z.boolean(),
  block_hash: z.string().nullish(),
  block_height: digits.nullish(),
  // Later times are of the year 2286 and after it.
  block_time: digits.max(10).nullish(),
})
const transactionSchema = z.object({
  txid: txidSchema,
  vin: z.array(inputSchema).min(1),
  vout: z.array(outputSchema).min(1),
  fee: digits,
  status: statusSchema,
})
export type ChainTransaction = z.infer<typeof transactionSchema>

/** Throws for a body that cannot be read. */
export function readTransaction({ body }: Pick<StoredRecord, 'body'>): ChainTransaction {
  return transactionSchema.parse(parseJson(body))
}

export interface ReadContext {
  window: Window
  tipHeight: number
  /** For a transaction that is not in a block: when we first saw it. The chain does not say. */
  seenMs(txid: string): number
  isOwn(address: string): boolean
}

export interface Amounts {
  funded: bigint
  spent: bigint
}

/** What a page needs to know about a transaction in addition to its record. */
export interface SeenTransaction {
  record: RawRecord
  /** Undefined if the record cannot be read. */
  txid: string | undefined
  /** The block that contains it; undefined while it is unconfirmed. */
  block: { height: number; hash: string; timeMs: number } | undefined
  /** What it gives to each address, and takes from it. */
  amounts: ReadonlyMap<string, Amounts>
}

export function toSeen(verbatim: unknown, context: ReadContext): SeenTransaction {
  const txid = isJsonObject(verbatim) && typeof verbatim['txid'] === 'string' ? verbatim['txid'] : undefined
  let seen: Omit<SeenTransaction, 'record' | 'txid'> = { block: undefined, amounts: new Map() }
  const record = toRawRecord(
    JSON.stringify(toKept(verbatim, context)),
    context.window,
    (body) => {
      const transaction = readTransaction({ body })
      const block = findBlock(transaction)
      seen = { block, amounts: sumAmounts(transaction) }
      const isSettled = block !== undefined && context.tipHeight - block.height + 1 >= confirmationsNeeded
      return {
        key: transaction.txid,
        occurredAtMs: block?.timeMs ?? context.seenMs(transaction.txid),
        ...(isSettled ? {} : { pending: true }),
      }
    },
    txid,
  )
  return { record, txid: record.unreadable === undefined ? record.key : undefined, ...seen }
}

function findBlock({ status }: ChainTransaction): SeenTransaction['block'] {
  if (!status.confirmed) return undefined
  // A confirmed transaction without its block would be filed under a wrong time.
  const { block_height: height, block_hash: hash, block_time: time } = status
  if (!height || !time) throw new RangeError('status: a confirmed transaction names no block')
  return { height: Number(height), hash: hash ?? '', timeMs: Number(time) * 1_000 }
}

function sumAmounts({ vin, vout }: ChainTransaction): Map<string, Amounts> {
  const sums = new Map<string, Amounts>()
  const add = (output: z.infer<typeof outputSchema>, side: keyof Amounts): void => {
    const { scriptpubkey_address: address, value } = output
    if (!address) return
    const before = sums.get(address) ?? { funded: 0n, spent: 0n }
    sums.set(address, { ...before, [side]: before[side] + BigInt(value) })
  }
  for (const { prevout } of vin) if (prevout) add(prevout, 'spent')
  for (const output of vout) add(output, 'funded')
  return sums
}

/**
 * A transaction of an unexpected shape is stored unchanged. `own` is the number of the wallet's addresses in it. What it
 * means depends on them, and one may be found after it was read: the list of that address then shows a changed record,
 * which is derived again.
 */
function toKept(verbatim: unknown, { isOwn }: ReadContext): unknown {
  if (!isJsonObject(verbatim) || !Array.isArray(verbatim['vin']) || !Array.isArray(verbatim['vout'])) return verbatim
  const { txid, fee, status } = verbatim
  const vin = (verbatim['vin'] as unknown[]).map((input) =>
    isJsonObject(input)
      ? { ...pick(input, ['txid', 'vout', 'is_coinbase']), prevout: toKeptOutput(input['prevout']) }
      : input,
  )
  const vout = (verbatim['vout'] as unknown[]).map(toKeptOutput)
  const outputs = [...vin.map((input) => (isJsonObject(input) ? input['prevout'] : undefined)), ...vout]
  const addresses = new Set(
    outputs.map((output) => (isJsonObject(output) ? output['scriptpubkey_address'] : undefined)),
  )
  const own = [...addresses].filter((address) => typeof address === 'string' && isOwn(address)).length
  return { txid, vin, vout, fee, status, own }
}

function toKeptOutput(output: unknown): unknown {
  return isJsonObject(output) ? pick(output, ['scriptpubkey_type', 'scriptpubkey_address', 'value']) : output
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (name in from ? [[name, from[name]]] : [])))
}
