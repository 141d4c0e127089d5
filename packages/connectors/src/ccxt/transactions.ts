/**
 * Turns stored records into transactions, in the same way for every exchange. The fills of one order make one
 * transaction; every other record is its own. A fill of a contract changes a coin balance only by its fee and, later,
 * by a profit that no list contains. Such fills are kept and marked as incomplete.
 */
import {
  absolute,
  add,
  findDecimal,
  isNegative,
  isPositive,
  isZero,
  multiply,
  subtract,
  zero,
  type Category,
  type Decimal,
  type FeeKind,
  type FeeLeg,
  type Leg,
  type TransactionDraft,
} from '@assay/core'
import type { StoredRecord } from '../kit/connector.ts'
import { toDraft } from '../kit/draft.ts'
import { readAssetCode } from './assets.ts'
import { findAbout } from './catalogue/abouts.ts'
import { getFacts } from './catalogue/definitions.ts'
import {
  isWithdrawal,
  parseEntry,
  parseTrade,
  parseTransfer,
  toProgress,
  type Entry,
  type Trade,
  type Transfer,
} from './records.ts'

export function linkKeys({ stream, partition, key, body }: StoredRecord): [string] {
  if (stream === 'trades') {
    const { order, symbol } = parseTrade(body)
    // An exchange may show a fill in its list of all pairs (the partition '') and again in that of the pair.
    if (typeof order === 'string' && order !== '') return [`order:${partition === '' ? symbol : partition}:${order}`]
  }
  if (stream === 'ledger') {
    const entry = parseEntry(body)
    // Both sides of a conversion are booked at the same moment.
    if (isConversion(entry)) return [`convert:${entry.timestamp}`]
  }
  return [`${stream}:${partition}:${key}`]
}

export function toTransactions(providerId: string, records: readonly StoredRecord[]): TransactionDraft[] {
  const [first] = records
  if (first === undefined) return []
  if (first.stream === 'trades') {
    // An exchange may number its orders per market.
    const byMarket = Map.groupBy(records, ({ body }) => parseTrade(body).symbol)
    return [...byMarket.values()].map((fills) => toOrderDraft(providerId, fills))
  }
  if (linkKeys(first)[0].startsWith('convert:')) return toConvertDrafts(providerId, records)
  return records.flatMap(({ stream, key, body }) =>
    stream === 'ledger'
      ? toEntryDrafts(providerId, key, parseEntry(body))
      : [toTransferDraft(providerId, key, parseTransfer(body), stream)],
  )
}

function toAmount(name: string, value: string | null | undefined): Decimal {
  if (value === undefined || value === null || value === '') return zero
  const amount = findDecimal(value)
  if (amount === undefined) throw new RangeError(`${name} is not a decimal number`)
  return amount
}

interface AssetCodeContext {
  providerId: string
  atMs: number
}

function toLegs({ providerId, atMs }: AssetCodeContext, code: string, amount: Decimal): Leg[] {
  if (isZero(amount)) return []
  const { assetId, symbol } = readAssetCode(providerId, code, atMs)
  return [{ assetId, symbol, amount }]
}

interface Charged {
  fees: FeeLeg[]
  /** A negative fee is a rebate, which is an input. */
  rebates: Leg[]
  isUnknown: boolean
}

type Fee = Readonly<{ currency?: string | null | undefined; cost?: string | null | undefined }>

function toCharged(context: AssetCodeContext, kind: FeeKind, listed: readonly Fee[]): Charged {
  const charged: Charged = { fees: [], rebates: [], isUnknown: false }
  for (const { currency, cost } of listed) {
    const amount = toAmount('fee', cost)
    if (isZero(amount)) continue
    if (typeof currency !== 'string' || currency === '') {
      charged.isUnknown = true
      continue
    }
    const legs = toLegs(context, currency, absolute(amount))
    if (isNegative(amount)) charged.rebates.push(...legs)
    else charged.fees.push(...legs.map((leg) => ({ ...leg, kind })))
  }
  return charged
}

/** Merges the legs of each asset into one. */
function joinLegs<Kept extends Leg>(legs: readonly Kept[]): Kept[] {
  const byAsset = new Map<string, Kept>()
  for (const leg of legs) {
    const before = byAsset.get(leg.assetId)
    byAsset.set(leg.assetId, before === undefined ? leg : { ...leg, amount: add(before.amount, leg.amount) })
  }
  return [...byAsset.values()]
}

