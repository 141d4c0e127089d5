/**
 * The funding account: balances, its history, deposits and withdrawals.
 * Sources: https://bybit-exchange.github.io/docs/v5/asset/balance/all-balance, …/asset/fund-history,
 * …/asset/deposit/deposit-record, …/asset/deposit/internal-deposit-record, …/asset/withdraw/withdraw-record
 *
 * Not documented, and assumed until a recorded answer shows otherwise: a start without an end means "until now", which
 * is refused when it is more than thirty days (https://github.com/ccxt/ccxt/pull/16735); the funding history shows a
 * withdrawal and its fee in one row.
 */
import { dayMs } from '@assay/core'
import type { CallContext } from '../core/serving/provider-server.ts'
import { toUnits } from '../core/units.ts'
import { assets, decimals } from '../spot/assets.ts'
import { listOf, toText, type Entry, type RowOf } from '../spot/books.ts'
import type { SpotAccount } from '../spot/exchange.ts'
import { addressOf, hashOf, idBaseOf, uidOf, uuidOf } from '../spot/ids.ts'
import { pageAfter, within } from '../spot/pages.ts'
import { chains } from './market.ts'
import { BybitRefusal, findNumber, sizeOf, type Answer } from './wire.ts'

const longestMs = 30 * dayMs
const fundingLongestS = 7 * 86_400

/** Bybit shows every coin here, including those without a balance. */
export function coinsBalance(of: SpotAccount, query: URLSearchParams): Answer {
  const accountType = query.get('accountType')
  const asked = query.get('coin')?.split(',')
  if (accountType !== 'FUND' && accountType !== 'UNIFIED') {
    throw new BybitRefusal(10001, 'params error: accountType invalid')
  }
  if (accountType === 'UNIFIED' && (asked === undefined || asked.length > 10)) {
    throw new BybitRefusal(10001, 'params error: coin is required, up to 10 coins')
  }
  const { balances, story } = of.world()
  const held = accountType === 'FUND' ? balances.funding : balances.trading
  const reserved = accountType === 'FUND' ? undefined : story.inOrders
  const shown = asked ?? [...new Set([...assets.map(({ code }) => code), ...held.keys()])]
  const balance = shown.map((coin) => {
    const units = held.get(coin) ?? 0n
    const free = units - (reserved?.get(coin) ?? 0n)
    return { coin, transferBalance: toText(free), walletBalance: toText(units), bonus: '' }
  })
  return { retMsg: 'success', result: { memberId: String(uidOf(of.id)), accountType, balance } }
}

/** In whole seconds, both bounds or none. Rows have no id. */
export function fundingHistory(of: SpotAccount, query: URLSearchParams, context: CallContext): Answer {
  const [from, to] = [findNumber(query, 'createTimeFrom'), findNumber(query, 'createTimeTo')]
  if ((from === undefined) !== (to === undefined)) {
    throw new BybitRefusal(10001, 'params error: createTimeFrom and createTimeTo must be used together')
  }
  const toS = to ?? Math.floor(context.nowMs / 1000)
  const fromS = from ?? toS - fundingLongestS
  if (toS < fromS || toS - fromS > fundingLongestS) {
    throw new BybitRefusal(10001, 'params error: the interval cannot exceed 7 days')
  }
  const wanted = within(of.world().entries.funding, fromS * 1000, toS * 1000 + 999)
  const base = idBaseOf(of.id, 'funding')
  const page = pageAfter(wanted, afterCursor(query, /^(\d{1,12})$/, base), sizeOf(query, 10, 100), context)
  const last = page.at(-1)
  const nextPageCursor = last === undefined ? '' : toBase64(String(base + last.number))
  return { retMsg: 'OK', result: { nextPageCursor, list: page.map((entry) => describeFunding(of.id, entry)) } }
}

interface FundingWords {
  type: string
  typeEn: string
  text: string
  textEn: string
}

