/**
 * The stored form of a record: `{"ccxt":{…},"info":…}`. `info` is the exchange's own row with its digits unchanged.
 * `ccxt` is what ccxt's parser made of it, because code that does not know the exchange cannot read `info`. So deriving
 * does not need ccxt, and a better parser can read the rows again.
 */
import { createHash } from 'node:crypto'
import { findDecimal } from '@assay/core'
import { z } from 'zod'
import type { RawRecord, Window } from '../kit/connector.ts'
import { parseJson } from '../kit/json.ts'
import { isAhead, isPossibleTime, keyLengthMax } from '../kit/records.ts'
import type { Row } from './answers.ts'
import type { CcxtClient, Market } from './client.ts'
import type { StreamName } from './catalogue/facts.ts'

const text = z.string().nullish()
/** ccxt returns text wherever it uses `number: String`, and numbers where a parser computes a value itself. */
const amount = z.union([z.string(), z.number().transform(String)]).nullish()
const ms = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ])
  .refine(isPossibleTime, 'the time is out of range')

const fee = z.object({ currency: text, cost: amount })
const anyTradeSchema = z.object({
  id: text,
  order: text,
  timestamp: ms,
  symbol: z.string().min(1),
  side: z.enum(['buy', 'sell']).nullish(),
  amount: amount.pipe(z.string()),
  price: amount,
  cost: amount,
  fee: fee.nullish(),
  fees: z.array(fee).nullish(),
  /**
   * Added by us: the two sides of the market when the trade was read. Missing if the exchange does not list the market.
   */
  base: text,
  quote: text,
  isSpot: z.boolean().nullish(),
})
/** A contract moves only its fee, whatever its side, and ccxt does not know that of a trade at BYDFi. */
const tradeSchema = anyTradeSchema.refine(({ side, isSpot }) => isSpot === false || typeof side === 'string', {
  path: ['side'],
  message: 'missing',
})
/** ccxt passes on words of an exchange that it does not know. These say that coins arrive; we have no list of them. */
const incomingTypes: ReadonlySet<string> = new Set(['deposit', 'admincredit', 'reward'])
/** `withdraw` is what ccxt calls a withdrawal of INDODAX. */
const outgoingTypes: ReadonlySet<string> = new Set(['withdrawal', 'withdraw'])
const transferSchema = z
  .object({
    id: text,
    txid: text,
    timestamp: ms.nullish(),
    /** Used only where there is no other time. */
    updated: ms.nullish().catch(undefined),
    type: text,
    currency: z.string().min(1),
    amount: amount.pipe(z.string()),
    fee: fee.nullish(),
    status: text,
    network: text,
    address: text,
    addressFrom: text,
    addressTo: text,
    internal: z.boolean().nullish(),
    comment: text,
  })
  .refine(({ timestamp, updated }) => typeof (timestamp ?? updated) === 'number', 'timestamp: missing')
/** Other types may take coins as well as bring them: Gemini's `admindebit`. */
const typedTransferSchema = transferSchema.refine(
  ({ type }) => typeof type === 'string' && (outgoingTypes.has(type) || incomingTypes.has(type)),
  { path: ['type'], message: 'neither a deposit nor a withdrawal' },
)
const entrySchema = z.object({
  id: text,
  timestamp: ms,
  type: text,
  direction: text,
  currency: z.string().min(1),
  amount: amount.pipe(z.string()),
  fee: fee.nullish(),
  referenceId: text,
  status: text,
  /** Added by us: the exchange's own word for the type, if it has one. */
  ownType: text,
  /** Added by us: the exchange's own sentence about an entry, if it has no word for the type. */
  ownText: text,
})

export type Trade = z.infer<typeof tradeSchema>
export type Transfer = z.infer<typeof transferSchema>
export type Entry = z.infer<typeof entrySchema>

const unified = {
  trades: tradeSchema,
  deposits: transferSchema,
  withdrawals: transferSchema,
  transfers: typedTransferSchema,
  ledger: entrySchema,
}

const ownId = z.string().min(1).optional().catch(undefined)
const time = ms.optional().catch(undefined)
/** What is known of a row, whatever else is wrong with it. */
const identitySchema = z.object({
  ...{ id: ownId, order: ownId, timestamp: time, updated: time },
  ...{ direction: ownId, amount: amount.catch(undefined) },
})
type Identity = z.infer<typeof identitySchema>
const statusSchema = z.object({ status: text.catch(undefined) })