function toOrderDraft(providerId: string, records: readonly StoredRecord[]): TransactionDraft {
  const fills = listOnce(records)
    .map(({ key, partition, body }) => ({ key, partition, trade: parseTrade(body) }))
    .toSorted((a, b) => a.trade.timestamp - b.trade.timestamp || (a.key < b.key ? -1 : 1))
  const [first] = fills as [(typeof fills)[number], ...typeof fills]
  const inputs: Leg[] = []
  const outputs: Leg[] = []
  const fees: FeeLeg[] = []
  const incomplete = new Set<string>()
  for (const { trade } of fills) {
    const context = { providerId, atMs: trade.timestamp }
    const charged = toCharged(context, 'trading', trade.fees?.length ? trade.fees : trade.fee ? [trade.fee] : [])
    fees.push(...charged.fees)
    inputs.push(...charged.rebates)
    if (charged.isUnknown) incomplete.add('fees')
    const sides = findSides(trade)
    if (sides === undefined) {
      incomplete.add('inputs').add('outputs')
      continue
    }
    const bases = toLegs(context, sides.base, absolute(toAmount('amount', trade.amount)))
    const quotes = toLegs(context, sides.quote, costOf(trade))
    inputs.push(...(trade.side === 'buy' ? bases : quotes))
    outputs.push(...(trade.side === 'buy' ? quotes : bases))
  }
  const isUnknown = incomplete.has('inputs')
  const { order, symbol, side, timestamp } = first.trade
  return toDraft({
    // An order that fills over several weeks makes several groups of records, and each needs its own key.
    naturalKey: `trade:${first.partition}:${first.key}`,
    occurredAtMs: timestamp,
    type: isUnknown ? 'uncategorized' : 'input_and_output',
    category: isUnknown ? 'other' : 'trade',
    inputs: joinLegs(inputs),
    outputs: joinLegs(outputs),
    fees: joinLegs(fees),
    providerReference: order ?? null,
    description: typeof side === 'string' ? `${side === 'buy' ? 'Buy' : 'Sell'} ${symbol}` : symbol,
    incomplete: [...incomplete],
  })
}

/** Each fill once, even if two lists have it. */
function listOnce(records: readonly StoredRecord[]): StoredRecord[] {
  const sorted = records.toSorted((a, b) => (a.partition < b.partition ? 1 : -1))
  return [...new Map(sorted.map((record) => [record.key, record])).values()]
}

/**
 * Returns undefined for a contract, and for a market that the exchange does not list, because ccxt then has only its
 * raw name. A name such as `BTC/USDT` shows both sides even after the pair was delisted.
 */
function findSides({ base, quote, isSpot, symbol }: Trade): { base: string; quote: string } | undefined {
  if (isSpot === false) return undefined
  if (typeof base === 'string' && typeof quote === 'string') return { base, quote }
  const [, left, right] = /^([^/:]+)\/([^/:]+)$/.exec(symbol) ?? []
  return left === undefined || right === undefined ? undefined : { base: left, quote: right }
}

function costOf({ cost, price, amount }: Trade): Decimal {
  const told = toAmount('cost', cost)
  return absolute(isZero(told) ? multiply(toAmount('price', price), toAmount('amount', amount)) : told)
}

function toTransferDraft(providerId: string, key: string, row: Transfer, stream: string): TransactionDraft {
  const atMs = row.timestamp ?? row.updated ?? 0
  const context = { providerId, atMs }
  const isOut = isWithdrawal(stream, row)
  const status = toProgress(row)
  const hasMoved = status !== 'failed'
  const legs = hasMoved ? toLegs(context, row.currency, absolute(toAmount('amount', row.amount))) : []
  // The amount of a deposit is what arrives: an exchange that charges a fee has already deducted it. The amount of a
  // withdrawal is what the recipient gets, and the fee is charged on top.
  const listed =
    row.fee && hasMoved && isOut ? [{ currency: row.fee.currency ?? row.currency, cost: row.fee.cost }] : []
  const charged = toCharged(
    context,
    'withdrawal',
    listed.map(({ currency, cost }) => ({ currency, cost: positive(cost) })),
  )
  return toDraft({
    naturalKey: `${isOut ? 'withdrawal' : 'deposit'}:${key}`,
    occurredAtMs: atMs,
    type: isOut ? 'send' : 'receive',
    category: isOut ? 'withdrawal' : 'deposit',
    status,
    ...(isOut && status === 'pending' ? { isDebited: true } : {}),
    ...(isOut ? { outputs: legs } : { inputs: legs }),
    fees: charged.fees,
    providerReference: row.id ?? null,
    description: textOf(row.comment),
    ...chainOf(row, isOut),
  })
}

/** Exchanges write transfer fees with either sign, and never refund them. */
function positive(cost: string | null | undefined): string | null | undefined {
  return cost?.replace(/^-/, '')
}

type Chain = Pick<TransactionDraft, 'network' | 'hash' | 'fromAddress' | 'toAddress' | 'incomplete'>

