/**
 * GET /v2/accounts/:account_id/transactions and one transaction of them. Source:
 * https://docs.cdp.coinbase.com/coinbase-app/track-apis/transactions; the objects inside, which the page does not list,
 * after recorded answers in the tests of github.com/rotki/rotki, github.com/ccxt/ccxt and
 * github.com/jbelanger/exitbook. `updated_at`, `details` and `instant_exchange` left the API in 2024 and are not here.
 */
import { hash } from 'node:crypto'
import { hexOf } from '../../core/ids.ts'
import type { CallContext } from '../../core/serving/provider-server.ts'
import type { View } from '../../core/timeline.ts'
import { toShortText } from '../../core/units.ts'
import { toAddress, toHash, unitDecimals } from '../assets.ts'
import type { CoinbaseAccount } from '../authentication.ts'
import { statusOf, toIso, toMs, type TransactionRow, type Wallet } from '../history.ts'
import { decodeUuid, encodeUuid } from '../ids.ts'
import type { Detail, Status } from '../story.ts'
import { CoinbaseRefusal, toMoney, toNativeMoney, type Money } from '../wire.ts'
import { parsePaging, spanOf, toPage, type Paging, type Span } from './paging.ts'
import { walletIdOf, walletPathOf } from './wallets.ts'

type Chain = Extract<Detail, { kind: 'chain' }>

/** Besides these, what belongs to its type. */
interface TransactionObject {
  id: string
  amount: Money
  native_amount: Money
  created_at: string
  resource: string
  resource_path: string
  status: Status
  type: string
}

const shown = { name: 'shown', keep: (row: TransactionRow): boolean => !row.isWithdrawn }

export function listTransactions(
  account: CoinbaseAccount,
  wallet: Wallet,
  query: URLSearchParams,
  context: CallContext,
): object {
  const paging = parsePaging(query)
  const view = viewOf(wallet, paging.order)
  const span = spanOf(paging, (id) => positionOf(account, wallet, paging, id))
  const size = shorten(account, wallet, paging, span)
  const rows = context.cutPage(view, span.offset, size)
  const path = `${walletPathOf(account, wallet)}/transactions`
  const data = rows.map((row) => describeTransaction(account, wallet, row, context.nowMs))
  return toPage(path, paging, data, { before: span.offset > 0, more: span.offset + size < view.count })
}

export function showTransaction(account: CoinbaseAccount, wallet: Wallet, id: string, nowMs: number): object {
  const row = wallet.rows.find(decodeUuid(account.id, 'transaction', id) ?? -1)
  if (row === undefined || row.isWithdrawn) throw new CoinbaseRefusal('not_found')
  return { data: describeTransaction(account, wallet, row, nowMs) }
}

export function transactionIdOf(account: CoinbaseAccount, row: TransactionRow): string {
  return encodeUuid(account.id, 'transaction', row.number)
}

export function orderIdOf(account: CoinbaseAccount, row: TransactionRow): string {
  return encodeUuid(account.id, 'order', row.reference)
}

export function describeTransaction(
  account: CoinbaseAccount,
  wallet: Wallet,
  row: TransactionRow,
  nowMs: number,
): TransactionObject {
  const { currency } = wallet
  const id = transactionIdOf(account, row)
  // A fill has as many digits as it needs, everything else at least those of its currency.
  const amount = toMoney(row.amount, row.detail?.kind === 'fill' ? { ...currency, exponent: 0 } : currency)
  return {
    ...describeDetail(account, wallet, row, nowMs),
    amount,
    created_at: toIso(row.atTicks),
    id,
    native_amount: toNativeMoney(row.amount, currency, account.world().nativeCurrency, toMs(row.atTicks)),
    resource: 'transaction',
    resource_path: `${walletPathOf(account, wallet)}/transactions/${id}`,
    status: statusOf(row, nowMs),
    type: row.type,
  }
}

/** Newest first by default. */
function viewOf(wallet: Wallet, order: Paging['order']): View<TransactionRow> {
  const newestFirst = wallet.rows.view({}, shown)
  if (order === 'desc') return newestFirst
  const { count } = newestFirst
  return {
    count,
    cut(offset, size) {
      const end = Math.max(0, count - offset)
      const from = Math.max(0, end - size)
      return newestFirst.cut(from, end - from).reverse()
    },
  }
}

