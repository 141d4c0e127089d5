/**
 * A simulated Binance spot exchange, on the wire: written from Binance's public documents, never from our own
 * connector. Sources: https://github.com/binance/binance-spot-api-docs (/api/v3), https://developers.binance.com/docs
 * (/sapi), and the weights in https://github.com/binance/binance-api-swagger/blob/master/spot_api.yaml
 *
 * It has only the endpoints that read: nothing can trade or withdraw here, whatever a key's permissions say. It does
 * not know the keys of Binance.US.
 */
import { createAccounts } from '../core/accounts.ts'
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import type { Pace } from '../core/clock.ts'
import type { CallContext, Provider } from '../core/serving/provider-server.ts'
import type { Scenario } from '../core/scenario.ts'
import { authenticate, findCaller, type BinanceAccount, type BinanceAccounts } from './authentication.ts'
import { flexiblePositions, lockedPositions, redemptions, rewards, subscriptions } from './api/earn.ts'
import { fiatOrders, fiatPayments, tradeFlow } from './api/exchanges.ts'
import { buildWorld, withEvent, type World } from './history.ts'
import { createLimits, type Counter, type Taken } from './limits.ts'
import { account, exchangeInfo, myTrades } from './api/spot.ts'
import type { Story } from './story.ts'
import { apiRestrictions, assetDividend, coins, depositHistory, dustLog, withdrawHistory } from './api/wallet.ts'
import { BinanceRefusal, failure, success } from './wire.ts'

type Open = (query: URLSearchParams, context: CallContext) => unknown
type Signed = (account: BinanceAccount, query: URLSearchParams, context: CallContext) => unknown

interface Endpoint {
  counter: Counter
  weight: number
  /** An open endpoint needs no key; a signed one answers the account whose key signed the call. */
  open?: Open
  signed?: Signed
}

const flexible = '/sapi/v1/simple-earn/flexible'
const locked = '/sapi/v1/simple-earn/locked'

const endpoints: Readonly<Record<string, Endpoint>> = {
  'GET /api/v3/ping': api(1, { open: () => ({}) }),
  'GET /api/v3/time': api(1, { open: (_, { nowMs }) => ({ serverTime: Math.floor(nowMs) }) }),
  'GET /api/v3/exchangeInfo': api(20, { open: exchangeInfo }),
  'GET /api/v3/account': api(20, { signed: account }),
  'GET /api/v3/myTrades': api(20, { signed: myTrades }),
  'GET /sapi/v1/system/status': byIp(1, { open: () => ({ status: 0, msg: 'normal' }) }),
  'GET /sapi/v1/account/status': byIp(1, { signed: () => ({ data: 'Normal' }) }),
  'GET /sapi/v1/account/info': byIp(1, {
    signed: () => ({ vipLevel: 0, isMarginEnabled: false, isFutureEnabled: false }),
  }),
  'GET /sapi/v1/account/apiRestrictions': byIp(1, { signed: apiRestrictions }),
  'GET /sapi/v1/capital/config/getall': byIp(10, { signed: coins }),
  'GET /sapi/v1/capital/deposit/hisrec': byIp(1, { signed: depositHistory }),
  'GET /sapi/v1/capital/withdraw/history': byUid(18_000, { signed: withdrawHistory }),
  'GET /sapi/v1/asset/assetDividend': byIp(10, { signed: assetDividend }),
  'GET /sapi/v1/asset/dribblet': byIp(1, { signed: dustLog }),
  'POST /sapi/v1/asset/get-funding-asset': byIp(1, { signed: () => [] }),
  'GET /sapi/v1/convert/tradeFlow': byUid(3_000, { signed: tradeFlow }),
  'GET /sapi/v1/fiat/orders': byUid(90_000, { signed: fiatOrders }),
  'GET /sapi/v1/fiat/payments': byIp(1, { signed: fiatPayments }),
  [`GET ${flexible}/position`]: byIp(150, { signed: flexiblePositions }),
  [`GET ${locked}/position`]: byIp(150, { signed: lockedPositions }),
  [`GET ${flexible}/history/rewardsRecord`]: byIp(150, { signed: (...call) => rewards(...call, 'flexible') }),
  [`GET ${locked}/history/rewardsRecord`]: byIp(150, { signed: (...call) => rewards(...call, 'locked') }),
  [`GET ${flexible}/history/subscriptionRecord`]: byIp(150, {
    signed: (...call) => subscriptions(...call, 'flexible'),
  }),
  [`GET ${locked}/history/subscriptionRecord`]: byIp(150, { signed: (...call) => subscriptions(...call, 'locked') }),
  [`GET ${flexible}/history/redemptionRecord`]: byIp(150, { signed: (...call) => redemptions(...call, 'flexible') }),
  [`GET ${locked}/history/redemptionRecord`]: byIp(150, { signed: (...call) => redemptions(...call, 'locked') }),
  // ccxt asks for margin pairs and futures before it reads anything; this exchange has neither.
  'GET /sapi/v1/margin/allPairs': byIp(1, { open: () => [] }),
  'GET /sapi/v1/margin/isolated/allPairs': byIp(10, { open: () => [] }),
  'GET /fapi/v1/exchangeInfo': api(1, { open: () => ({ symbols: [] }) }),
  'GET /dapi/v1/exchangeInfo': api(1, { open: () => ({ symbols: [] }) }),
}

