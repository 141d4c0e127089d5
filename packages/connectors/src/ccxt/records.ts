/**
 * Records as they are kept: `{"ccxt":{…},"info":…}`. `info` is the exchange's own row, digits untouched; `ccxt` is what
 * ccxt's parser made of it, without which a row means nothing to code that knows no exchange. Deriving needs no ccxt then,
 * and a better parser can read the rows again.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { RawRecord, Window } from '../kit/connector.ts'
import { parseJson } from '../kit/json.ts'
import type { CcxtClient, Market } from './client.ts'
import type { StreamName } from './catalogue/facts.ts'

const text = z.string().nullish()
/** ccxt gives text where `number: String` reaches, and numbers where a parser computes on its own. */
const amount = z.union([z.string(), z.number().transform(String)]).nullish()
const ms = z.union([
  z.number(),
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
])

const fee = z.object({ currency: text, cost: amount })
const tradeSchema = z.object({
  id: text,
  order: text,
  timestamp: ms,
  symbol: z.string().min(1),
  side: z.enum(['buy', 'sell']),
  amount: amount.pipe(z.string()),
  price: amount,
  cost: amount,
  fee: fee.nullish(),
  fees: z.array(fee).nullish(),
  /** Ours: the market's two sides when the trade was read; missing for a market that the exchange does not list. */
  base: text,
  quote: text,
  isSpot: z.boolean().nullish(),
})
const transferSchema = z.object({
  id: text,
  txid: text,
  timestamp: ms.nullish(),
  updated: ms.nullish(),
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
  /** Ours: the exchange's own word for the type, where it is one. */
  ownType: text,
  /** Ours: the exchange's own sentence about an entry, where it has no word for the type. */
  ownText: text,
})

export type Trade = z.infer<typeof tradeSchema>
export type Transfer = z.infer<typeof transferSchema>
export type Entry = z.infer<typeof entrySchema>

const unified = {
  trades: tradeSchema,
  deposits: transferSchema,
  withdrawals: transferSchema,
  transfers: transferSchema,
  ledger: entrySchema,
}

const stored = <T>(schema: z.ZodType<T>) => z.object({ ccxt: schema })

export const parseTrade = (body: string): Trade => stored(tradeSchema).parse(parseJson(body)).ccxt
export const parseTransfer = (body: string): Transfer => stored(transferSchema).parse(parseJson(body)).ccxt
export const parseEntry = (body: string): Entry => stored(entrySchema).parse(parseJson(body)).ccxt

export interface ReadRow {
  record: RawRecord
  codes: readonly string[]
}

type Row = Readonly<Record<string, unknown>>

/** A row that ccxt could not parse is kept and marked, and the rest of its page is read. */
export function readRow(
  { write }: CcxtClient,
  stream: StreamName,
  row: Row,
  markets: ReadonlyMap<string, Market>,
  window: Window,
): ReadRow {
  const { info } = row
  const known = { ...pick(row, Object.keys(unified[stream].shape)), ...additions(stream, row, markets) }
  const body = write({ ccxt: known, info })
  const parsed = unified[stream].safeParse(known)
  if (!parsed.success) {
    const reason = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
    const record = {
      key: hash(write(info ?? null)),
      occurredAtMs: window.end - 1,
      body,
      unreadable: reason.slice(0, 200),
    }
    return { record, codes: [] }
  }
  return toRead(stream, known as never, body)
}

function pick(row: Row, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => (row[name] === undefined || row[name] === null ? [] : [[name, row[name]]])),
  )
}

function additions(stream: StreamName, row: Row, markets: ReadonlyMap<string, Market>): object {
  if (stream === 'ledger') {
    const { type } = (row['info'] ?? {}) as { type?: unknown }
    if (typeof type === 'string') return { ownType: type }
    const sentence = findSentence(row['info'])
    return sentence === undefined ? {} : { ownText: sentence }
  }
  const market = stream === 'trades' ? markets.get(String(row['symbol'])) : undefined
  return market === undefined ? {} : { base: market.base, quote: market.quote, isSpot: market.isSpot }
}

/** The first text of several words in a row, which some exchanges write as an array and ccxt may wrap in an object. */
function findSentence(info: unknown): string | undefined {
  if (typeof info === 'string') return /\S \S/.test(info) ? info : undefined
  if (typeof info !== 'object' || info === null) return undefined
  return Object.values(info)
    .map(findSentence)
    .find((found) => found !== undefined)
}

function toRead(stream: StreamName, known: Trade & Transfer & Entry, body: string): ReadRow {
  if (stream === 'trades') {
    const { id, symbol, timestamp, base, quote } = tradeSchema.parse(known)
    // Trade ids count by market at many exchanges.
    const key = `${symbol}#${id ?? hash(body)}`
    return { record: { key, occurredAtMs: timestamp, body }, codes: listCodes(base, quote) }
  }
  if (stream === 'ledger') {
    const { id, timestamp, currency } = entrySchema.parse(known)
    return { record: { key: id ?? hash(body), occurredAtMs: timestamp, body }, codes: [currency] }
  }
  const row = transferSchema.parse(known)
  const atMs = row.timestamp ?? row.updated
  if (atMs === undefined || atMs === null) throw new RangeError('a transfer without a time')
  const record = { key: transferKey(row), occurredAtMs: atMs, body }
  return { record: toProgress(row) === 'pending' ? { ...record, pending: true } : record, codes: [row.currency] }
}

/** What stays the same while a transfer makes its way, where the exchange gives it no id. */
function transferKey({ id, txid, type, currency, amount: moved, addressTo, address, timestamp }: Transfer): string {
  if (typeof id === 'string' && id !== '') return id
  const place = txid ?? String(timestamp)
  return hash(JSON.stringify([place, type, currency, moved, addressTo ?? address ?? '']))
}

/** ccxt means to know `ok`, `pending`, `failed` and `canceled`, and hands on what it does not know (Bybit: `fail`, `processing`). */
export function toProgress({ status }: Pick<Transfer, 'status'>): 'pending' | 'confirmed' | 'failed' {
  if (typeof status !== 'string' || /^(?:ok|success\w*|complete\w*|done|credited|confirmed)$/i.test(status))
    return 'confirmed'
  // A word that is not understood counts as pending: it neither invents money nor is it forgotten.
  return /fail|cancel|reject|expire|refund|revert|error/i.test(status) ? 'failed' : 'pending'
}

function listCodes(...codes: readonly (string | null | undefined)[]): string[] {
  return codes.filter((code) => typeof code === 'string')
}

function hash(content: string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 32)
}