function wordsOf({ row, change }: Entry): FundingWords {
  const spoken = (word: string, text: string, textEn: string): FundingWords => ({
    type: `fundingAccountRecord${word}`,
    typeEn: word,
    text: `fundingAccountRecord${text}`,
    textEn,
  })
  switch (row.event.kind) {
    case 'deposit':
      return spoken('Deposit', 'Deposit', 'Deposit')
    case 'withdrawal':
      return spoken('Withdraw', 'Withdraw', 'Withdraw')
    case 'reward':
      return row.event.source === 'airdrop'
        ? spoken('Airdrop', 'Airdrop', 'Airdrop')
        : spoken('Earn', 'FlexSavingInterestDistribution', 'Easy Earn | Flexible Interest Distribution')
    default:
      return change < 0n
        ? spoken('Transfer', 'TransferToUnifiedTrading', 'Transfer to Unified Trading Account')
        : spoken('Transfer', 'TransferFromUnifiedTrading', 'Transfer from Unified Trading Account')
  }
}

export function describeFunding(accountId: string, entry: Entry): object {
  const { change, asset, after, atMs } = entry
  const words = wordsOf(entry)
  return {
    memberId: String(uidOf(accountId)),
    currency: asset,
    ioDirection: change < 0n ? 'O' : 'I',
    txnAmt: toText(change < 0n ? -change : change),
    afterAmt: toText(after),
    createTime: String(Math.floor(atMs / 1000)),
    showBusiType: words.type,
    showBusiTypeEn: words.typeEn,
    description: words.text,
    descriptionEn: words.textEn,
  }
}

