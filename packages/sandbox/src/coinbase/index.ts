/**
 * A simulated Coinbase, on the wire: written from Coinbase's public documents and from recorded answers in the tests of
 * public projects, never from our own connector. One listener stands in for api.coinbase.com and login.coinbase.com.
 * Source: https://docs.cdp.coinbase.com/coinbase-app/introduction/welcome; the pages for each part are named in its
 * file.
 *
 * These are not documented, so they are guesses until a recorded answer shows otherwise: a commission is charged on top
 * of a fill's amount; a pending send has left the balance; a wallet's name tells that it is staked; a dust sweep pays
 * out in the same second; the same JWT works again until it expires; codes live ten minutes; a spent refresh token gets
 * 401.
 *
 * It only answers requests that read. It cannot trade or send, whatever permissions a key or a sign-in has.
 */
import { createAccounts } from '../core/accounts.ts'
import { createFamilies } from '../core/families.ts'
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import type { Pace } from '../core/clock.ts'
import type { CallContext, Provider } from '../core/serving/provider-server.ts'
import type { Scenario } from '../core/scenario.ts'
import { createTokens } from '../core/tokens.ts'
import { listBankTransfers, type BankList } from './api/bank.ts'
import { listFills } from './api/fills.ts'
import { listProducts, publicEndpoints } from './api/market-data.ts'
import { parsePaging, toPage } from './api/paging.ts'
import { listTransactions, showTransaction } from './api/transactions.ts'
import { showAuthorization, showKeyPermissions, showUser } from './api/user.ts'
import {
  describeWallet,
  getWallet,
  listBrokerageAccounts,
  listWallets,
  portfolioIdOf,
  showBrokerageAccount,
} from './api/wallets.ts'
import {
  authenticate,
  meterCall,
  recogniseAccount,
  requireScope,
  type AccessState,
  type Caller,
  type CoinbaseAccount,
} from './authentication.ts'
import { buildWorld, withEvents, type World } from './history.ts'
import { createKeyring } from './keys.ts'
import { answerAuthorize } from './login/authorize.ts'
import { answerRevoke, answerToken, findAccountOf, refuseGrant } from './login/token.ts'
import { single, type Story } from './story.ts'
import { CoinbaseRefusal, failure, success } from './wire.ts'

/** 10,000 an hour for each key and each person who signed in. */
const documentedLimit = { max: 10_000, decayPerSecond: 10_000 / 3_600 }
const prefixes = { code: 'cbc_', access: 'cba_', refresh: 'cbr_' }

export interface Coinbase extends AccessState {
  provider: Provider
}

interface Call {
  caller: Caller
  account: CoinbaseAccount
  query: URLSearchParams
  context: CallContext
  /** The texts that matched each `*` of the path. */
  parts: readonly string[]
}

interface Endpoint {
  /** Null: every caller with a valid token may ask. */
  scope: string | null
  answer: (call: Call) => object
}

const [accountsRead, transactionsRead] = ['wallet:accounts:read', 'wallet:transactions:read']

const endpoints: Readonly<Record<string, Endpoint>> = {
  '/v2/user': { scope: null, answer: ({ caller }) => showUser(caller) },
  '/v2/user/auth': { scope: null, answer: ({ caller }) => showAuthorization(caller) },
  '/v2/accounts': {
    scope: accountsRead,
    answer: ({ account, query, context }) => listWallets(account, query, context),
  },
  '/v2/accounts/*': {
    scope: accountsRead,
    answer: ({ account, context, parts: [id = ''] }) => ({
      data: describeWallet(account, getWallet(account, id), context.nowMs),
    }),
  },
  '/v2/accounts/*/transactions': { scope: transactionsRead, answer: transactionsOf },
  '/v2/accounts/*/transactions/*': {
    scope: transactionsRead,
    answer: ({ account, context, parts: [id = '', transactionId = ''] }) => {
      const wallet = getWallet(account, id)
      if (!('key' in wallet)) throw new CoinbaseRefusal('not_found')
      return showTransaction(account, wallet, transactionId, context.nowMs)
    },
  },
  '/v2/accounts/*/deposits': { scope: 'wallet:deposits:read', answer: (call) => bankTransfersOf(call, 'deposits') },
  '/v2/accounts/*/withdrawals': {
    scope: 'wallet:withdrawals:read',
    answer: (call) => bankTransfersOf(call, 'withdrawals'),
  },
  '/api/v3/brokerage/accounts': {
    scope: accountsRead,
    answer: ({ account, query, context }) => listBrokerageAccounts(account, query, context.nowMs),
  },
  '/api/v3/brokerage/accounts/*': {
    scope: accountsRead,
    answer: ({ account, context, parts: [id = ''] }) => showBrokerageAccount(account, id, context.nowMs),
  },
  '/api/v3/brokerage/key_permissions': { scope: null, answer: ({ caller }) => showKeyPermissions(caller) },
  '/api/v3/brokerage/orders/historical/fills': {
    scope: transactionsRead,
    answer: ({ account, query, context }) => listFills(account, query, context),
  },
  '/api/v3/brokerage/products': {
    scope: accountsRead,
    answer: ({ query, context }) => listProducts(query, context.nowMs),
  },
  '/api/v3/brokerage/portfolios': {
    scope: accountsRead,
    answer: ({ account }) => ({
      portfolios: [{ name: 'Default', uuid: portfolioIdOf(account), type: 'DEFAULT', deleted: false }],
    }),
  },
  '/api/v3/brokerage/transaction_summary': { scope: accountsRead, answer: () => transactionSummary },
}

