/**
 * A simulated OKX account, on the wire: written from OKX's public documents, never from our own connector.
 * Source: https://www.okx.com/docs-v5/en/; each endpoint's section names its limit.
 *
 * It has only the endpoints that read: nothing can trade or withdraw here, whatever a key's permissions say. It has
 * spot pairs alone, no sub-accounts, and no quarterly files of old bills (bills-history-archive).
 */
import { dayMs } from '@assay/core'
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import type { CallContext } from '../core/serving/provider-server.ts'
import { createSpotExchange, type SpotAccount, type SpotExchange, type SpotOptions } from '../spot/exchange.ts'
import { createCallLimits, limitOf, type CallLimit } from '../spot/limits.ts'
import { accountBalance, accountConfig, bills, fillsHistory, publicIdOf } from './account.ts'
import { assetBalances, assetBills, convertHistory, depositHistory, withdrawalHistory } from './asset.ts'
import { checkCall, headerOf, keyShape, secretsOf } from './authentication.ts'
import { currencies, instruments, time } from './market.ts'
import { failure, OkxRefusal, success } from './wire.ts'

interface Endpoint {
  limit: CallLimit
  /** An open endpoint needs no key; a signed one answers the account whose key signed the call. */
  open?: (query: URLSearchParams, context: CallContext) => object[]
  signed?: (account: SpotAccount, query: URLSearchParams, context: CallContext) => object[]
}

const endpoints: Readonly<Record<string, Endpoint>> = {
  '/api/v5/public/time': { limit: within(10, 2), open: time },
  '/api/v5/public/instruments': { limit: within(20, 2), open: instruments },
  '/api/v5/system/status': { limit: within(1, 5), open: () => [] },
  '/api/v5/account/config': { limit: within(5, 2), signed: accountConfig },
  '/api/v5/account/balance': { limit: within(10, 2), signed: accountBalance },
  '/api/v5/account/bills': { limit: within(5, 1), signed: (...call) => bills(...call, 7 * dayMs) },
  '/api/v5/account/bills-archive': { limit: within(5, 2), signed: (...call) => bills(...call, 90 * dayMs) },
  '/api/v5/trade/fills-history': { limit: within(10, 2), signed: fillsHistory },
  '/api/v5/asset/currencies': { limit: within(6, 1), signed: (_, query) => currencies(query) },
  '/api/v5/asset/balances': { limit: within(6, 1), signed: assetBalances },
  '/api/v5/asset/bills': { limit: within(6, 1), signed: (...call) => assetBills(...call, 30 * dayMs) },
  '/api/v5/asset/bills-history': { limit: within(1, 1), signed: (...call) => assetBills(...call) },
  '/api/v5/asset/deposit-history': { limit: within(6, 1), signed: depositHistory },
  '/api/v5/asset/withdrawal-history': { limit: within(6, 1), signed: withdrawalHistory },
  '/api/v5/asset/convert/history': { limit: within(6, 1), signed: convertHistory },
}

function within(max: number, seconds: number): CallLimit {
  return { max, windowMs: seconds * 1_000 }
}

export function createOkx(options: SpotOptions): SpotExchange {
  const limits = createCallLimits(options.pace)
  return createSpotExchange(options, {
    id: 'okx',
    bookkeeping: 'fees within',
    key: keyShape,
    secretOf(account) {
      const { secret, passphrase } = secretsOf(account)
      return { secret_key: secret, passphrase }
    },
    publicIdOf,
    keyOf: (request) => headerOf(request, 'key'),
    answer(request, context, caller) {
      try {
        return success(answerEndpoint(request, context, caller))
      } catch (error) {
        if (!(error instanceof OkxRefusal)) throw error
        return failure(error.code, error.message)
      }
    },
    words: {
      rateLimited: (): WireAnswer => failure(50011),
      revoked: (): WireAnswer => failure(50119),
      serviceUnavailable: (): WireAnswer => failure(50026),
    },
  })

  function answerEndpoint(request: WireRequest, context: CallContext, caller: SpotAccount | undefined): object[] {
    const endpoint = Object.hasOwn(endpoints, request.path) ? endpoints[request.path] : undefined
    if (endpoint === undefined) throw new OkxRefusal(404)
    if (request.method !== 'GET') throw new OkxRefusal(50115)
    const { path, query, address } = request
    if (endpoint.open !== undefined) {
      // By address, and instruments also by their type.
      count(address, `${path} ${query.get('instType') ?? ''}`, endpoint.limit)
      return endpoint.open(query, context)
    }
    const of = checkCall(caller, request, { nowMs: options.nowMs(), providerMs: context.nowMs })
    count(of.id, path, limitOf(of.scenario, endpoint.limit))
    return endpoint.signed?.(of, query, context) ?? []
  }

  function count(subject: string, endpoint: string, limit: CallLimit | undefined): void {
    if (limit !== undefined && !limits.take(subject, endpoint, limit, options.nowMs()).accepted) {
      throw new OkxRefusal(50011)
    }
  }
}