function api(weight: number, how: Pick<Endpoint, 'open' | 'signed'>): Endpoint {
  return { counter: 'api', weight, ...how }
}

function byIp(weight: number, how: Pick<Endpoint, 'open' | 'signed'>): Endpoint {
  return { counter: 'sapi-ip', weight, ...how }
}

function byUid(weight: number, how: Pick<Endpoint, 'open' | 'signed'>): Endpoint {
  return { counter: 'sapi-uid', weight, ...how }
}

export interface Binance {
  accounts: BinanceAccounts
  provider: Provider
}

export function createBinance(options: {
  seed: string
  pace: Pace
  scenarios: readonly Scenario<Story>[]
  nowMs: () => number
}): Binance {
  const accounts = createAccounts<Story, World>({
    ...options,
    provider: 'binance',
    // Not used: Binance counts by address, which `limits.ts` does. Core's accounts require a limit for each key.
    documentedLimit: { max: 6_000, decayPerSecond: 100 },
    build: buildWorld,
  })
  const limits = createLimits(options.pace)

  const provider: Provider = {
    id: 'binance',
    recognise(request) {
      const caller = findCaller(accounts, request)
      if (caller === undefined) return undefined
      caller.calls += 1
      return { accountId: caller.id, weather: caller.scenario.weather, call: caller.calls - 1 }
    },
    answer,
    words: {
      rateLimited: () => failure(-1003, undefined, { headers: { 'retry-after': '1' } }),
      revoked: () => failure(-2015),
      serviceUnavailable: () => failure(-1008),
    },
    insertRow(accountId, lateMs) {
      const of = accounts.findById(accountId)
      const event = { kind: 'deposit', coin: 'USDT', amount: '1', network: 'TRX', status: 1 } as const
      of?.setWorld(withEvent(of.world(), event, Math.floor(options.nowMs() - lateMs)))
    },
  }
  return { accounts, provider }

  function answer(request: WireRequest, context: CallContext): WireAnswer {
    const key = `${request.method} ${request.path}`
    const endpoint = Object.hasOwn(endpoints, key) ? endpoints[key] : undefined
    if (endpoint === undefined) {
      return failure(-5000, `Path ${request.path}, Method ${request.method} is invalid`)
    }
    const caller = findCaller(accounts, request)
    const known = caller && { id: caller.id, limit: caller.scenario.limit }
    const taken = limits.take(
      { address: request.address, account: known },
      { path: request.path, counter: endpoint.counter, weight: endpoint.weight },
      options.nowMs(),
    )
    if (taken.refused !== undefined) return tooMany(taken.refused, taken.headers)
    try {
      return success(answerEndpoint(endpoint, request, context), taken.headers)
    } catch (error) {
      if (error instanceof BinanceRefusal) return failure(error.code, error.message, { headers: taken.headers })
      throw error
    }
  }

  function answerEndpoint(endpoint: Endpoint, request: WireRequest, context: CallContext): unknown {
    if (endpoint.open !== undefined) return endpoint.open(request.query, context)
    const clock = { nowMs: options.nowMs(), providerMs: context.nowMs }
    const { account: of, parameters } = authenticate(accounts, request, clock)
    return endpoint.signed?.(of, parameters, context)
  }
}

function tooMany(refused: NonNullable<Taken['refused']>, headers: Readonly<Record<string, string>>): WireAnswer {
  const { status, retryAfterS, untilMs, limit } = refused
  const msg =
    status === 418
      ? `Way too much request weight used; IP banned until ${untilMs}. Please use WebSocket Streams for live updates to avoid bans.`
      : `Too much request weight used; current limit is ${limit} request weight per 1 MINUTE. Please use WebSocket Streams for live updates to avoid polling the API.`
  return failure(-1003, msg, { status, headers: { ...headers, 'retry-after': String(retryAfterS) } })
}
