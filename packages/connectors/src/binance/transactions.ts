/**
 * Turns records into transactions. Nearly every record is one transaction; the fills of one order are joined. For each
 * asset, the change of a balance = inputs − outputs − fees.
 */
import {
  absolute,
  add,
  hourMs,
  isNegative,
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
  type TransactionType,
} from '@assay/core'
import type { StoredRecord } from '../kit/connector.ts'
import { toDraft } from '../kit/draft.ts'
import { baseAssetCodeOf, readAssetCode } from './assets.ts'
import type { StreamName } from './definition.ts'
import { readPartition } from './pairs.ts'
import * as rows from './records.ts'

export function linkKeys({ stream, partition, key, body }: StoredRecord): readonly [string, ...string[]] {
  switch (stream) {
    case 'trades':
      return [`order:${partition}:${rows.parseTrade(body).orderId}`]
    case 'dividends': {
      const row = rows.parseDividend(body)
      if (isSwap(row.enInfo ?? '')) return [`swap:${row.enInfo ?? ''}`]
      const mayRepeat = !isTaken(row) && mayBeOfEarn(row.enInfo ?? '')
      return mayRepeat ? creditKeys(row.asset, row.amount, row.divTime) : [`${stream}:${key}`]
    }
    case 'earn_flexible': {
      const { asset, rewards, type, time } = rows.parseFlexibleReward(body)
      return type === 'REALTIME' ? [`${stream}:${key}`] : creditKeys(asset, rewards, time)
    }
    case 'earn_locked': {
      const { asset, amount, time } = rows.parseLockedReward(body)
      return creditKeys(asset, amount, time)
    }
    default:
      return [`${stream}:${key}`]
  }
}

/**
 * Binance lists rewards of Simple Earn that it pays into the spot wallet among the dividends once more, without an id in
 * common: all bonus rewards of flexible products, some hours later, and none of those in real time (ccxt/ccxt#25793). Two
 * grids of cells, shifted by half of one: rows that are near enough to be the same credit share a cell of at least one of
 * them.
 */
const repeatedMaxMs = 12 * hourMs

function creditKeys(code: string, amount: string, time: string): [string, string] {
  const key = `credit:${baseAssetCodeOf(code)}:${rows.toAmount('amount', amount)}`
  const [atMs, cellMs] = [Number(time), 2 * repeatedMaxMs]
  return [`${key}:a${Math.floor(atMs / cellMs)}`, `${key}:b${Math.floor((atMs + repeatedMaxMs) / cellMs)}`]
}

/**
 * What a dividend says is documented nowhere, so one that says nothing known may repeat a reward. But an equal amount of
 * Launchpool on the same day is income of its own: dust of one unit is equal often.
 */
function mayBeOfEarn(words: string): boolean {
  return earnWords.test(words) || !otherWords.test(words)
}

const earnWords = /earn|flexible|locked|\bapr\b/i
const otherWords =
  /launchpool|megadrop|vault|\bbeth\b|eth 2\.0|airdrop|distribution|fork|mining|rebate|referral|commission|cashback|voucher|gift/i

export function toTransactions(records: readonly StoredRecord[]): TransactionDraft[] {
  const [first] = records
  if (first === undefined) return []
  if (first.stream === 'trades') return [toOrderDraft(first.partition, records)]
  if (first.stream === 'dividends' && linkKeys(first)[0].startsWith('swap:') && records.length > 1) {
    return toSwapDrafts(records)
  }
  return withoutRepeated(records).map((record) => singleDrafts[record.stream as SingleStream](record.body, record.key))
}

/** Drops each dividend that repeats a reward. All records of such a story credit the same amount of one asset. */
function withoutRepeated(records: readonly StoredRecord[]): StoredRecord[] {
  const inOrder = records.toSorted((a, b) => a.occurredAtMs - b.occurredAtMs || (a.key < b.key ? -1 : 1))
  const rewards = inOrder.filter(({ stream }) => stream !== 'dividends')
  let next = 0
  const dividends = inOrder.filter(({ stream, occurredAtMs }) => {
    if (stream !== 'dividends') return false
    while ((rewards[next]?.occurredAtMs ?? Infinity) < occurredAtMs - repeatedMaxMs) next += 1
    const isRepeated = (rewards[next]?.occurredAtMs ?? Infinity) <= occurredAtMs + repeatedMaxMs
    if (isRepeated) next += 1
    return !isRepeated
  })
  return [...rewards, ...dividends]
}