/** At most thirty days; the last thirty by default. */
function spanOf(query: URLSearchParams, nowMs: number): [fromMs: number, toMs: number] {
  const toMs = findNumber(query, 'endTime') ?? nowMs
  const fromMs = findNumber(query, 'startTime') ?? toMs - longestMs
  if (toMs < fromMs || toMs - fromMs > longestMs) throw new BybitRefusal(131002)
  return [fromMs, toMs]
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** The number of the last row of the page before. */
function afterCursor(query: URLSearchParams, shape: RegExp, base: number): number | undefined {
  const cursor = query.get('cursor') ?? ''
  if (cursor === '') return undefined
  // Clients that do not encode the cursor send a plus or a space for what base64 wrote.
  const match = shape.exec(Buffer.from(cursor.replaceAll(' ', '+'), 'base64').toString())
  if (match === null) throw new BybitRefusal(10001, 'params error: cursor invalid')
  return Number(match[1]) - base
}

const minId = /^\{"minID":(\d{1,12}),"maxID":\d{1,12}\}$/

type Movement = RowOf<'deposit'> | RowOf<'withdrawal'>

/** Deposits and withdrawals have the same pages: fifty rows, and a cursor with the ids of the page. */
function movementsPage<R extends Movement>(
  of: SpotAccount,
  rows: readonly R[],
  query: URLSearchParams,
  context: CallContext,
): { page: R[]; nextPageCursor: string } {
  const [fromMs, toMs] = spanOf(query, context.nowMs)
  const coin = query.get('coin') || undefined
  // The document says that ranges are precise to the second, and the times of these rows are whole seconds.
  const wanted = within(rows, Math.floor(fromMs / 1000) * 1000, toMs).filter(
    ({ event }) => coin === undefined || event.asset === coin,
  )
  const base = idBaseOf(of.id, rows[0]?.event.kind ?? '')
  const page = pageAfter(wanted, afterCursor(query, minId, base), sizeOf(query, 50, 50), context)
  const [first, last] = [page[0], page.at(-1)]
  if (first === undefined || last === undefined) return { page, nextPageCursor: '' }
  const told = { minID: base + last.number, maxID: base + first.number }
  return { page, nextPageCursor: toBase64(JSON.stringify(told)) }
}

export function depositRecords(of: SpotAccount, query: URLSearchParams, context: CallContext): Answer {
  const onChain = listOf(of.world(), 'deposit').filter(({ event }) => event.internal !== true)
  const [id, txId] = [query.get('id') || undefined, query.get('txID') || undefined]
  const named = onChain.filter(
    (row) =>
      (id === undefined || depositIdOf(of.id, row) === id) && (txId === undefined || txIdOf(of.id, row) === txId),
  )
  const { page, nextPageCursor } = movementsPage(of, named, query, context)
  return { retMsg: 'success', result: { rows: page.map((row) => describeDeposit(of.id, row)), nextPageCursor } }
}

const depositStatus = { done: 3, pending: 1, failed: 4 } as const

function depositIdOf(accountId: string, { number }: Movement): string {
  return String(idBaseOf(accountId, 'deposit') + number)
}

function txIdOf(accountId: string, { event, number }: Movement): string {
  return hashOf(accountId, event.network, number)
}

export function describeDeposit(accountId: string, row: RowOf<'deposit'>): object {
  const { event, number, atMs } = row
  return {
    coin: event.asset,
    chain: chains[event.network].chain,
    amount: event.amount,
    txID: txIdOf(accountId, row),
    status: depositStatus[event.status],
    toAddress: addressOf(accountId, event.network, 0),
    tag: '',
    depositFee: '',
    successAt: String(atMs),
    confirmations: event.status === 'done' ? '50' : '1',
    txIndex: '0',
    blockHash: hashOf(`${accountId}/block`, 'bitcoin', number),
    batchReleaseLimit: '-1',
    depositType: '0',
    fromAddress: addressOf(accountId, event.network, 9),
    taxDepositRecordsId: '0',
    taxStatus: 0,
    id: depositIdOf(accountId, row),
  }
}

/** Deposits from other Bybit accounts. They are not on a chain, and the endpoint above does not list them. */
export function internalDepositRecords(of: SpotAccount, query: URLSearchParams, context: CallContext): Answer {
  const inside = listOf(of.world(), 'deposit').filter(({ event }) => event.internal === true)
  const { page, nextPageCursor } = movementsPage(of, inside, query, context)
  return { retMsg: 'success', result: { rows: page.map((row) => describeInternal(of.id, row)), nextPageCursor } }
}

const internalStatus = { done: 2, pending: 1, failed: 3 } as const

export function describeInternal(accountId: string, row: RowOf<'deposit'>): object {
  const { event, number, atMs } = row
  return {
    id: depositIdOf(accountId, row),
    amount: event.amount,
    type: 1,
    coin: event.asset,
    address: 'frie***@example.com',
    status: internalStatus[event.status],
    // The one time of these endpoints that is in seconds.
    createdTime: String(Math.floor(atMs / 1000)),
    fromMemberId: String(uidOf(`${accountId}/friend`)),
    txID: uuidOf(accountId, 'internal', number),
    complianceStatus: 0,
    taxDepositRecordsId: '0',
    taxStatus: 0,
  }
}

/** Only on-chain withdrawals by default; `withdrawType` changes that. */
export function withdrawRecords(of: SpotAccount, query: URLSearchParams, context: CallContext): Answer {
  const type = findNumber(query, 'withdrawType') ?? 0
  const [id, txId] = [query.get('withdrawID') || undefined, query.get('txID') || undefined]
  const named = listOf(of.world(), 'withdrawal').filter(
    (row) =>
      (type === 2 || (row.event.internal === true ? 1 : 0) === type) &&
      (id === undefined || withdrawIdOf(of.id, row) === id) &&
      (txId === undefined || txIdOf(of.id, row) === txId),
  )
  const { page, nextPageCursor } = movementsPage(of, named, query, context)
  return { retMsg: 'success', result: { rows: page.map((row) => describeWithdrawal(of.id, row)), nextPageCursor } }
}

const withdrawStatus = { done: 'success', pending: 'Pending', cancelled: 'CancelByUser', failed: 'Fail' } as const

function withdrawIdOf(accountId: string, { number }: Movement): string {
  return String(idBaseOf(accountId, 'withdrawal') + number)
}

export function describeWithdrawal(accountId: string, row: RowOf<'withdrawal'>): object {
  const { event, number, atMs } = row
  const internal = event.internal === true
  return {
    coin: event.asset,
    chain: internal ? '' : chains[event.network].chain,
    amount: event.amount,
    txID: event.status !== 'done' ? '' : internal ? uuidOf(accountId, 'internal', number) : txIdOf(accountId, row),
    status: withdrawStatus[event.status],
    toAddress: internal ? String(uidOf(`${accountId}/friend`)) : addressOf(accountId, event.network, 1 + (number % 3)),
    tag: '',
    withdrawFee: toText(toUnits(event.fee, decimals)),
    createTime: String(atMs),
    updateTime: String(atMs + (event.status === 'pending' ? 0 : 95_000)),
    withdrawId: withdrawIdOf(accountId, row),
    withdrawType: internal ? 1 : 0,
    fee: '',
    tax: '',
    taxRate: '',
    taxType: '',
  }
}