function chainOf({ network, txid, addressFrom, addressTo, address, internal }: Transfer, isOut: boolean): Chain {
  const members = {
    network: textOf(network),
    hash: internal === true ? null : textOf(txid),
    fromAddress: textOf(addressFrom),
    toAddress: textOf(addressTo) ?? (isOut ? textOf(address) : null),
  }
  const names = { network: 'network', hash: 'hash', fromAddress: 'from_address', toAddress: 'to_address' } as const
  const missing = Object.entries(names).filter(([member]) => members[member as keyof typeof members] === null)
  return { ...members, incomplete: internal === true ? [] : missing.map(([, name]) => name) }
}

function textOf(value: string | null | undefined): string | null {
  return value === undefined || value === null || value === '' ? null : value
}

/** Words for entries that no other list contains, and their categories. The first match counts. */
const gains: readonly (readonly [RegExp, Category])[] = [
  [/^(?:earned fees|affiliate)\b/i, 'other'],
  [/stak/i, 'staking_reward'],
  [/interest|earn|lending|payout|yield/i, 'interest'],
  [/airdrop|distribution|dividend|fork/i, 'airdrop'],
  [/mining/i, 'mining'],
  [/cash ?back|referral|reward|bonus|prize|refund|gift|promo|compensation/i, 'other'],
]

/** Words for what leaves the account as a price, and its category. The first match counts. */
const charges: readonly (readonly [RegExp, Category])[] = [[/interest|profit.shar/i, 'fee']]

/**
 * Coins that enter a product or come back from it (Bybit: FLEXIBLE_STAKING_SUBSCRIPTION). They are neither earned nor
 * spent, and whether a balance shows the product is not known.
 */
const productWords = /subscription|redemption|staking_refund|structured?.product/i

/** Conversions are trades that are missing from the list of trades. Bybit: CURRENCY_BUY and CURRENCY_SELL. */
const convertWords = /currency_(?:buy|sell)|convert|conversion|dust/i

/**
 * Bitfinex writes a sentence instead of a type, which ccxt mistakes for a trade: "Conversion of 100.0 UST to … on
 * wallet exchange".
 */
const convertSentence = /^conver(?:t|sion)\b/i

/**
 * Bitfinex ends each sentence with the wallet, and ccxt takes whatever is booked "on wallet exchange" for a trade, such as
 * an airdrop. Its trades begin with the word: "Exchange 0.09 BTC for USD @ 1020.0 on wallet exchange".
 */
const ofExchangeWallet = /^(?!exchange\b)(.*) on wallet exchange$/i

/** Bitfinex, of the fees of another account, which ccxt takes for fees and rebates of this one's trades. */
const ofReferral = /^((?:earned fees from user|affiliate rebate)\b.*?)(?: on wallet \w+)?$/i