/** Undefined for a row without a time. */
export function findTimeMs(row: Row): number | undefined {
  const { timestamp, updated } = identitySchema.parse(row)
  return timestamp ?? updated
}

const stored = <T>(schema: z.ZodType<T>) => z.object({ ccxt: schema })

export const parseTrade = (body: string): Trade => stored(tradeSchema).parse(parseJson(body)).ccxt
export const parseTransfer = (body: string): Transfer => stored(transferSchema).parse(parseJson(body)).ccxt
export const parseEntry = (body: string): Entry => stored(entrySchema).parse(parseJson(body)).ccxt

export interface ReadRow {
  record: RawRecord
  codes: readonly string[]
  /** False when the record's time is not the row's, or is wrong. */
  hasTime: boolean
  /** A transfer may have no time before it is completed, and none if it failed. It moves nothing until it has one. */
  isUnfinished?: true
}

/**
 * Rows without an id may be equal: two outputs of one transaction to one address, or two fills at one price. The second
 * one of a page gets a number in its key, so that it does not replace the first. Equal rows have one time, and a walk by
 * time shows all rows of a moment on one page.
 *
 * An exchange may also repeat one row by mistake, and nothing tells that from two events that are equal in every member:
 * Bitvavo gives a deposit neither an id nor the output of its transaction. Both rows are kept. One that was kept in vain
 * in the last week is retired by a later read that shows it once, and a proof names the difference of an older one. A row
 * that was left out would never come back, because every later read would leave it out again.
 */
export function readRows(
  client: CcxtClient,
  stream: StreamName,
  rows: readonly Row[],
  markets: ReadonlyMap<string, Market>,
  at: { window: Window; nowMs: number },
): ReadRow[] {
  const counts = new Map<string, number>()
  return rows.map((row) => {
    const read = readRow(client, stream, row, markets, at)
    const { key } = read.record
    if (identitySchema.parse(row).id !== undefined) return read
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    return count === 1 ? read : { ...read, record: { ...read.record, key: `${key}:${count}` } }
  })
}

/** Keeps and marks a row that ccxt could not parse, so that the rest of its page can be read. */
function readRow(
  { write }: CcxtClient,
  stream: StreamName,
  row: Row,
  markets: ReadonlyMap<string, Market>,
  { window, nowMs }: { window: Window; nowMs: number },
): ReadRow {
  const { info } = row
  const known = { ...pick(row, Object.keys(unified[stream].shape)), ...additions(stream, row, markets) }
  const body = write({ ccxt: known, info })
  const identity = identitySchema.parse(known)
  const key = findKey(stream, identity) ?? hash(write(info ?? known))
  const atMs = identity.timestamp ?? identity.updated
  const hasTime = atMs !== undefined && !isAhead(atMs, nowMs)
  const parsed = unified[stream].safeParse(known)
  if (!parsed.success) {
    const reason = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
    const record = { key, occurredAtMs: atMs ?? window.end - 1, body, unreadable: reason.slice(0, 200) }
    const isUnfinished =
      atMs === undefined && isTransferList(stream) && toProgress(statusSchema.parse(row)) !== 'confirmed'
    return { record, codes: [], hasTime, ...(isUnfinished ? { isUnfinished } : {}) }
  }
  return { ...toRead(stream, known as never, body, key), hasTime }
}

/**
 * The key of a row with an id. It is the same whether or not the rest of the row can be read.
 *
 * Some ledgers have one id for all entries of an order or a conversion, as ccxt reads them (Crypto.com). An entry is
 * never changed, so what it says is part of its key, except for its currency: ccxt may call that otherwise later.
 *
 * Many exchanges number trades per market, but the market must not be part of the key: ccxt takes its name from the
 * current list of markets, so a trade would get another key when its pair is delisted. Two trades with the same number
 * differ in their time or their order.
 */
function findKey(
  stream: StreamName,
  { id, order = '', timestamp, direction, amount: moved }: Identity,
): string | undefined {
  if (id === undefined) return undefined
  if (stream === 'ledger') {
    const said = [timestamp, direction, findDecimal(moved ?? '') ?? moved]
    return toKey(`${id}:${hash(JSON.stringify(said)).slice(0, 16)}`)
  }
  if (stream !== 'trades') return toKey(id)
  return timestamp === undefined ? undefined : toKey(`${timestamp}:${order}#${id}`)
}