type SingleStream = Exclude<StreamName, 'trades'>

const singleDrafts: Readonly<Record<SingleStream, (body: string, key: string) => TransactionDraft>> = {
  deposits: toDepositDraft,
  withdrawals: toWithdrawalDraft,
  converts: toConvertDraft,
  dividends: toDividendDraft,
  dust: toDustDraft,
  earn_flexible: toFlexibleRewardDraft,
  earn_locked: toLockedRewardDraft,
  fiat_buys: toFiatBuyDraft,
  fiat_sells: toFiatSellDraft,
  fiat_deposits: (body) => toFiatOrderDraft('deposit', body),
  fiat_withdrawals: (body) => toFiatOrderDraft('withdrawal', body),
}

function toLegs(code: string, amount: Decimal, atMs: number): Leg[] {
  if (isZero(amount)) return []
  const { assetId, symbol } = readAssetCode(code, atMs)
  return [{ assetId, symbol, amount }]
}

function toFees(kind: FeeKind, code: string, amount: Decimal, atMs: number): FeeLeg[] {
  return toLegs(code, amount, atMs).map((leg) => ({ ...leg, kind }))
}

/** One leg for each asset. */
function joinLegs<Kept extends Leg>(legs: readonly Kept[]): Kept[] {
  const byAsset = new Map<string, Kept>()
  for (const leg of legs) {
    const before = byAsset.get(leg.assetId)
    byAsset.set(leg.assetId, before === undefined ? leg : { ...leg, amount: add(before.amount, leg.amount) })
  }
  return [...byAsset.values()]
}

function toOrderDraft(partition: string, records: readonly StoredRecord[]): TransactionDraft {
  const { symbol, base, quote } = readPartition(partition)
  const fills = records
    .map(({ body }) => rows.parseTrade(body))
    .toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
  const [first] = fills as [rows.Trade, ...rows.Trade[]]
  const inputs: Leg[] = []
  const outputs: Leg[] = []
  const fees: FeeLeg[] = []
  for (const fill of fills) {
    const atMs = Number(fill.time)
    const bases = toLegs(base, rows.toAmount('qty', fill.qty), atMs)
    const quotes = toLegs(quote, quoteAmountOf(fill), atMs)
    inputs.push(...(fill.isBuyer ? bases : quotes))
    outputs.push(...(fill.isBuyer ? quotes : bases))
    fees.push(...toFees('trading', fill.commissionAsset, rows.toAmount('commission', fill.commission), atMs))
  }
  return toDraft(
    {
      // An order that is filled over weeks makes several groups of records, and each needs its own key.
      naturalKey: `trade:${symbol}:${first.orderId}@${first.id}`,
      occurredAtMs: Number(first.time),
      type: 'input_and_output',
      category: 'trade',
    },
    {
      inputs: joinLegs(inputs),
      outputs: joinLegs(outputs),
      fees: joinLegs(fees),
      providerReference: first.orderId,
      description: `${first.isBuyer ? 'Buy' : 'Sell'} ${symbol}`,
    },
  )
}

function quoteAmountOf({ quoteQty, price, qty }: rows.Trade): Decimal {
  return typeof quoteQty === 'string'
    ? rows.toAmount('quoteQty', quoteQty)
    : multiply(rows.toAmount('price', price), rows.toAmount('qty', qty))
}

function toDepositDraft(body: string, key: string): TransactionDraft {
  const row = rows.parseDeposit(body)
  const atMs = Number(row.insertTime)
  const status = rows.depositProgress(row)
  return toDraft(
    { naturalKey: `deposit:${key}`, occurredAtMs: atMs, type: 'receive', category: 'deposit' },
    {
      status,
      inputs: status === 'failed' ? [] : toLegs(row.coin, rows.toAmount('amount', row.amount), atMs),
      providerReference: key,
      ...chainOf(row, { fromAddress: rows.textOf(row.sourceAddress), toAddress: rows.textOf(row.address) }),
    },
  )
}

/**
 * The amount is what arrives; the fee is taken from the balance beside it. Both leave the balance when the withdrawal
 * is asked for, long before it is over: so it counts as confirmed while it is in progress. Its record is marked as
 * pending, and becomes a failed transaction that moves nothing if Binance returns the money.
 */
