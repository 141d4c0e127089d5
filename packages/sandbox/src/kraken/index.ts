/**
 * A simulated Kraken spot exchange, on the wire: written from Kraken's public documents, never from our own connector.
 * Sources: https://docs.kraken.com/exchange/guides/rest/introduction (paths, envelope), …/rest/ratelimits (counter,
 * costs).
 *
 * It has only the endpoints that read: nothing can trade or withdraw here, whatever a key's permissions say.
 */
import { createAccounts, type Accounts } from '../core/accounts.ts'
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import type { Pace } from '../core/clock.ts'
import type { CallContext, Provider } from '../core/serving/provider-server.ts'
import type { Scenario } from '../core/scenario.ts'
import { ticksPerSecond } from '../core/timeline.ts'
import { apiKeyInfo, balance, earnAllocations, extendedBalance } from './api/account-data.ts'
import { authenticate, meterCall, requirePermission, type KrakenAccount } from './authentication.ts'
import { depositStatus, withdrawStatus } from './api/funding.ts'
import { buildWorld, withEntries, type World } from './history.ts'
import { ledgers, queryLedgers, tradesHistory } from './api/ledgers.ts'
import { publicMethods } from './api/market-data.ts'
import { withHoldsEnded } from './revisions.ts'
import type { Story } from './story.ts'
import { failure, KrakenRefusal, success } from './wire.ts'

/** Intermediate tier: 20, falling by one every two seconds. */
const documentedLimit = { max: 20, decayPerSecond: 0.5 }

interface PrivateMethod {
  /** One of these is needed. */
  permissions: readonly string[]
  cost: 1 | 2
  answer: (account: KrakenAccount, parameters: URLSearchParams, context: CallContext) => object
}

const privateMethods: Readonly<Record<string, PrivateMethod>> = {
  GetApiKeyInfo: { permissions: [], cost: 1, answer: (account, _, { nowMs }) => apiKeyInfo(account, nowMs) },
  Balance: { permissions: ['query-funds'], cost: 1, answer: (account) => balance(account.world()) },
  BalanceEx: { permissions: ['query-funds'], cost: 1, answer: (account) => extendedBalance(account.world()) },
  Ledgers: { permissions: ['query-ledger'], cost: 2, answer: ledgers },
  QueryLedgers: { permissions: ['query-ledger'], cost: 2, answer: queryLedgers },
  TradesHistory: { permissions: ['query-closed-trades'], cost: 2, answer: tradesHistory },
  DepositStatus: { permissions: ['query-funds'], cost: 1, answer: depositStatus },
  WithdrawStatus: { permissions: ['withdraw-funds', 'query-ledger'], cost: 1, answer: withdrawStatus },
  'Earn/Allocations': {
    permissions: ['query-funds'],
    cost: 1,
    answer: (account, parameters, { nowMs }) => earnAllocations(account.world(), parameters, nowMs),
  },
}

export interface Kraken {
  accounts: Accounts<Story, World>
  provider: Provider
}

export function createKraken(options: {
  seed: string
  pace: Pace
  scenarios: readonly Scenario<Story>[]
  nowMs: () => number
}): Kraken {
  const accounts = createAccounts<Story, World>({ ...options, provider: 'kraken', documentedLimit, build: buildWorld })

  const provider: Provider = {
    id: 'kraken',
    recognise(request) {
      const key = request.headers['api-key']
      const account = typeof key === 'string' ? accounts.findByKey(key) : undefined
      if (account === undefined) return undefined
      account.calls += 1
      return { accountId: account.id, weather: account.scenario.weather, call: account.calls - 1 }
    },
    answer(request, context) {
      try {
        return answer(request, context)
      } catch (error) {
        if (error instanceof KrakenRefusal) return failure(error.word)
        throw error
      }
    },
    words: {
      rateLimited: () => failure('EAPI:Rate limit exceeded'),
      revoked: () => failure('EAPI:Invalid key'),
      serviceUnavailable: () => failure('EService:Unavailable'),
    },
    insertRow(accountId, lateMs) {
      const account = accounts.findById(accountId)
      const atTicks = Math.floor(((options.nowMs() - lateMs) / 1000) * ticksPerSecond)
      account?.setWorld(
        withEntries(account.world(), { type: 'deposit', legs: [{ code: 'ZUSD', amount: '1' }] }, atTicks),
      )
    },
  }
  return { accounts, provider }

  function answer(request: WireRequest, context: CallContext): WireAnswer {
    const [, version, access, ...rest] = request.path.split('/')
    const name = rest.join('/')
    const publicMethod = access === 'public' ? findOwn(publicMethods, name) : undefined
    if (version === '0' && publicMethod !== undefined) return success(publicMethod(request.query, context.nowMs))
    const method = access === 'private' ? findOwn(privateMethods, name) : undefined
    if (version !== '0' || method === undefined || request.method !== 'POST') {
      throw new KrakenRefusal('EGeneral:Unknown method')
    }
    const { account, parameters } = authenticate(accounts, request, options.nowMs())
    meterCall(account, method.cost, options.nowMs())
    requirePermission(account, method.permissions)
    account.setWorld(withHoldsEnded(account.world(), options.nowMs()))
    return success(method.answer(account, parameters, context))
  }
}

/** Callers choose the path: "constructor" must not find anything. */
function findOwn<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