/** Bitfinex: "Transfer of 5.0 UST from wallet Exchange to Exchange SA(main->second) on wallet exchange". */
const otherAccountSentence = /^transfer of [^(]{1,100} SA\(/i

function isConversion(entry: Entry): boolean {
  return wordsOf(entry).some((word) => convertWords.test(word)) || convertSentence.test(entry.ownText ?? '')
}

/**
 * Words for movements that the other lists contain, if the exchange has those lists. A rebate is a negative trading
 * fee. Bitfinex also books it in its ledger, and it must not count twice.
 */
const tradeWords = /rebate|trad|order|buy|sell|exchange|match|fill|commission|fee|liquidat/i
const depositWords = /deposit/i
const withdrawalWords = /withdraw/i
/** Movements inside the account, and words that may mean anything. These never count. */
const innerWords = /transaction|transfer|funding|margin|settle|deliver|position|pnl/i

/** Returns the meaning of an entry that no other list contains, or undefined when the entry does not count. */
function findMeaning(words: readonly string[], isOut: boolean, streams: ReadonlySet<string>): Meaning | undefined {
  const [own = ''] = words
  const says = (pattern: RegExp): boolean => words.some((word) => pattern.test(word))
  // The exchange's own word comes first, because ccxt has only a few types and calls Bybit's INTEREST a transaction.
  if (productWords.test(own)) return { type: 'uncategorized', category: 'other' }
  const charge = isOut ? charges.find(([pattern]) => pattern.test(own)) : undefined
  if (charge !== undefined) return { type: 'output_only', category: charge[1] }
  const gain = gains.find(([pattern]) => pattern.test(own))
  if (gain !== undefined)
    return isOut ? { type: 'uncategorized', category: 'other' } : { type: 'input_only', category: gain[1] }
  if (says(depositWords) || says(withdrawalWords)) {
    const hasList = streams.has('transfers') || streams.has(says(depositWords) ? 'deposits' : 'withdrawals')
    if (hasList) return undefined
    return isOut ? { type: 'send', category: 'withdrawal' } : { type: 'receive', category: 'deposit' }
  }
  if (says(tradeWords)) {
    return streams.has('trades') ? undefined : { type: isOut ? 'output_only' : 'input_only', category: 'trade' }
  }
  return says(innerWords) ? undefined : { type: 'uncategorized', category: 'other' }
}

/** Between two accounts of one person. Neither of them lists it among deposits and withdrawals. */
function findTransfer({ ownText }: Entry, isOut: boolean): Meaning | undefined {
  if (!otherAccountSentence.test(ownText ?? '')) return undefined
  return { type: isOut ? 'send' : 'receive', category: 'transfer' }
}

type Meaning = Pick<TransactionDraft, 'type' | 'category'>

function toEntryDrafts(providerId: string, key: string, entry: Entry): TransactionDraft[] {
  const words = wordsOf(entry)
  const [word] = words
  // A numeric type could be a trade.
  if (word === undefined || entry.status === 'failed' || entry.status === 'canceled') return []
  // A balance is without its debt (balances.ts): a loan brings as much as it makes owed.
  if (findAbout(providerId).lists?.ledger?.loans?.includes(word) === true) return []
  const amount = toAmount('amount', entry.amount)
  const isOut = isOutgoing(entry)
  const streams = new Set(getFacts(providerId).lists.map(({ stream }) => stream))
  const meaning = findMeaning(words, isOut, streams) ?? findTransfer(entry, isOut)
  if (meaning === undefined || isZero(amount)) return []
  return [
    toDraft({
      naturalKey: `ledger:${key}`,
      occurredAtMs: entry.timestamp,
      ...meaning,
      method: 'rule',
      confidence: meaning.type === 'uncategorized' ? 0.3 : 0.8,
      ...toBooked(providerId, 'other', entry),
      providerReference: entry.referenceId ?? entry.id ?? null,
      description: word,
    }),
  ]
}

function isOutgoing({ direction, amount }: Entry): boolean {
  return direction === 'out' || isNegative(toAmount('amount', amount))
}

/** What an entry moved. A fee that its amount contains is shown beside the rest, and the sum stays the same. */
function toBooked(
  providerId: string,
  kind: FeeKind,
  entry: Entry,
): Pick<TransactionDraft, 'inputs' | 'outputs' | 'fees'> {
  const context = { providerId, atMs: entry.timestamp }
  const amount = absolute(toAmount('amount', entry.amount))
  const isOut = isOutgoing(entry)
  const { fees, rebates } = toCharged(context, kind, entry.fee ? [entry.fee] : [])
  const moved = (size: Decimal): { inputs: Leg[]; outputs: Leg[] } => {
    const legs = toLegs(context, entry.currency, size)
    return isOut ? { inputs: [], outputs: legs } : { inputs: legs, outputs: [] }
  }
  if (findAbout(providerId).lists?.ledger?.feesAreWithin !== true) {
    const { inputs, outputs } = moved(amount)
    return { inputs: [...inputs, ...rebates], outputs, fees }
  }
  const charged = fees.reduce((sum, fee) => add(sum, fee.amount), zero)
  const rest = isOut ? subtract(amount, charged) : add(amount, charged)
  // A fee that is all that left, or more, is an amount itself.
  return isPositive(rest) ? { ...moved(rest), fees } : { ...moved(amount), fees: [] }
}

/** The exchange's own type comes before ccxt's. Numeric types are left out, because they could mean a trade. */
function wordsOf({ ownType, ownText, type }: Entry): string[] {
  const told = ownText ?? ''
  const [, sentence] = ofReferral.exec(told) ?? (type === 'trade' ? ofExchangeWallet.exec(told) : null) ?? []
  return (sentence === undefined ? [ownType, type] : [sentence])
    .filter((word) => typeof word === 'string')
    .filter((word) => /[a-z]/i.test(word))
}

function toConvertDrafts(providerId: string, records: readonly StoredRecord[]): TransactionDraft[] {
  const entries = records
    .map(({ key, body }) => ({ key, entry: parseEntry(body) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const [first] = entries
  const inputs: Leg[] = []
  const outputs: Leg[] = []
  const fees: FeeLeg[] = []
  for (const { entry } of entries) {
    const booked = toBooked(providerId, 'conversion', entry)
    inputs.push(...booked.inputs)
    outputs.push(...booked.outputs)
    fees.push(...booked.fees)
  }
  if (first === undefined || inputs.length + outputs.length === 0) return []
  const isWhole = inputs.length > 0 && outputs.length > 0
  return [
    toDraft({
      naturalKey: `ledger:${first.key}`,
      occurredAtMs: first.entry.timestamp,
      type: isWhole ? 'input_and_output' : 'uncategorized',
      category: 'convert',
      method: 'rule',
      confidence: isWhole ? 0.9 : 0.3,
      inputs: joinLegs(inputs),
      outputs: joinLegs(outputs),
      fees: joinLegs(fees),
      providerReference: first.entry.referenceId ?? first.entry.id ?? null,
      description: wordsOf(first.entry)[0] ?? null,
    }),
  ]
}