function toWithdrawalDraft(body: string, key: string): TransactionDraft {
  const row = rows.parseWithdrawal(body)
  const atMs = rows.withdrawalTimeMs(row)
  const progress = rows.withdrawalProgress(row)
  const isTaken = progress !== 'failed'
  return toDraft(
    { naturalKey: `withdrawal:${key}`, occurredAtMs: atMs, type: 'send', category: 'withdrawal' },
    {
      status: isTaken ? 'confirmed' : 'failed',
      outputs: isTaken ? toLegs(row.coin, rows.toAmount('amount', row.amount), atMs) : [],
      fees: isTaken ? toFees('withdrawal', row.coin, rows.toAmount('transactionFee', row.transactionFee), atMs) : [],
      providerReference: key,
      description: rows.textOf(row.info) ?? (progress === 'pending' ? 'Withdrawal in progress' : null),
      ...chainOf(row, { fromAddress: null, toAddress: rows.textOf(row.address) }),
    },
  )
}

type Chain = Pick<TransactionDraft, 'network' | 'hash' | 'fromAddress' | 'toAddress' | 'incomplete'>

/**
 * A transfer between two Binance accounts is on no chain: its `txId` reads `Internal transfer …` or `Off-chain transfer
 * …`.
 */
function chainOf(
  { network, txId, transferType }: Pick<rows.Deposit, 'network' | 'txId' | 'transferType'>,
  addresses: Pick<Chain, 'fromAddress' | 'toAddress'>,
): Chain {
  const id = rows.textOf(txId)
  const isInternal = transferType === '1' || (id !== null && /^(?:internal|off-chain) transfer/i.test(id))
  const members = { network: rows.textOf(network), hash: isInternal ? null : id, ...addresses }
  const names = { network: 'network', hash: 'hash', fromAddress: 'from_address', toAddress: 'to_address' } as const
  const missing = Object.entries(names).filter(([member]) => members[member as keyof typeof members] === null)
  return { ...members, incomplete: isInternal ? [] : missing.map(([, name]) => name) }
}

function toConvertDraft(body: string): TransactionDraft {
  const row = rows.parseConvert(body)
  const atMs = Number(row.createTime)
  const status = rows.convertProgress(row)
  const hasMoved = status === 'confirmed'
  return toDraft(
    { naturalKey: `convert:${row.orderId}`, occurredAtMs: atMs, type: 'input_and_output', category: 'convert' },
    {
      status,
      inputs: hasMoved ? toLegs(row.toAsset, rows.toAmount('toAmount', row.toAmount), atMs) : [],
      outputs: hasMoved ? toLegs(row.fromAsset, rows.toAmount('fromAmount', row.fromAmount), atMs) : [],
      providerReference: row.orderId,
      description: `Convert ${row.fromAsset} to ${row.toAsset}`,
    },
  )
}

function isTaken({ amount, direction }: rows.Dividend): boolean {
  return isNegative(rows.toAmount('amount', amount)) !== (direction === '-1')
}

function dividendLegs(row: rows.Dividend): Leg[] {
  return toLegs(row.asset, absolute(rows.toAmount('amount', row.amount)), Number(row.divTime))
}

function toDividendDraft(body: string): TransactionDraft {
  const row = rows.parseDividend(body)
  const legs = dividendLegs(row)
  return toDraft(
    {
      naturalKey: `dividend:${row.id}`,
      occurredAtMs: Number(row.divTime),
      ...toDividendKind(row.enInfo ?? '', isTaken(row)),
    },
    {
      ...(isTaken(row) ? { outputs: legs } : { inputs: legs }),
      providerReference: row.id,
      description: rows.textOf(row.enInfo),
    },
  )
}

/**
 * The old coin leaves and the new one arrives as two dividends with the same text. One half alone is not conclusive.
 */
function toSwapDrafts(records: readonly StoredRecord[]): TransactionDraft[] {
  const dividends = records
    .map(({ body }) => rows.parseDividend(body))
    .toSorted((a, b) => Number(a.divTime) - Number(b.divTime) || (a.id < b.id ? -1 : 1))
  const [first] = dividends as [rows.Dividend, ...rows.Dividend[]]
  const inputs = joinLegs(dividends.filter((row) => !isTaken(row)).flatMap(dividendLegs))
  const outputs = joinLegs(dividends.filter(isTaken).flatMap(dividendLegs))
  if (inputs.length === 0 || outputs.length === 0) return records.map(({ body }) => toDividendDraft(body))
  return [
    toDraft(
      {
        naturalKey: `dividend:${first.id}`,
        occurredAtMs: Number(first.divTime),
        type: 'input_and_output',
        category: 'convert',
      },
      {
        method: 'rule',
        confidence: 0.9,
        inputs,
        outputs,
        providerReference: first.id,
        description: first.enInfo ?? null,
      },
    ),
  ]
}

