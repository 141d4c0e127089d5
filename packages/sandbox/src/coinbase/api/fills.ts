/**
 * GET /api/v3/brokerage/orders/historical/fills: each fill once, where v2 shows a row in both wallets.
 * Source: https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/orders/list-fills; field names as in
 * github.com/coinbase/coinbase-advanced-py, `coinbase/rest/types/orders_types.py`.
 */
import { decodeNumber, encodeNumber, hexOf } from '../../core/ids.ts'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { createTimeline, type Timeline } from '../../core/timeline.ts'
import type { CoinbaseAccount } from '../authentication.ts'
import { toIso, toTicks, type TransactionRow, type World } from '../history.ts'
import { encodeUuid } from '../ids.ts'
import { CoinbaseRefusal } from '../wire.ts'
import { orderIdOf } from './transactions.ts'
import { userIdOf } from './user.ts'
import { portfolioIdOf } from './wallets.ts'

const limitDefault = 100
const limitMax = 1_000

// The fills of all wallets of a world are collected once, because a world never changes.
const collected = new WeakMap<World, Timeline<TransactionRow>>()

export function listFills(account: CoinbaseAccount, query: URLSearchParams, context: CallContext): object {
  const text = query.get('limit') ?? String(limitDefault)
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > limitMax) throw new CoinbaseRefusal('INVALID_ARGUMENT')
  const cursor = query.get('cursor') ?? ''
  const offset = cursor === '' ? 0 : decodeNumber(account.id, 'fills cursor', cursor)
  if (offset === undefined) throw new CoinbaseRefusal('INVALID_ARGUMENT')
  const view = fillsOf(account.world()).view(rangeOf(query), filterOf(account, query))
  const rows = context.cutPage(view, offset, limit)
  const hasMore = offset + limit < view.count
  return {
    fills: rows.map((row) => describeFill(account, row)),
    cursor: hasMore ? encodeNumber(account.id, 'fills cursor', offset + limit) : '',
  }
}

function fillsOf(world: World): Timeline<TransactionRow> {
  const known = collected.get(world)
  if (known !== undefined) return known
  const rows = world.wallets
    .flatMap((wallet) => wallet.rows.rows.filter(({ detail }) => detail?.kind === 'fill' && detail.tells.pays))
    .filter(({ isWithdrawn }) => !isWithdrawn)
    .sort((a, b) => a.atTicks - b.atTicks || a.number - b.number)
  const fills = createTimeline(rows)
  collected.set(world, fills)
  return fills
}

function describeFill(account: CoinbaseAccount, row: TransactionRow): object {
  if (row.detail?.kind !== 'fill') throw new Error('this row is not a fill')
  const { price, size, commission, product, side, tells } = row.detail
  const time = toIso(row.atTicks).replace('Z', '.000000Z')
  return {
    entry_id: hexOf(account.id, 'fill entry', row.number, 64),
    trade_id: encodeUuid(account.id, 'fill', row.number),
    order_id: orderIdOf(account, row),
    trade_time: time,
    trade_type: 'FILL',
    price,
    size,
    commission,
    product_id: product,
    sequence_timestamp: time,
    liquidity_indicator: tells.isMaker ? 'MAKER' : 'TAKER',
    size_in_quote: false,
    user_id: userIdOf(account),
    side: side.toUpperCase(),
    retail_portfolio_id: portfolioIdOf(account),
  }
}

function rangeOf(query: URLSearchParams): { afterTicks?: number; untilTicks?: number } {
  const [start, end] = [query.get('start_sequence_timestamp'), query.get('end_sequence_timestamp')]
  for (const text of [start, end]) {
    if (text !== null && Number.isNaN(Date.parse(text))) throw new CoinbaseRefusal('INVALID_ARGUMENT')
  }
  return {
    ...(start !== null && { afterTicks: toTicks(start) - 1 }),
    ...(end !== null && { untilTicks: toTicks(end) }),
  }
}

function filterOf(
  account: CoinbaseAccount,
  query: URLSearchParams,
): { name: string; keep: (row: TransactionRow) => boolean } | undefined {
  const products = [...query.getAll('product_id'), ...query.getAll('product_ids')]
  const orders = [...query.getAll('order_id'), ...query.getAll('order_ids')]
  if (products.length === 0 && orders.length === 0) return undefined
  return {
    name: `${account.id} ${products.join()} ${orders.join()}`,
    keep: (row) =>
      (products.length === 0 || (row.detail?.kind === 'fill' && products.includes(row.detail.product))) &&
      (orders.length === 0 || orders.includes(orderIdOf(account, row))),
  }
}
