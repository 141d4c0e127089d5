/**
 * A simulated Bybit unified account, on the wire: written from Bybit's public documents, never from our own connector.
 * Sources: https://bybit-exchange.github.io/docs/v5/intro; limits: …/docs/v5/rate-limit
 *
 * It has only the endpoints that read: nothing can trade or withdraw here, whatever a key's permissions say. It has
 * only spot pairs and no classic accounts.
 */
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import { speedOf } from '../core/clock.ts'
import type { CallContext } from '../core/serving/provider-server.ts'
import { createSpotExchange, type SpotAccount, type SpotExchange, type SpotOptions } from '../spot/exchange.ts'
import { uidOf } from '../spot/ids.ts'
import { lettersAndDigits } from '../spot/keys.ts'
import { createCallLimits, limitOf, type CallLimit, type Taken } from '../spot/limits.ts'
import { accountInfo, convertHistory, executions, queryApi, transactionLog, walletBalance } from './account.ts'
import { coinsBalance, depositRecords, fundingHistory, internalDepositRecords, withdrawRecords } from './asset.ts'
import { checkCall, headerOf, secretOf, type Right } from './authentication.ts'
import { coinInfo, instrumentsInfo, systemStatus, time } from './market.ts'
import { BybitRefusal, failure, success, type Answer } from './wire.ts'

type Open = (query: URLSearchParams, context: CallContext) => Answer
type Signed = (account: SpotAccount, query: URLSearchParams, context: CallContext, request: WireRequest) => Answer

const open: Readonly<Record<string, Open>> = {
  '/v5/market/time': time,
  '/v5/market/instruments-info': instrumentsInfo,
  '/v5/system/status': systemStatus,
}

interface Endpoint {
  limit: CallLimit
  /** Any key may call an endpoint without one. */
  right?: Right
  answer: Signed
}

const signed: Readonly<Record<string, Endpoint>> = {
  '/v5/user/query-api': {
    limit: perSecond(10),
    answer: (of, _, context, request) => queryApi(of, request, context),
  },
  '/v5/account/info': { limit: perSecond(50), answer: accountInfo },
  '/v5/account/wallet-balance': { limit: perSecond(50), answer: walletBalance },
  '/v5/account/transaction-log': { limit: perSecond(25), right: 'trading', answer: transactionLog },
  '/v5/execution/list': { limit: perSecond(50), right: 'trading', answer: executions },
  '/v5/asset/coin/query-info': { limit: perSecond(5), answer: (_, query) => coinInfo(query.get('coin')) },
  '/v5/asset/transfer/query-account-coins-balance': { limit: perSecond(5), right: 'wallet', answer: coinsBalance },
  '/v5/asset/fundinghistory': { limit: perSecond(30), right: 'wallet', answer: fundingHistory },
  '/v5/asset/deposit/query-record': { limit: perMinute(100), right: 'wallet', answer: depositRecords },
  '/v5/asset/deposit/query-internal-record': {
    limit: perSecond(300),
    right: 'wallet',
    answer: internalDepositRecords,
  },
  '/v5/asset/withdraw/query-record': { limit: perMinute(300), right: 'wallet', answer: withdrawRecords },
  '/v5/asset/exchange/query-convert-history': { limit: perSecond(50), right: 'exchange', answer: convertHistory },
}

function perSecond(max: number): CallLimit {
  return { max, windowMs: 1_000 }
}

function perMinute(max: number): CallLimit {
  return { max, windowMs: 60_000 }
}

/** All calls from one address: past it, the address is refused for ten minutes. */
const byAddress: CallLimit = { max: 600, windowMs: 5_000 }
const refusedMs = 600_000

export function createBybit(options: SpotOptions): SpotExchange {
  const limits = createCallLimits(options.pace)
  const refusedUntilMs = new Map<string, number>()
  return createSpotExchange(options, {
    id: 'bybit',
    bookkeeping: 'fees within',
    key: lettersAndDigits(13, 18),
    secretOf: (account) => ({ secret_key: secretOf(account) }),
    publicIdOf: ({ id }) => String(uidOf(id)),
    keyOf: (request) => headerOf(request, 'x-bapi-api-key'),
    answer,
    words: {
      rateLimited: () => failure(10006, Math.floor(options.nowMs())),
      revoked: () => failure(10003, Math.floor(options.nowMs())),
      serviceUnavailable: () => failure(10016, Math.floor(options.nowMs())),
    },
  })

  function answer(request: WireRequest, context: CallContext, caller: SpotAccount | undefined): WireAnswer {
    const nowMs = Math.floor(context.nowMs)
    if (caller?.scenario.limit !== 'none' && isTooFrequent(request.address)) {
      return { status: 403, body: 'access too frequent', headers: { 'content-type': 'text/plain' }, error: '403' }
    }
    let headers = {}
    try {
      const isOpen = Object.hasOwn(open, request.path) && request.method === 'GET'
      const asked = isOpen ? open[request.path] : undefined
      if (asked !== undefined) return success(asked(request.query, context), nowMs)
      const endpoint =
        Object.hasOwn(signed, request.path) && request.method === 'GET' ? signed[request.path] : undefined
      if (endpoint === undefined) throw new BybitRefusal(10017)
      // The gateway answers these before any endpoint sees them.
      if (headerOf(request, 'x-bapi-api-key') === '' || headerOf(request, 'x-bapi-sign') === '') {
        return { status: 401, body: '', error: '401' }
      }
      const clock = { nowMs: options.nowMs(), providerMs: context.nowMs }
      const of = checkCall(caller, request, endpoint.right, clock)
      const limit = limitOf(of.scenario, endpoint.limit)
      const taken = limit && limits.take(of.id, request.path, limit, clock.nowMs)
      headers = taken === undefined ? {} : headersOf(taken, nowMs)
      if (taken?.accepted === false) throw new BybitRefusal(10006)
      return success(endpoint.answer(of, request.query, context, request), nowMs, headers)
    } catch (error) {
      if (!(error instanceof BybitRefusal)) throw error
      return failure(error.code, nowMs, { message: error.message, headers })
    }
  }

  function isTooFrequent(address: string): boolean {
    const nowMs = options.nowMs()
    if (nowMs < (refusedUntilMs.get(address) ?? 0)) return true
    if (limits.take(address, 'every', byAddress, nowMs).accepted) return false
    refusedUntilMs.set(address, nowMs + refusedMs / speedOf(options.pace))
    return true
  }
}

/** The last one is the current time while calls are left, and the end of the window when none is. */
function headersOf({ accepted, max, left, untilMs }: Taken, nowMs: number): Record<string, string> {
  return {
    'x-bapi-limit': String(max),
    'x-bapi-limit-status': String(left),
    'x-bapi-limit-reset-timestamp': String(accepted ? nowMs : untilMs),
  }
}