function pick(row: Row, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => (row[name] === undefined || row[name] === null ? [] : [[name, row[name]]])),
  )
}

function additions(stream: StreamName, row: Row, markets: ReadonlyMap<string, Market>): object {
  if (stream === 'ledger') {
    // pages.ts has found the word for a number.
    if (row['ownType'] !== undefined) return {}
    const { type } = (row['info'] ?? {}) as { type?: unknown }
    if (typeof type === 'string') return { ownType: type }
    const sentence = findSentence(row['info'])
    return sentence === undefined ? {} : { ownText: sentence }
  }
  const market = stream === 'trades' ? markets.get(String(row['symbol'])) : undefined
  return market === undefined ? {} : { base: market.base, quote: market.quote, isSpot: market.isSpot }
}

/** Finds the first text with several words. Some exchanges send a row as an array, which ccxt may wrap in an object. */
function findSentence(info: unknown): string | undefined {
  if (typeof info === 'string') return /\S \S/.test(info) ? info : undefined
  if (typeof info !== 'object' || info === null) return undefined
  return Object.values(info)
    .map(findSentence)
    .find((found) => found !== undefined)
}

function toRead(
  stream: StreamName,
  known: Trade & Transfer & Entry,
  body: string,
  key: string,
): Pick<ReadRow, 'record' | 'codes'> {
  if (stream === 'trades') {
    const { timestamp, base, quote } = tradeSchema.parse(known)
    return { record: { key, occurredAtMs: timestamp, body }, codes: listCodes(base, quote) }
  }
  if (stream === 'ledger') {
    const { timestamp, currency } = entrySchema.parse(known)
    return { record: { key, occurredAtMs: timestamp, body }, codes: [currency] }
  }
  const row = transferSchema.parse(known)
  const atMs = row.timestamp ?? row.updated
  if (atMs === undefined || atMs === null) throw new TypeError('a transfer without a time is unreadable')
  const record = { key: transferKey(stream, row), occurredAtMs: atMs, body }
  return { record: toProgress(row) === 'pending' ? { ...record, pending: true } : record, codes: [row.currency] }
}

/**
 * If the exchange gives a transfer no id, the key is made of members that stay the same until it is final: its time, and
 * the hash of a deposit. A withdrawal gets a hash only when it is sent (Bitvavo, Deepcoin).
 */
function transferKey(stream: StreamName, row: Transfer): string {
  const { id, txid, timestamp, currency, amount: moved, addressTo, address } = row
  if (typeof id === 'string' && id !== '') return toKey(id)
  const isDated = typeof timestamp === 'number'
  const place = isWithdrawal(stream, row) && isDated ? [timestamp] : [timestamp, txid]
  // An exchange may write 0.1 as 0.10000000 another time.
  return hash(JSON.stringify([...place, currency, findDecimal(moved) ?? moved, addressTo ?? address]))
}

function isTransferList(stream: StreamName): boolean {
  return stream !== 'trades' && stream !== 'ledger'
}

/**
 * Where deposits and withdrawals are two lists, the list decides. ccxt guesses the type of a row at some exchanges: by its
 * hash at KuCoin, and by its address at Bitvavo.
 */
export function isWithdrawal(stream: string, { type }: Pick<Transfer, 'type'>): boolean {
  return stream === 'withdrawals' || (stream === 'transfers' && outgoingTypes.has(type ?? ''))
}

/** ccxt maps to `ok`, `pending`, `failed` and `canceled`, and passes other words on (Bybit: `fail`, `processing`). */
export function toProgress({ status }: Pick<Transfer, 'status'>): 'pending' | 'confirmed' | 'failed' {
  if (typeof status !== 'string' || /^(?:ok|success\w*|complete\w*|done|credited|confirmed)$/i.test(status))
    return 'confirmed'
  // An unknown word counts as pending, so the transfer neither creates money nor is lost.
  return /fail|cancel|reject|expire|refund|revert|error/i.test(status) ? 'failed' : 'pending'
}

function listCodes(...codes: readonly (string | null | undefined)[]): string[] {
  return codes.filter((code) => typeof code === 'string')
}

function toKey(id: string): string {
  return id.length <= keyLengthMax ? id : hash(id)
}

function hash(content: string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 32)
}