/** All small balances that were turned into BNB at once. `transferedAmount` is what arrived, without the charge. */
function toDustDraft(body: string): TransactionDraft {
  const row = rows.parseDust(body)
  const atMs = Number(row.operateTime)
  const details = row.userAssetDribbletDetails
  const legsOf = (toPart: (detail: (typeof details)[number]) => Leg[]): Leg[] => joinLegs(details.flatMap(toPart))
  const charged = (detail: (typeof details)[number]): Decimal =>
    rows.toAmount('serviceChargeAmount', detail.serviceChargeAmount)
  const targetOf = (detail: (typeof details)[number]): string => rows.textOf(detail.targetAsset) ?? 'BNB'
  return toDraft(
    { naturalKey: `dust:${row.transId}`, occurredAtMs: atMs, type: 'input_and_output', category: 'convert' },
    {
      inputs: legsOf((detail) => {
        const gross = add(rows.toAmount('transferedAmount', detail.transferedAmount), charged(detail))
        return toLegs(targetOf(detail), gross, atMs)
      }),
      outputs: legsOf((detail) => toLegs(detail.fromAsset, rows.toAmount('amount', detail.amount), atMs)),
      fees: joinLegs(details.flatMap((detail) => toFees('conversion', targetOf(detail), charged(detail), atMs))),
      providerReference: row.transId,
      description: 'Small balances converted',
    },
  )
}

function toRewardDraft(
  naturalKey: string,
  atMs: number,
  category: Category,
  inputs: Leg[],
  description: string,
): TransactionDraft {
  return toDraft({ naturalKey, occurredAtMs: atMs, type: 'input_only', category }, { inputs, description })
}

function toFlexibleRewardDraft(body: string, key: string): TransactionDraft {
  const { asset, rewards, type, time } = rows.parseFlexibleReward(body)
  const inputs = toLegs(asset, rows.toAmount('rewards', rewards), Number(time))
  const label = `Simple Earn Flexible${rows.textOf(type) === null ? '' : `: ${type ?? ''}`}`
  return toRewardDraft(`earn_flexible:${key}`, Number(time), 'interest', inputs, label)
}

function toLockedRewardDraft(body: string, key: string): TransactionDraft {
  const { asset, amount, lockPeriod, time } = rows.parseLockedReward(body)
  const inputs = toLegs(asset, rows.toAmount('amount', amount), Number(time))
  const label = `Simple Earn Locked${rows.textOf(lockPeriod) === null ? '' : `, ${lockPeriod ?? ''} days`}`
  return toRewardDraft(`earn_locked:${key}`, Number(time), 'staking_reward', inputs, label)
}

/**
 * `sourceAmount` includes the fee: in Binance's example 20 − 0.2 buys 4.462 at 4.437472. Only a purchase from the "Cash
 * Balance" takes money out of the account; a card or a bank transfer pays from outside, and then only the coins come
 * in.
 */
function toFiatBuyDraft(body: string): TransactionDraft {
  const row = rows.parseFiatPayment(body)
  const atMs = Number(row.createTime)
  const status = rows.fiatProgress(row)
  const hasMoved = status === 'confirmed'
  const isFromBalance = row.paymentMethod === 'Cash Balance'
  const fee = rows.toAmount('totalFee', row.totalFee)
  const paid = subtract(rows.toAmount('sourceAmount', row.sourceAmount), fee)
  return toDraft(
    {
      naturalKey: `fiat_buy:${row.orderNo}`,
      occurredAtMs: atMs,
      type: isFromBalance ? 'input_and_output' : 'input_only',
      category: 'buy',
    },
    {
      status,
      inputs: hasMoved ? toLegs(row.cryptoCurrency, rows.toAmount('obtainAmount', row.obtainAmount), atMs) : [],
      outputs: hasMoved && isFromBalance ? toLegs(row.fiatCurrency, paid, atMs) : [],
      fees: hasMoved && isFromBalance ? toFees('trading', row.fiatCurrency, fee, atMs) : [],
      providerReference: row.orderNo,
      description: `${row.sourceAmount} ${row.fiatCurrency}${isFromBalance ? '' : ` by ${row.paymentMethod ?? 'another way'}`}`,
    },
  )
}