function positionOf(
  account: CoinbaseAccount,
  wallet: Wallet,
  { order }: Paging,
  id: string,
): { index: number; isThere: boolean } | undefined {
  const number = decodeUuid(account.id, 'transaction', id)
  const row = number === undefined ? undefined : wallet.rows.find(number)
  if (number === undefined || row === undefined) return undefined
  const through = wallet.rows.view({ untilNumber: number }, shown).count
  const isThere = !row.isWithdrawn
  const index = order === 'asc' ? through - (isThere ? 1 : 0) : wallet.rows.view({}, shown).count - through
  return { index, isThere }
}

/** Every fourth page or so is shorter than asked for, always the same ones. */
function shorten(account: CoinbaseAccount, wallet: Wallet, { limit }: Paging, { offset, size }: Span): number {
  if (size < 10) return size
  const [first = 0, second = 0] = Buffer.from(
    hash('sha256', `${account.id}\n${wallet.key}\n${offset}\n${limit}`, 'hex'),
    'hex',
  )
  return first % 4 === 0 ? size - 1 - (second % 5) : size
}

function describeDetail(account: CoinbaseAccount, wallet: Wallet, row: TransactionRow, nowMs: number): object {
  const { detail } = row
  const uuid = (kind: string): string => encodeUuid(account.id, kind, row.reference)
  switch (detail?.kind) {
    case undefined:
      return {}
    case 'chain':
      return describeChain(account, wallet, row, detail, statusOf(row, nowMs) === 'completed')
    case 'party':
      return describeParty(account, wallet, row, detail.party)
    case 'bank': {
      const [id, resource] = [uuid('bank'), row.type]
      const path = `${walletPathOf(account, wallet)}/${resource === 'fiat_deposit' ? 'deposits' : 'withdrawals'}/${id}`
      return { [resource]: { id, resource, resource_path: path } }
    }
    case 'buy':
    case 'sell': {
      const { fee, subtotal, total, method, kind } = detail
      return { [kind]: { fee, id: uuid(kind), payment_method_name: method, subtotal, total } }
    }
    case 'trade':
      return {
        trade: { ...(detail.fee && { fee: detail.fee }), id: uuid('trade'), payment_method_name: detail.method },
      }
    case 'fill': {
      const { commission, price, side, product, tells } = detail
      const more = tells.side ? { order_side: side } : {}
      const order = { order_id: orderIdOf(account, row), ...more, product_id: product }
      return { advanced_trade_fill: { commission, fill_price: price, ...order } }
    }
  }
}

/** Nothing is on the chain, and so has no hash, before a send is complete. */
function describeChain(
  account: CoinbaseAccount,
  { currency }: Wallet,
  row: TransactionRow,
  { network, hash: told, address, fee }: Chain,
  isDone: boolean,
): object {
  const onChain = isDone ? { hash: told ?? toHash(network, hexOf(account.id, 'hash', row.reference, 64)) } : {}
  const carried = {
    ...onChain,
    network_name: network,
    status: isDone ? 'confirmed' : 'pending',
    ...(fee !== undefined && { transaction_fee: { amount: fee, currency: currency.code } }),
  }
  if (row.amount >= 0n)
    return { network: carried, ...(address !== undefined && { from: { address, resource: 'address' } }) }
  // Three addresses for each network, used in turn.
  const to = address ?? toAddress(network, hexOf(account.id, `address/${network}`, row.reference % 3, 64))
  const idem = encodeUuid(account.id, 'idem', row.reference)
  return { idem, network: carried, to: { address: to, resource: 'address' } }
}

function describeParty(
  account: CoinbaseAccount,
  { currency }: Wallet,
  row: TransactionRow,
  party: 'user' | 'email' | 'account',
): object {
  const id = encodeUuid(account.id, party, row.reference % 7)
  const resourcePath = party === 'user' ? `/v2/users/${id}` : `/v2/accounts/${id}`
  const other =
    party === 'email'
      ? { email: `friend${row.reference % 7}@example.com`, resource: party }
      : { id, resource: party, resource_path: resourcePath }
  const direction = row.amount < 0n || row.type === 'request' ? 'to' : 'from'
  return { network: { network_name: currency.network, status: 'off_blockchain' }, [direction]: other }
}

/** Everything that the control API reports about a transaction: its form on the wire, and its place. */
export function describeForControl(
  account: CoinbaseAccount,
  wallet: Wallet,
  row: TransactionRow,
  nowMs: number,
): object {
  return {
    ...describeTransaction(account, wallet, row, nowMs),
    account_id: walletIdOf(account, wallet),
    charged: toShortText(row.charge, unitDecimals),
    echo: row.isEcho,
    withdrawn: row.isWithdrawn,
  }
}
