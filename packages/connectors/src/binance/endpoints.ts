/**
 * The calls that are used, and what each one weighs. Plain data, because the definition states the cost of a page.
 *
 * Two families count differently (developers.binance.com, "Limits"): everything under /api shares one weight per IP
 * address and minute. Under /sapi each endpoint has its own limit, 12,000 per IP address or 180,000 per account (UID)
 * and minute; WithdrawHistory alone is counted by the second. Light /sapi endpoints share one bucket here: together
 * they stay far below the limit of one.
 */
import type { Cost } from '../kit/connector.ts'

type BucketName = 'weight' | 'sapi' | 'earn_flexible' | 'earn_locked' | 'withdrawals' | 'convert' | 'fiat_orders'

export interface Endpoint {
  path: string
  bucket: BucketName
  weight: number
  isPublic?: true
}

export const endpoints = {
  time: { path: '/api/v3/time', bucket: 'weight', weight: 1, isPublic: true },
  exchangeInfo: { path: '/api/v3/exchangeInfo', bucket: 'weight', weight: 20, isPublic: true },
  account: { path: '/api/v3/account', bucket: 'weight', weight: 20 },
  myTrades: { path: '/api/v3/myTrades', bucket: 'weight', weight: 20 },
  apiRestrictions: { path: '/sapi/v1/account/apiRestrictions', bucket: 'sapi', weight: 1 },
  flexiblePositions: { path: '/sapi/v1/simple-earn/flexible/position', bucket: 'sapi', weight: 150 },
  lockedPositions: { path: '/sapi/v1/simple-earn/locked/position', bucket: 'sapi', weight: 150 },
  deposits: { path: '/sapi/v1/capital/deposit/hisrec', bucket: 'sapi', weight: 1 },
  withdrawals: { path: '/sapi/v1/capital/withdraw/history', bucket: 'withdrawals', weight: 18_000 },
  convert: { path: '/sapi/v1/convert/tradeFlow', bucket: 'convert', weight: 3_000 },
  fiatOrders: { path: '/sapi/v1/fiat/orders', bucket: 'fiat_orders', weight: 90_000 },
  fiatPayments: { path: '/sapi/v1/fiat/payments', bucket: 'sapi', weight: 1 },
  flexibleRewards: {
    path: '/sapi/v1/simple-earn/flexible/history/rewardsRecord',
    bucket: 'earn_flexible',
    weight: 150,
  },
  lockedRewards: { path: '/sapi/v1/simple-earn/locked/history/rewardsRecord', bucket: 'earn_locked', weight: 150 },
  dividends: { path: '/sapi/v1/asset/assetDividend', bucket: 'sapi', weight: 10 },
  dust: { path: '/sapi/v1/asset/dribblet', bucket: 'sapi', weight: 1 },
} as const satisfies Record<string, Endpoint>

export function costOf(...used: readonly Endpoint[]): Cost {
  const cost: Record<string, number> = {}
  for (const { bucket, weight } of used) cost[bucket] = (cost[bucket] ?? 0) + weight
  return cost
}