/** https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/fees/get-transaction-summary */
const transactionSummary = {
  ...{ total_volume: 0, total_fees: 0 },
  fee_tier: {
    ...{ pricing_tier: 'Advanced 2', usd_from: '1000', usd_to: '10000' },
    ...{ taker_fee_rate: '0.006', maker_fee_rate: '0.004', aop_from: '', aop_to: '' },
  },
  ...{ margin_rate: null, goods_and_services_tax: null, advanced_trade_only_volume: 0, advanced_trade_only_fees: 0 },
  ...{ coinbase_pro_volume: 0, coinbase_pro_fees: 0, total_balance: '', has_promo_fee: false },
}

export function createCoinbase(options: {
  seed: string
  pace: Pace
  scenarios: readonly Scenario<Story>[]
  nowMs: () => number
  /** Unique across processes. */
  newId: () => string
}): Coinbase {
  const { seed, nowMs, newId } = options
  const accounts = createAccounts<Story, World>({
    ...options,
    provider: 'coinbase',
    documentedLimit,
    build: buildWorld,
  })
  const state: AccessState = {
    accounts,
    keyring: createKeyring(seed),
    tokens: createTokens(seed, 'coinbase', prefixes),
    families: createFamilies(),
  }

  const provider: Provider = {
    id: 'coinbase',
    recognise(request) {
      if (request.path.startsWith('/oauth2/')) {
        const accountId = findAccountOf(request, state)
        // A sign-in works whatever faults the account has.
        return accountId === undefined ? undefined : { accountId, weather: 'calm', call: 0 }
      }
      const account = recogniseAccount(request, state)
      if (account === undefined) return undefined
      account.calls += 1
      return { accountId: account.id, weather: account.scenario.weather, call: account.calls - 1 }
    },
    answer(request, context) {
      try {
        return answer(request, context)
      } catch (error) {
        if (error instanceof CoinbaseRefusal) return failure(error.word, error.note)
        throw error
      }
    },
    words: {
      rateLimited: () => failure('rate_limit_exceeded'),
      revoked: (request) => (request.path === '/oauth2/token' ? refuseGrant() : failure('unauthorized')),
      serviceUnavailable: () => failure('internal_server_error'),
    },
    insertRow(accountId, lateMs) {
      const account = accounts.findById(accountId)
      if (account !== undefined) insertRows(account, nowMs() - lateMs)
    },
  }
  return { ...state, provider }

  function answer(request: WireRequest, context: CallContext): WireAnswer {
    const { method, path, query } = request
    if (path === '/oauth2/auth' && (method === 'GET' || method === 'POST')) {
      return answerAuthorize(request, state, { family: newId(), nowMs: context.nowMs })
    }
    if (path === '/oauth2/token' && method === 'POST') return answerToken(request, state, context.nowMs)
    if (path === '/oauth2/revoke' && method === 'POST') return answerRevoke(request, state)
    const open = method === 'GET' ? findRoute(publicEndpoints, path) : undefined
    if (open !== undefined) return success(open.route(query, context.nowMs, open.parts[0] ?? ''))
    const found = method === 'GET' ? findRoute(endpoints, path) : undefined
    if (found === undefined) throw new CoinbaseRefusal('not_found')
    const caller = authenticate(request, state, context.nowMs)
    meterCall(caller, nowMs())
    const { scope, answer: give } = found.route
    const account = seenBy(caller, scope === null ? caller.account : requireScope(caller, scope, path))
    return success(give({ caller, account, query, context, parts: found.parts }))
  }
}

function transactionsOf({ account, query, context, parts: [id = ''] }: Call): object {
  const wallet = getWallet(account, id)
  if ('key' in wallet) return listTransactions(account, wallet, query, context)
  return toPage(`/v2/accounts/${id}/transactions`, parsePaging(query), [], { before: false, more: false })
}

function bankTransfersOf({ account, query, context, parts: [id = ''] }: Call, list: BankList): object {
  const wallet = getWallet(account, id)
  if ('key' in wallet) return listBankTransfers(account, wallet, list, { query, context })
  return toPage(`/v2/accounts/${id}/${list}`, parsePaging(query), [], { before: false, more: false })
}

/** A key belongs to one portfolio, so a valid key may see nothing of what the person has. */
function seenBy({ via }: Caller, account: CoinbaseAccount): CoinbaseAccount {
  if (via === 'oauth' || !account.key.permissions.includes('other-portfolio')) return account
  return { ...account, world: () => ({ ...account.world(), wallets: [], unused: [] }) }
}

/** Books one row in each wallet: the fault does not say which wallet is being read. */
function insertRows(account: CoinbaseAccount, atMs: number): void {
  const at = new Date(atMs).toISOString()
  const world = account.world()
  const events = world.wallets.map(({ key }) => single(at, 'incentives_rewards_payout', `0.01 ${key}`))
  account.setWorld(withEvents(world, events))
}

/** Compares segment by segment. Callers choose the path: "constructor" must not find anything. */
function findRoute<R>(
  table: Readonly<Record<string, R>>,
  path: string,
): { route: R; parts: readonly string[] } | undefined {
  const given = path.split('/')
  for (const [pattern, route] of Object.entries(table)) {
    const wanted = pattern.split('/')
    const fits = wanted.length === given.length && wanted.every((part, at) => part === '*' || part === given[at])
    if (fits) return { route, parts: given.filter((_, at) => wanted[at] === '*').map(decodeURIComponent) }
  }
  return undefined
}