/**
 * `sourceAmount` is what the person gets, and the fee was taken off before. Binance does not say where the money went;
 * the cash balance is the usual place.
 */
function toFiatSellDraft(body: string): TransactionDraft {
  const row = rows.parseFiatPayment(body)
  const atMs = Number(row.createTime)
  const status = rows.fiatProgress(row)
  const hasMoved = status === 'confirmed'
  const fee = rows.toAmount('totalFee', row.totalFee)
  return toDraft(
    { naturalKey: `fiat_sell:${row.orderNo}`, occurredAtMs: atMs, type: 'input_and_output', category: 'sell' },
    {
      status,
      inputs: hasMoved ? toLegs(row.fiatCurrency, add(rows.toAmount('sourceAmount', row.sourceAmount), fee), atMs) : [],
      outputs: hasMoved ? toLegs(row.cryptoCurrency, rows.toAmount('obtainAmount', row.obtainAmount), atMs) : [],
      fees: hasMoved ? toFees('trading', row.fiatCurrency, fee, atMs) : [],
      providerReference: row.orderNo,
      method: 'rule',
      confidence: 0.8,
      incomplete: ['inputs'],
    },
  )
}

/** Binance does not document whether `amount` includes the fee. It is read as what the account got, or what left it. */
function toFiatOrderDraft(kind: 'deposit' | 'withdrawal', body: string): TransactionDraft {
  const row = rows.parseFiatOrder(body)
  const atMs = Number(row.createTime)
  const status = rows.fiatProgress(row)
  const amount = rows.toAmount('amount', row.amount)
  const fee = rows.toAmount('totalFee', row.totalFee)
  const isCounted = status !== 'failed'
  const legs = toLegs(row.fiatCurrency, kind === 'deposit' ? add(amount, fee) : amount, atMs)
  const type: TransactionType = kind === 'deposit' ? 'receive' : 'send'
  return toDraft(
    { naturalKey: `fiat_${kind}:${row.orderNo}`, occurredAtMs: atMs, type, category: kind },
    {
      status,
      ...(isCounted ? { [kind === 'deposit' ? 'inputs' : 'outputs']: legs } : {}),
      fees: isCounted && fee !== zero ? toFees(kind, row.fiatCurrency, fee, atMs) : [],
      providerReference: row.orderNo,
      description: rows.textOf(row.method),
    },
  )
}

// Asset dividends are everything that Binance gives out: airdrops, forks, Launchpool, staking, rebates. `enInfo` says
// which in free words, such as "BHFT distribution" or "Launchpool"; so the kind is a rule's guess.

/** A coin that was exchanged for its successor, such as "MATIC to POL swap". */
function isSwap(words: string): boolean {
  return /\b(?:swap|migration|redenomination|rebrand(?:ing)?)\b/i.test(words)
}

type Kind = Pick<TransactionDraft, 'type' | 'category' | 'method' | 'confidence' | 'incomplete'>

const rules: readonly (readonly [words: RegExp, category: TransactionDraft['category'], confidence: number])[] = [
  [/stak|launchpool|\bbeth\b|eth 2\.0/i, 'staking_reward', 0.9],
  [/interest|savings|flexible|locked|earn|vault/i, 'interest', 0.9],
  [/fork/i, 'fork', 0.8],
  [/mining pool|\bmining\b/i, 'mining', 0.8],
  [/airdrop|distribution|megadrop/i, 'airdrop', 0.9],
  [/rebate|referral|commission|cashback|voucher|bonus|reward|gift/i, 'gift', 0.6],
]

function toDividendKind(words: string, isTaken: boolean): Kind {
  const rule = rules.find(([pattern]) => pattern.test(words))
  if (rule === undefined || isTaken) {
    return { type: 'uncategorized', category: 'other', method: 'rule', confidence: 0, incomplete: ['type'] }
  }
  const [, category, confidence] = rule
  return { type: 'input_only', category, method: 'rule', confidence, incomplete: [] }
}
